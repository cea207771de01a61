"""Hive imports what acidsql exports. Exports of Hive lie in tests/data/exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acidsql
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"


def test_hive_imports_what_acidsql_exports(
    hive: Hive, database: str, spark: Any, tmp_path: Path
) -> None:
    with acidsql.connect(tmp_path / "w", spark=spark) as session:
        for sql in (
            "CREATE TABLE t (id int COMMENT 'the key', s string, n decimal(10,2), c char(3))",
            "INSERT INTO t VALUES (1, 'gone', 1, 'x'), (2, 'ü', 1.25, 'ab'), (3, NULL, NULL, NULL)",
            "DELETE FROM t WHERE id = 1",
            "CREATE TABLE p (a int, v string) PARTITIONED BY (d string, n int)"
            " CLUSTERED BY (a) INTO 2 BUCKETS",
            "INSERT INTO p VALUES (1, 'x', 'a b', 1), (2, 'y', 'a b', 1), (3, 'z', 'c/d', 2)",
            f"CREATE TABLE m (a int, v string) STORED AS PARQUET {INSERT_ONLY}",
            "INSERT INTO m VALUES (1, 'x'), (2, 'y')",
            "CREATE EXTERNAL TABLE e (a int, v string)"
            " ROW FORMAT DELIMITED FIELDS TERMINATED BY ','",
            "INSERT INTO e VALUES (1, 'x')",
        ):
            session.execute(sql)
        for name in ("t", "p", "m", "e"):
            session.execute(f"EXPORT TABLE {name} TO '{tmp_path / name}'")
    hive.run(f"CREATE DATABASE {database}")
    hive.run(f"USE {database}")
    for name in ("t", "p", "m", "e"):
        hive.run(f"IMPORT TABLE {name} FROM '{tmp_path / name}'")
    assert hive.run("SELECT * FROM t ORDER BY id") == [
        {"id": 2, "s": "ü", "n": "1.25", "c": "ab "},
        {"id": 3, "s": None, "n": None, "c": None},
    ]
    assert [row["d"] for row in hive.run("SELECT * FROM p ORDER BY a")] == ["a b", "a b", "c/d"]
    assert hive.run("SELECT count(*) AS n FROM p TABLESAMPLE (BUCKET 1 OUT OF 2 ON a)")
    assert hive.run("SELECT sum(a) AS n FROM m") == [{"n": 3}]
    assert hive.run("SELECT * FROM e") == [{"a": 1, "v": "x"}]
    # They are ACID tables in Hive, too.
    hive.run("UPDATE t SET s = 'new' WHERE id = 3")
    hive.run("DELETE FROM p WHERE v = 'y'")
    hive.run("INSERT INTO m VALUES (4, 'w')")
    assert hive.run("SELECT s FROM t WHERE id = 3") == [{"s": "new"}]
    assert hive.run("SELECT count(*) AS n FROM p") == [{"n": 2}]
    assert hive.run("SELECT sum(a) AS n FROM m") == [{"n": 7}]
    hive.run("USE default")

"""A warehouse in a local directory: its paths are local to Spark, too, and no patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS = 300


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)


def change(session: Session, place: str) -> list[tuple[Any, ...]]:
    """Rows after statements of all kinds."""
    session.execute(f"CREATE TABLE t (k int, s string) {place} {ACID}")
    session.execute(f"CREATE TABLE plain (k int, s string) {place} STORED AS PARQUET")
    p = ", if(id < 9, 'a', 'b {}')" if place else ""
    session.execute(f"INSERT INTO t SELECT id, concat('v', id){p} FROM range({ROWS})")
    session.execute("INSERT INTO plain SELECT * FROM t")
    session.execute("DELETE FROM t WHERE k % 3 = 0")
    session.execute("UPDATE t SET s = 'new' WHERE k % 3 = 1")
    session.execute(
        "MERGE INTO t USING plain ON t.k = plain.k WHEN MATCHED AND t.s <> 'new' THEN DELETE"
    )
    session.execute("ALTER TABLE t ADD COLUMNS (n int)")
    session.execute("UPDATE t SET n = k")
    assert session.execute("CHECK TABLE t").fetchall() == []
    assert session.execute("SELECT count(*) FROM plain").fetchall() == [(ROWS,)]
    return session.execute("SELECT k, s, n FROM t ORDER BY k").fetchall()


EXPECTED = [(k, "new", k) for k in range(1, ROWS, 3)]
PLACES = ["", pytest.param("PARTITIONED BY (p string)", id="partitions")]


@pytest.mark.parametrize("place", PLACES)
def test_hadoop_has_another_default_file_system(spark: Any, tmp_path: Path, place: str) -> None:
    own = spark.newSession()
    own.conf.set("fs.defaultFS", "hdfs://host.invalid:8020")
    own.conf.set("mapreduce.output.basename", "other")
    with acidsql.connect(tmp_path / "w", spark=own) as session:
        assert change(session, place) == EXPECTED


@pytest.mark.parametrize("place", PLACES)
def test_a_directory_whose_name_is_a_pattern(spark: Any, tmp_path: Path, place: str) -> None:
    with acidsql.connect(tmp_path / "w[x]{y,z} a%20b*", spark=spark) as session:
        assert change(session, place) == EXPECTED

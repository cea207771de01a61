"""Parquet timestamps of Hives that are not in UTC."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import acidsql
from tests.integration.hive.conftest import BUILD, VERSIONS
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

ZONE = "America/New_York"
TIMES = [
    "1850-07-01 01:02:03",
    "1970-01-01 00:00:00",
    "2020-07-01 12:00:00.123456",
    "2020-11-01 01:30:00",
    "9999-12-31 23:59:59",
]
COLUMNS = "(id int, at timestamp) STORED AS PARQUET"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"


@pytest.mark.parametrize("hive", VERSIONS, ids=["hive4", "hive3"])
def test_each_reads_what_the_other_wrote(hive: int, tmp_path: Path, spark: Any) -> None:
    values = ", ".join(f"({number}, TIMESTAMP '{time}')" for number, time in enumerate(TIMES))
    expected = list(enumerate(TIMES))
    with (
        Hive(hive, BUILD, tmp_path / "hive", zone=ZONE) as theirs,
        acidsql.connect(str(tmp_path / "ours"), spark=spark) as ours,
    ):
        theirs.run(f"CREATE TABLE t {COLUMNS} {INSERT_ONLY}")
        theirs.run(f"INSERT INTO t VALUES {values}")
        [delta] = (theirs.warehouse / "t").glob("delta_*")
        ours.execute(f"CREATE EXTERNAL TABLE t {COLUMNS} LOCATION '{delta}'")
        rows = ours.execute("SELECT * FROM t ORDER BY id").fetchall()
        assert rows == [(number, dt.datetime.fromisoformat(time)) for number, time in expected]

        ours.execute(f"CREATE TABLE o {COLUMNS}")
        ours.execute(f"INSERT INTO o VALUES {values}")
        theirs.run(f"CREATE EXTERNAL TABLE o {COLUMNS} LOCATION '{tmp_path / 'ours' / 'o'}'")
        for vectorised in ("true", "false"):
            theirs.run(f"SET hive.vectorized.execution.enabled={vectorised}")
            found = theirs.run("SELECT id, CAST(at AS string) AS at FROM o ORDER BY id")
            assert [(row["id"], row["at"]) for row in found] == expected

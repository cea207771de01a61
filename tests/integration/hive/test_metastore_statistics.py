"""Hive answers from what the metastore notes about rows; it must not after our writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

SETTINGS = ("hive.stats.autogather", "hive.stats.column.autogather",
            "hive.compute.query.using.stats")  # fmt: skip
QUERY = "SELECT count(*) AS n, min(id) AS low, max(id) AS high FROM t"


@pytest.fixture(scope="module")
def session(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    url = hive.metastore_url
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark) as session:
        yield session


@pytest.fixture
def both(hive: Hive, session: acidsql.Session, database: str) -> Iterator[OneMetastore]:
    """A Hive that notes everything and looks at nothing else."""
    for setting in SETTINGS:
        hive.run(f"SET {setting}=true")
    yield OneMetastore(hive, session, database)
    for setting in SETTINGS:
        hive.run(f"SET {setting}=false")


def counted(both: OneMetastore) -> tuple[int, int, int]:
    (row,) = both.theirs(QUERY)
    return row["n"], row["low"], row["high"]


def is_noted(both: OneMetastore) -> bool:
    """Whether Hive would answer without reading a file."""
    plan = str(both.theirs(f"EXPLAIN {QUERY}"))
    return "TableScan" not in plan and "Map" not in plan


TABLES = {
    "acid": "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
    "insert_only": "STORED AS ORC TBLPROPERTIES ('transactional' = 'true',"
    " 'transactional_properties' = 'insert_only')",
    "plain": "STORED AS ORC TBLPROPERTIES ('transactional' = 'false')",
}


@pytest.mark.parametrize("partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize("kind", TABLES)
def test_counts_are_right_after_our_writes(
    both: OneMetastore, kind: str, partitioned: bool
) -> None:
    by = "PARTITIONED BY (k int)" if partitioned else ""
    columns = "id int" if partitioned else "id int, k int"
    both.theirs(f"CREATE TABLE t ({columns}) {by} {TABLES[kind]}")
    both.theirs("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)")
    assert counted(both) == (3, 1, 3)
    if kind == "plain" or both.hive.version == 4:
        assert is_noted(both)
    both.acidsql("INSERT INTO t VALUES (9, 1), (10, 3)")
    assert not is_noted(both)
    assert counted(both) == (5, 1, 10)
    both.theirs("INSERT INTO t VALUES (11, 3)")
    assert counted(both) == (6, 1, 11)
    if kind == "acid":
        both.acidsql("DELETE FROM t WHERE id > 9")
        assert counted(both) == (4, 1, 9)
    where = " PARTITION (k)" if partitioned else ""
    both.theirs(f"ANALYZE TABLE t{where} COMPUTE STATISTICS")
    both.acidsql("TRUNCATE TABLE t")
    assert counted(both)[0] == 0


def test_what_is_noted_goes(both: OneMetastore) -> None:
    kind = "acid" if both.hive.version == 4 else "plain"  # 3.1 notes nothing of the others
    both.theirs(f"CREATE TABLE t (id int) {TABLES[kind]}")
    both.theirs("INSERT INTO t VALUES (1)")
    assert "numRows" in both.described("t")
    both.acidsql("INSERT INTO t VALUES (2)")
    told = both.described("t")
    assert not {"COLUMN_STATS_ACCURATE", "numRows", "rawDataSize"} & set(told)

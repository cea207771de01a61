"""Rows that a user has cached in Spark are those of one frame, and of no later statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = (
    "STORED AS PARQUET TBLPROPERTIES ('transactional' = 'true',"
    " 'transactional_properties' = 'insert_only')"
)
TABLES = {
    "small files": (ACID, "int", 3),
    "large files": (ACID, "int", 50_000),
    "in buckets": (f"CLUSTERED BY (k) INTO 2 BUCKETS {ACID}", "int", 50_000),
    "times": (ACID, "timestamp", 50_000),
    "insert-only": (INSERT_ONLY, "int", 50_000),
    "plain ORC": ("STORED AS ORC", "int", 50_000),
    "text": ("STORED AS TEXTFILE", "int", 50_000),
    "Avro": ("STORED AS AVRO", "int", 3),
}


@pytest.fixture
def session(warehouse: Path, spark: Any) -> Iterator[Session]:
    """A session in a time zone in which Spark misreads timestamps, so that Python reads them."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    with acidsql.connect(warehouse, spark=spark) as session:
        yield session
    spark.catalog.clearCache()
    spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_made_again(session: Session, name: str) -> None:
    """Its files have the paths of those before."""
    properties, kind, count = TABLES[name]

    def fill(first: int) -> None:
        session.execute(f"CREATE TABLE t (k int, v {kind}) {properties}")
        value = "k" if kind == "int" else "timestamp_seconds(k)"
        rows = f"SELECT CAST(id AS int) + {first} AS k FROM range({count})"
        session.execute(f"INSERT INTO t SELECT k, {value} FROM ({rows}) AS r")

    fill(100_000)
    cached = session.table("t").cache()
    assert cached.count() == count
    session.execute("DROP TABLE t")
    fill(200_000)
    assert session.execute("SELECT min(k), count(v) FROM t").fetchall() == [(200_000, count)]
    assert session.table("t").selectExpr("min(k)").collect() == [(200_000,)]
    assert session.execute("SELECT k FROM t ORDER BY k LIMIT 1").fetchall() == [(200_000,)]
    assert cached.selectExpr("min(k)").collect() == [(100_000,)]


def test_a_plain_table_that_is_overwritten(session: Session) -> None:
    session.execute("CREATE TABLE t (k int) STORED AS TEXTFILE")
    session.execute("INSERT INTO t VALUES (1), (2)")
    assert session.table("t").cache().count() == 2
    session.execute("INSERT OVERWRITE t VALUES (3), (4)")
    assert session.execute("SELECT * FROM t ORDER BY k").fetchall() == [(3,), (4,)]


def test_rows_that_are_deleted(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    session.execute("INSERT INTO t SELECT CAST(id AS int) FROM range(50000)")
    cached = session.table("t").cache()
    assert cached.count() == 50_000
    session.execute("DELETE FROM t WHERE k % 2 = 0")
    assert session.execute("SELECT count(*), min(k) FROM t").fetchall() == [(25_000, 1)]
    assert cached.count() == 50_000

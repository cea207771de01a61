"""Rows of this process that Session.insert wrote, as Spark reads them: every type, every file."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.errors import AnalysisError

COLUMNS = (
    "k int, b boolean, i8 tinyint, i16 smallint, i64 bigint, f float, g double, s string,"
    " c char(3), v varchar(3), y binary, d date, t timestamp, n decimal(38,10),"
    " a array<int>, m map<string,date>, st struct<x:int,y:array<timestamp>>"
)
NOON = dt.datetime(2020, 7, 1, 12, 0, 0, 500_000)
ROW: dict[str, Any] = {
    "k": 1, "b": True, "i8": -128, "i16": 32767, "i64": 2**63 - 1, "f": 1.5, "g": 1e300, "s": "ä",
    "c": "ab", "v": "abc", "y": b"\x00\xff", "d": dt.date(1582, 10, 4), "t": NOON,
    "n": Decimal("1234567890123456789012345678.0123456789"), "a": [1, None],
    "m": {"x": dt.date(2020, 1, 1)}, "st": {"x": None, "y": [NOON, None]},
}  # fmt: skip
EXPECTED = (
    1, True, -128, 32767, 2**63 - 1, 1.5, 1e300, "ä", "ab ", "abc", b"\x00\xff",
    dt.date(1582, 10, 4), NOON, Decimal("1234567890123456789012345678.0123456789"), [1, None],
    {"x": dt.date(2020, 1, 1)}, (None, [NOON, None]),
)  # fmt: skip
PROPERTIES = {
    "full-ACID": "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
    "insert-only ORC": "STORED AS ORC TBLPROPERTIES ('transactional' = 'true',"
    " 'transactional_properties' = 'insert_only')",
    "insert-only Parquet": "STORED AS PARQUET TBLPROPERTIES ('transactional' = 'true',"
    " 'transactional_properties' = 'insert_only')",
    "plain Parquet": "STORED AS PARQUET",
}


@pytest.mark.parametrize("properties", PROPERTIES.values(), ids=PROPERTIES)
def test_every_type(session: Any, properties: str) -> None:
    session.execute(f"CREATE TABLE t ({COLUMNS}) PARTITIONED BY (p string) {properties}")
    nulls: dict[str, Any] = dict.fromkeys(ROW, None) | {"k": 2}
    session.insert("t", [ROW, nulls], partition={"p": "x/y"})
    found = sorted(session.execute("SELECT * FROM t").fetchall(), key=lambda row: row[0])
    assert found[0] == (*EXPECTED, "x/y")
    assert found[1] == (2, *[None] * 16, "x/y")
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_buckets_are_those_of_spark(session: Any) -> None:
    """Of the same rows, INSERT … SELECT makes the same files."""
    acid = "TBLPROPERTIES ('transactional' = 'true')"
    for name in ("here", "there"):
        session.execute(
            f"CREATE TABLE {name} (k int, v string) PARTITIONED BY (p int)"
            f" CLUSTERED BY (v, k) INTO 4 BUCKETS {acid}"
        )
    rows = pa.table({"k": range(200), "v": [f"v{n}" for n in range(200)], "p": [1, 2] * 100})
    session.insert("here", rows)
    session.register("source", rows)
    session.execute("INSERT INTO there SELECT k, v, p FROM source")
    places = [
        sorted(session.execute(f"SELECT k, p, row__id.bucketid FROM {name}").fetchall())
        for name in ("here", "there")
    ]
    assert places[0] == places[1]
    assert len({row[2] for row in places[0]}) == 4


def test_the_rows_are_changed_like_any_others(session: Any) -> None:
    session.execute("CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')")
    with session.transaction():
        session.insert("t", {"k": [1, 2, 3], "v": ["a", "b", "c"]})
        session.execute("UPDATE t SET v = 'x' WHERE k = 2")
        session.execute("DELETE FROM t WHERE k = 3")
    session.insert("t", {"k": [4]})
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    rows = session.execute("SELECT k, v FROM t ORDER BY k").fetchall()
    assert rows == [(1, "a"), (2, "x"), (4, None)]


def test_a_frame_of_spark_is_refused(session: Any, spark: Any) -> None:
    session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
    with pytest.raises(AnalysisError, match="a DataFrame of Spark"):
        session.insert("t", spark.range(3))

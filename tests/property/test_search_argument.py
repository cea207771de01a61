"""Predicates prune what Spark reads, and never what it answers."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import acidsql
from acidsql import Session

ROWS = 60_000
CREATE = (
    "CREATE TABLE {name} (k int, b bigint, v decimal(12,2), d date, s string, c varchar(9), w int,"
    " ts timestamp)"
    " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
)


def numbers() -> pa.Table:
    """Rows sorted by every column at once, every 997th of them null, half of them negative."""
    first, noon = datetime.date(1900, 1, 1), datetime.datetime(2000, 1, 1, 12, 0, 0, 250_000)
    values = [None if n % 997 == 0 else n - ROWS // 2 for n in range(ROWS)]

    def column(make: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([None if v is None else make(v) for v in values], kind)

    return pa.table(
        {
            "k": column(int, pa.int32()),
            "b": column(lambda v: v * 10**10, pa.int64()),
            "v": column(lambda v: Decimal(v) / 4, pa.decimal128(12, 2)),
            "d": column(lambda v: first + datetime.timedelta(v + ROWS // 2), pa.date32()),
            "s": column(lambda v: f"s{v + ROWS:06d}", pa.string()),
            "c": column(lambda v: f"c{v + ROWS:06d}", pa.string()),
            "w": pa.array([n % 7 for n in range(ROWS)], pa.int32()),
            "ts": column(lambda v: noon + datetime.timedelta(days=v / 2), pa.timestamp("us")),
        }
    )


CHANGES = (
    "DELETE FROM t WHERE w = 3 AND k > 1000",
    "UPDATE t SET s = 'moved', v = -1 WHERE k BETWEEN 100 AND 120",
)


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path: Path = tmp_path_factory.mktemp("warehouse")
    with acidsql.connect(str(path), spark=spark) as session:
        session.execute(CREATE.format(name="t"))
        session.insert("t", numbers())
        for change in CHANGES:
            session.execute(change)
        yield session


@pytest.fixture(scope="module")
def twin() -> Iterator[duckdb.DuckDBPyConnection]:
    """The same rows in DuckDB."""
    with duckdb.connect() as twin:
        twin.register("source", numbers())
        twin.execute("CREATE TABLE t AS SELECT * FROM source")
        for change in CHANGES:
            twin.execute(change)
        yield twin


def scanned_rows(frame: Any) -> int:
    """How many rows the file scans of a collected frame put out."""
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    count = 0
    for index in range(leaves.size()):
        leaf = leaves.apply(index)
        while leaf.getClass().getSimpleName().endswith("QueryStageExec"):
            leaf = leaf.plan().collectLeaves().apply(0)
        metric = leaf.metrics().get("numOutputRows")
        if metric.isDefined():
            count += metric.get().value()
    return count


LONG = pytest.mark.thorough
CONDITIONS: list[Any] = [
    ("k = 17", None),
    ("17 = k", None),
    pytest.param("k = -29000", None, marks=LONG),
    ("k < -29990 AND k > -29999", None),
    ("k IN (5, -7, 29000)", None),
    ("k BETWEEN -3 AND 3", None),
    pytest.param("k >= 29990", None, marks=LONG),
    ("b = 170000000000", None),
    pytest.param("b <= -299900000000000", None, marks=LONG),
    ("v = 4.25", None),
    pytest.param("v = -0.5", None, marks=LONG),
    ("v BETWEEN -1.005 AND -0.74", None),
    pytest.param("v > 7499", None, marks=LONG),
    ("d = DATE '1950-03-01'", None),
    ("d = '1950-03-01'", None),
    pytest.param("d < DATE '1900-01-09'", None, marks=LONG),
    ("d > '2064-04-01'", None),
    ("ts = TIMESTAMP '2000-03-01 12:00:00.25'", None),
    ("ts = '2000-03-01 12:00:00.250000'", None),
    pytest.param("ts < TIMESTAMP '1959-01-09 12:00:00.25'", None, marks=LONG),
    ("ts <= '1959-01-09'", None),
    ("ts > DATE '2041-01-01' AND ts < '2041-01-20T00:00'", None),
    ("ts IN (TIMESTAMP '2000-03-01 12:00:00.25', TIMESTAMP '2000-03-05 12:00:00.25')", None),
    ("ts BETWEEN '1970-01-01' AND '1970-01-02 00:00:00'", None),
    ("s = 's060017'", None),
    ("s > 's089990'", None),
    ("s = 'moved'", None),
    pytest.param("s IN ('s060017', 's030001')", None, marks=LONG),
    ("c = 'c060017'", None),
    ("k = ?", [17]),
    ("v < ? AND v > ?", [Decimal("1.25"), Decimal("-1.5")]),
    ("d = ?", [datetime.date(1950, 3, 1)]),
    ("ts >= ? AND ts < ?", [datetime.datetime(2000, 3, 1), datetime.datetime(2000, 3, 9, 1)]),
    ("s IN (?, ?)", ["s060017", "s030001"]),
    ("k = ?", [Decimal("17.0")]),
    ("k = 17 AND s IS NOT NULL AND w + 0 = 3", None),
    ("k = 100000", None),
    ("k = 17 OR d IS NULL", None),
    ("k IS NULL", None),
    ("NOT k > -29990", None),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("condition", "args"), CONDITIONS, ids=str)
def test_pruning_changes_no_answer(
    session: Session, twin: Any, condition: str, args: list[Any] | None
) -> None:
    query = f"SELECT * FROM t WHERE {condition}"
    expected = twin.execute(query, args or []).fetchall()
    found = session.execute(query, args).fetchall()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    "condition",
    [
        "k = 17",
        "b = 170000000000",
        "v = 4.25",
        "d = DATE '1950-03-01'",
        "ts = TIMESTAMP '2000-03-01 12:00:00.25'",
        "ts > '2041-01-01'",
        "ts < DATE '1959-06-01'",
        "s = 's060017'",
        "k IN (1, 2)",
    ],
)
def test_a_point_query_reads_few_rows(session: Session, condition: str) -> None:
    with session.execute(f"SELECT k, b, v, d, s FROM t WHERE {condition}") as result:
        frame = result.df
        assert frame.collect()
        assert 0 < scanned_rows(frame) < ROWS // 2


def test_a_query_without_bounds_reads_all_rows(session: Session) -> None:
    with session.execute("SELECT k, b, v, d, s FROM t WHERE k + 0 = 17") as result:
        frame = result.df
        assert frame.collect()
        assert scanned_rows(frame) >= ROWS


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "condition",
    [
        "k = 29000",
        pytest.param("v = 7000.25", marks=LONG),
        "s = 's080000'",
        pytest.param("d = '1999-09-09'", marks=LONG),
    ],
)
def test_changes_go_by_the_same_rows(session: Session, condition: str) -> None:
    before = session.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()[0][0]
    assert session.execute(f"UPDATE t SET c = 'x' WHERE {condition}").rows_updated == before
    assert session.execute(f"DELETE FROM t WHERE {condition}").rows_deleted == before


def test_what_is_asked_for_is_looked_at_before_what_is_deleted(session: Session) -> None:
    """To compare costs less than to look up each row among those deleted."""
    with session.execute("SELECT s FROM t WHERE k < 17 AND v > 4.25 AND d IS NOT NULL") as result:
        plan = result.df._jdf.queryExecution().optimizedPlan().toString()
    [condition] = [line for line in plan.splitlines() if "Filter" in line and "shiftright" in line]
    deleted = condition.index("shiftright")
    assert condition.index("< 17") < deleted
    assert condition.index("> 4.25") < deleted

"""How many jobs a statement takes, and how often it computes a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import AnalysisError
from acidsql.session.session import Session

ROWS = 4_000
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
CHANGE = (
    "ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v)"
    " VALUES (s.k, s.v)"
)
PARTITIONS = 4
LONG = pytest.mark.thorough


@pytest.fixture
def table(session: Session) -> Session:
    """A table t of `ROWS` rows in two files."""
    session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
    for first in (0, ROWS // 2):
        keys = range(first, first + ROWS // 2)
        session.insert("t", [{"k": key, "v": f"value {key}"} for key in keys])
    return session


@pytest.fixture
def jobs(table: Session, spark: Any) -> Callable[[str], int]:
    """Executes a statement, and counts its jobs."""
    tracker = spark.sparkContext.statusTracker()

    def count(sql: str) -> int:
        before = set(tracker.getJobIdsForGroup(None))
        table.execute(sql).close()
        return len(set(tracker.getJobIdsForGroup(None)) - before)

    return count


@pytest.fixture
def no_table_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)


BY_DRIVER, BY_TASKS = 96 << 20, 1


def way(short: str) -> Any:
    """That way; at length the other one, too."""
    params = [
        pytest.param(limit, id=name, marks=[] if name == short else LONG)
        for name, limit in (("collected", BY_DRIVER), ("written by tasks", BY_TASKS))
    ]
    return pytest.mark.parametrize("driver_bytes", params, indirect=True)


@pytest.fixture
def driver_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", request.param)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    return int(request.param)


def found(session: Session, where: str) -> list[tuple[Any, ...]]:
    assert session.execute("CHECK TABLE t").fetchall() == []
    return sorted(session.execute(f"SELECT k, v FROM t WHERE {where}").fetchall())


@pytest.mark.usefixtures("no_table_is_small")
def test_a_row_is_changed_by_one_job(table: Session, jobs: Callable[[str], int]) -> None:
    assert jobs("UPDATE t SET v = 'x' WHERE k = 3000") == 1
    assert jobs("DELETE FROM t WHERE k IN (1, 3999)") == 1
    assert found(table, "k < 3 OR k > 3997 OR k = 3000") == [
        (0, "value 0"),
        (2, "value 2"),
        (3000, "x"),
        (3998, "value 3998"),
    ]


@pytest.mark.usefixtures("no_table_is_small")
@pytest.mark.parametrize(("rows_min", "expected"), [(1000, 1), (0, 2)])
def test_row_ids_alone_are_brought_at_once(
    table: Session,
    jobs: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
    rows_min: int,
    expected: int,
) -> None:
    """If they are too many for the driver, a second job encodes them."""
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", rows_min)
    assert jobs("DELETE FROM t WHERE k % 8 = 3 AND v <> 'x'") == expected
    assert found(table, "k < 13") == [(k, f"value {k}") for k in range(13) if k % 8 != 3]
    assert table.execute("SELECT count(*) FROM t").fetchall() == [(ROWS - ROWS // 8,)]


def test_many_files_are_read_by_one_job(table: Session, jobs: Callable[[str], int]) -> None:
    """Spark looks for no path in a job of its own, as it does for more than 32."""
    for key in range(-40, 0):
        table.insert("t", [{"k": key, "v": "small"}])
    assert jobs("UPDATE t SET v = 'x' WHERE k IN (-40, 3999)") == 1
    assert found(table, "v = 'x'") == [(-40, "x"), (3999, "x")]
    assert table.execute("SELECT count(*), sum(k) FROM t").fetchall() == [
        (ROWS + 40, ROWS * (ROWS - 1) // 2 - 820)
    ]


@pytest.mark.usefixtures("no_table_is_small")
def test_a_merge_of_values_is_one_job(table: Session, jobs: Callable[[str], int]) -> None:
    values = "(SELECT * FROM VALUES (3000, 'a'), (5000, 'b'), (-1, NULL) AS v(k, v))"
    assert jobs(f"MERGE INTO t USING {values} s {CHANGE}") == 1
    assert found(table, "k < 1 OR k > 3998 OR k = 3000") == [
        (-1, None),
        (0, "value 0"),
        (3000, "a"),
        (3999, "value 3999"),
        (5000, "b"),
    ]


@pytest.mark.thorough
@pytest.mark.usefixtures("no_table_is_small")
@pytest.mark.parametrize(
    ("on", "rows", "joined_by"),
    [
        ("t.k = s.k", 2, "CartesianProduct"),
        pytest.param("t.k = s.k", 60, "BroadcastHashJoin", marks=LONG),
        pytest.param("t.k = s.k AND t.v = s.v AND t.g = s.g", 900, "BroadcastHashJoin", marks=LONG),
        pytest.param("t.k = s.k AND t.v = s.v", 60, "BroadcastHashJoin", marks=LONG),
        pytest.param("t.g = s.g AND t.k + 0 = s.k", 60, "BroadcastHashJoin", marks=LONG),
    ],
)
def test_a_merge_compares_a_row_with_few_others(
    table: Session, spark: Any, on: str, rows: int, joined_by: str
) -> None:
    """A key with few values must not make a row of the table meet every row of the source."""
    table.execute("ALTER TABLE t ADD COLUMNS (g int)")
    table.execute("UPDATE t SET g = 1 WHERE k >= 0")
    source = spark.range(rows).selectExpr("int(id) AS k", "concat('value ', id) AS v", "1 AS g")
    table.register("s", source)
    before = executed_plans(spark)
    table.execute(f"MERGE INTO t USING s ON {on} WHEN MATCHED THEN UPDATE SET v = 'x'")
    text = "".join(plan for n, plan in executed_plans(spark).items() if n not in before)
    assert {"CartesianProduct", "BroadcastHashJoin"} & set(re.findall(r"\w+", text)) == {joined_by}
    assert len(found(table, "v = 'x'")) == rows


def executed_plans(spark: Any) -> dict[int, str]:
    """The physical plans of the last queries that Spark has run, by the numbers of the queries."""
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    found = (executions.apply(n) for n in range(executions.size()))
    return {e.executionId(): e.physicalPlanDescription() for e in found}


@pytest.mark.usefixtures("no_table_is_small")
def test_a_merge_of_a_few_rows_is_two_jobs(
    table: Session, jobs: Callable[[str], int], spark: Any
) -> None:
    """One for the source, whatever it is, and one for the target."""
    rows = [(3000, "a"), (5000, "b")]
    table.register("known", spark.createDataFrame(rows, "k int, v string"))
    table.register("counted", spark.range(2999, 3001).selectExpr("int(id) AS k", "'c' AS v"))
    assert jobs(f"MERGE INTO t USING known s {CHANGE}") == 2
    assert found(table, "k > 4000 OR k = 3000") == rows
    assert jobs(f"MERGE INTO t USING counted s {CHANGE}") == 2
    assert found(table, "k in (2999, 3000)") == [(2999, "c"), (3000, "c")]


@pytest.mark.thorough
def test_keys_are_found_whatever_their_type_and_number(table: Session) -> None:
    """Up to 64 keys are compared with each row, more are looked up."""
    for count in (1, 64, 65, 1000):
        rows = [{"k": key, "v": "new"} for key in range(3999, 3999 - count, -1)]
        table.register("some", _frame(rows))
        result = table.execute(f"MERGE INTO t USING some s {CHANGE}")
        assert (result.rows_updated, result.rows_inserted) == (count, 0)
    table.register("nothing", _frame([{"k": None, "v": "null"}]))
    result = table.execute(f"MERGE INTO t USING nothing s {CHANGE}")
    assert (result.rows_updated, result.rows_inserted) == (0, 1)
    result = table.execute(
        "MERGE INTO t USING (SELECT * FROM VALUES (5.0D, 'x'), (6.5D, 'x') AS v(k, v)) s"
        " ON t.k = s.k WHEN MATCHED THEN DELETE"
    )
    assert result.rows_deleted == 1


def _frame(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=pa.schema({"k": pa.int32(), "v": pa.string()}))


@pytest.mark.usefixtures("no_table_is_small")
@way("written by tasks")
def test_many_rows_are_scanned_once(
    table: Session, spark: Any, tmp_path: Path, driver_bytes: int
) -> None:
    """Each row meets the WHERE once, whoever writes it then."""
    seen = tmp_path / "seen"
    seen.mkdir()

    def told(key: int) -> bool:
        with (seen / str(key)).open("a") as file:
            file.write("x")
        return key % 2 == 0

    spark.udf.register("told", told, "boolean")
    result = table.execute("UPDATE t SET v = 'x' WHERE told(k)")
    assert result.rows_updated == ROWS // 2
    assert Counter(len(path.read_bytes()) for path in seen.iterdir()) == {1: ROWS}
    assert table.execute("DELETE FROM t WHERE told(k) AND k < 2000").rows_deleted == 1000
    assert Counter(len(path.read_bytes()) for path in seen.iterdir()) == {1: ROWS // 2, 2: 2000}
    left = ROWS - 1000
    assert table.execute("DELETE FROM t WHERE v = 'x' OR k % 2 = 1").rows_deleted == left
    assert found(table, "true") == []


OTHERS = "SELECT * FROM VALUES (NULL, 'a'), (9000, 'b'), (9000, 'c') AS s(K, v)"
"""A null key matches nothing, and two rows of one key may both match no row of the target."""


@way("written by tasks")
def test_a_large_source_is_computed_once(
    table: Session, spark: Any, tmp_path: Path, driver_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the driver looks first whether they are few, or not. What matches nothing stays."""
    if driver_bytes > 1:
        monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    folder = str(tmp_path)

    def told(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        with open(f"{folder}/computed-{context.taskAttemptId()}", "a") as file:
            file.write(f"{context.partitionId()}\n")
        yield from batches

    rows = spark.range(0, ROWS, 1, PARTITIONS).selectExpr(
        f"int(id + {ROWS // 2}) AS k", "string(id) AS v"
    )
    table.register("large", rows.mapInArrow(told, rows.schema).unionAll(spark.sql(OTHERS)))
    before = executed_plans(spark)
    result = table.execute(f"MERGE INTO t USING large s {CHANGE}")
    text = "".join(plan for n, plan in executed_plans(spark).items() if n not in before)
    assert "xxhash64" in text
    assert (result.rows_updated, result.rows_inserted) == (ROWS // 2, ROWS // 2 + 3)
    assert found(table, f"k IN (0, {ROWS - 1}, {ROWS})") == [
        (0, "value 0"),
        (ROWS - 1, str(ROWS // 2 - 1)),
        (ROWS, str(ROWS // 2)),
    ]
    computed = Counter(
        int(line) for file in tmp_path.glob("computed-*") for line in file.read_text().split()
    )
    assert computed == dict.fromkeys(range(PARTITIONS), 1)


@pytest.mark.thorough  # the short form is test_a_large_source_is_computed_once
@way("written by tasks")
@pytest.mark.parametrize(
    "clauses",
    [
        pytest.param("MATCHED THEN UPDATE SET v = s.v", id="changes"),
        pytest.param(CHANGE.split("WHEN ", 1)[1], id="changes and inserts"),
    ],
)
@pytest.mark.parametrize(("kind", "left_out_by"), [("int", "xxhash64"), ("bigint", "LeftSemi")])
def test_rows_that_a_large_source_cannot_match_are_not_moved(
    table: Session,
    spark: Any,
    clauses: str,
    kind: str,
    left_out_by: str,
    driver_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By their hash, if equal keys have one; else by a join with the keys."""
    if driver_bytes > 1:
        monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    keys = spark.range(ROWS - 100, ROWS + 100).selectExpr(f"{kind}(id) AS K", "string(id) AS v")
    table.register("large", keys.unionAll(spark.sql(OTHERS)))
    before = executed_plans(spark)
    result = table.execute(f"MERGE INTO t USING large s ON t.k = s.k WHEN {clauses}")
    text = "".join(plan for n, plan in executed_plans(spark).items() if n not in before)
    assert left_out_by in text
    inserted = 103 if "INSERT" in clauses else 0
    assert (result.rows_updated, result.rows_inserted) == (100, inserted)
    assert table.execute("SELECT count(*) FROM t WHERE v = string(k)").fetchone() == (
        200 if inserted else 100,
    )


@pytest.mark.thorough
def test_hashes_that_spark_refuses_to_bring_are_not_needed(
    table: Session, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    rows = spark.range(100_000).selectExpr("int(id) AS k", "string(id) AS v")
    table.register("s", rows)
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "256k")
    try:
        result = table.execute(f"MERGE INTO t USING s {CHANGE}")
    finally:
        conf.remove("spark.driver.maxResultSize")
    assert (result.rows_updated, result.rows_inserted) == (ROWS, 100_000 - ROWS)


@way("collected")
def test_a_mistake_in_on_is_told_of_the_statement_whatever_the_size_of_the_source(
    table: Session, driver_bytes: int
) -> None:
    table.execute(f"CREATE TABLE m (k int, v string, m map<int,int>) {ACID}")
    values = "(1, array(2), map(3, 4), 'A' COLLATE UTF8_LCASE)"
    source = f"(SELECT * FROM VALUES {values} AS s(k, a, m, c))"
    for on in ("m.k = s.a", "m.m = s.m", "m.v = s.c", "m.k = s.k AND m.m = s.m"):
        statement = f"MERGE INTO m USING {source} AS s ON {on} WHEN MATCHED THEN DELETE"
        with pytest.raises(AnalysisError) as caught:
            table.execute(statement)
        assert (caught.value.line, caught.value.column) != (1, 1), on
        assert "all_rows" not in str(caught.value)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("key", "is_narrowed"), [("k", True), pytest.param("v", False, marks=LONG)]
)
def test_long_keys_of_a_large_source_are_not_sent_to_every_task(
    table: Session, spark: Any, key: str, is_narrowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    monkeypatch.setattr("acidsql.engines.spark.merge_candidates._HASHES_MAX", 0)
    monkeypatch.setattr("acidsql.engines.spark.merge_candidates._BYTES_MAX", 0)
    table.register("s", spark.range(10).selectExpr("int(id) AS k", "concat('value ', id) AS v"))
    before = executed_plans(spark)
    result = table.execute(f"MERGE INTO t USING s ON t.{key} = s.{key} WHEN MATCHED THEN DELETE")
    text = "".join(plan for n, plan in executed_plans(spark).items() if n not in before)
    assert ("LeftSemi" in text) == is_narrowed
    assert result.rows_deleted == 10

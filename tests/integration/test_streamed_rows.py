"""Rows that come as they are asked for: what is computed for them, and what stays in memory."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.engines.spark import row_stream

PARTITIONS = 12
ROWS = 30_000


@pytest.fixture
def computed(tmp_path: Path) -> Callable[[], Counter[int]]:
    """How often each partition of `source` was computed: its task says so in a file."""
    return lambda: Counter(
        int(line) for file in tmp_path.glob("computed-*") for line in file.read_text().split()
    )


@pytest.fixture
def source(session, spark, tmp_path: Path) -> str:
    """A source of `ROWS` ids of 100 bytes each, with a random number."""
    folder = str(tmp_path)

    def told(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        with open(f"{folder}/computed-{context.taskAttemptId()}", "a") as file:
            file.write(f"{context.partitionId()}\n")
        yield from batches

    numbers = spark.range(0, ROWS, 1, PARTITIONS).selectExpr(
        "id", "rand() AS chance", "rpad(cast(id AS string), 100, 'x') AS wide"
    )
    session.register("source", numbers.mapInArrow(told, numbers.schema))
    return "source"


@pytest.fixture
def small_groups(monkeypatch):
    """As if the rows of a partition were many megabytes."""
    monkeypatch.setattr(row_stream, "GROUP_BYTES", 1 << 10)


@pytest.mark.usefixtures("small_groups")
def test_a_row_costs_a_partition(session, source, computed):
    with session.execute(f"SELECT * FROM {source}") as result:
        assert computed() == {}, "nothing is computed before it is asked for"
        assert result.fetchone()[0] == 0
        assert len(computed()) == 1
        assert len(result.fetchmany(ROWS // PARTITIONS)) == ROWS // PARTITIONS
        assert len(computed()) == 2
    assert len(computed()) == 2


@pytest.mark.usefixtures("small_groups")
def test_each_partition_is_computed_once(session, source, computed):
    result = session.execute(f"SELECT id, chance FROM {source}")
    rows = [result.fetchone() for _ in range(10)]
    rows += result.fetchmany(5000)
    rows += result.fetchall()
    assert [row[0] for row in rows] == list(range(ROWS))
    assert computed() == dict.fromkeys(range(PARTITIONS), 1)
    assert len({row[1] for row in rows}) == ROWS


@pytest.mark.usefixtures("small_groups")
def test_the_order_is_that_of_one_evaluation(session, source, computed):
    """ORDER BY rand() samples, shuffles and sorts: all of it must be of the same numbers."""
    session.execute(
        "CREATE TABLE t (id bigint) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    session.execute(f"INSERT INTO t SELECT id FROM {source}")
    result = session.execute("SELECT id, rand() AS chance FROM t ORDER BY chance")
    rows = [result.fetchone() for _ in range(10)] + result.fetchall()
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    assert sorted(row[0] for row in rows) == list(range(ROWS))


def test_few_rows_are_one_job(session, source, computed):
    """Where Spark expects little, all partitions are computed together."""
    assert session.execute("SELECT id FROM range(0, 12, 1, 12)").fetchone() == (0,)
    [top] = session.execute(f"SELECT max(id) FROM {source}")
    assert top == (ROWS - 1,)
    assert computed() == dict.fromkeys(range(PARTITIONS), 1)


def test_a_limit_does_not_compute_all(session, source, computed):
    assert len(list(session.execute(f"SELECT id FROM {source} LIMIT 10"))) == 10
    assert set(computed()) == {0}


def test_values_are_those_of_fetchall(session):
    sql = """
        SELECT id, cast(id AS decimal(20, 2)) AS d, cast(id AS string) AS s, id * 1.5D AS f,
               timestamp'2020-06-01 12:00:00' AS ts, timestamp_ntz'2020-06-01 12:00:00' AS ntz,
               date'1582-10-04' AS day, array(id, NULL) AS a, map('k', id) AS m,
               named_struct('x', id, 'y', array(named_struct('z', 'w'))) AS st,
               cast('ab' AS binary) AS b, NULL AS nothing, float('nan') AS nan,
               interval '1' day AS i
        FROM range(0, 3000, 1, 3)
    """
    at_once = session.execute(sql).fetchall()
    streamed = list(session.execute(sql))
    assert len(streamed) == 3000
    assert repr(streamed) == repr(at_once)
    assert type(streamed[0]) is type(at_once[0]) is tuple


def test_memory_stays_bounded(session, monkeypatch):
    monkeypatch.setattr(row_stream, "GROUP_BYTES", 1 << 17)
    sql = "SELECT id, rpad(cast(id AS string), 200, 'x') AS wide FROM range(0, 10000, 1, 32)"

    def peak(read: Callable[[Any], int]) -> int:
        with session.execute(sql) as result:
            tracemalloc.start()
            try:
                assert read(result) == 10_000
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    streamed = peak(lambda result: sum(1 for _ in result))
    assert streamed * 5 < peak(lambda result: len(result.fetchall()))


@pytest.mark.usefixtures("small_groups")
def test_the_snapshot_is_kept_until_the_rows_are_computed(session):
    session.execute("CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    for n in range(4):
        session.execute(f"INSERT INTO t VALUES ({n}), ({n + 10})")
    result = session.execute("SELECT id FROM t")
    first = result.fetchone()
    for _ in range(2):
        session.execute("UPDATE t SET id = id + 100 WHERE id >= 0")
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    assert sorted([first, *result]) == [(n,) for n in (0, 1, 2, 3, 10, 11, 12, 13)]
    session.run_cleaner()
    assert session.execute("SHOW LOCKS").fetchall() == []


@pytest.mark.usefixtures("small_groups")
def test_an_error_in_a_later_partition(session):
    result = session.execute(
        "SELECT if(id = 4500, raise_error('here'), id) AS id FROM range(0, 5000, 1, 10)"
    )
    assert result.fetchone() == (0,)
    with pytest.raises(acidsql.AcidSqlError, match="here"):
        result.fetchall()
    with pytest.raises(acidsql.AcidSqlError, match="before all of its rows were read"):
        result.fetchone()
    assert session.execute("SHOW LOCKS").fetchall() == []


@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization:UserWarning")
@pytest.mark.parametrize("fetch", ["fetchall", "fetchone", "pandas"])
def test_intervals_that_python_does_not_have(session: Any, fetch: str) -> None:
    for value in ("INTERVAL '10-11' YEAR TO MONTH", "array(INTERVAL '49' MONTH)"):
        with pytest.raises(acidsql.ExecutionError, match="no intervals of years") as caught:
            getattr(session.execute(f"SELECT {value} AS v"), fetch)()
        assert caught.value.hint == "Cast the value to a string."


@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization:UserWarning")
@pytest.mark.parametrize(
    ("value", "message", "fetches"),
    [
        ("map('a', map(array(1, 2), 3))", "cannot be a dict", ("fetchall", "fetchone", "pandas")),
        ("make_date(10000, 1, 1)", "outside of what Python has", ("fetchall", "pandas")),
        ("make_date(0, 1, 1)", "outside of what Python has", ("fetchall", "pandas")),
        ("make_timestamp_ntz(10000, 1, 1, 0, 0, 0)", "outside of what", ("fetchone", "pandas")),
        ("CAST(X'ff' AS string)", "is not UTF-8", ("pandas",)),
    ],
)
def test_a_value_that_python_does_not_have(
    session: Any, value: str, message: str, fetches: tuple[str, ...]
) -> None:
    for fetch in fetches:
        with pytest.raises(acidsql.ExecutionError, match=message) as caught:
            getattr(session.execute(f"SELECT {value} AS v"), fetch)()
        assert "arrow()" in str(caught.value.hint)
    assert session.execute(f"SELECT {value} AS v").arrow().num_rows == 1


def test_a_map_of_structs_is_a_dict_of_rows(session: Any) -> None:
    assert session.execute("SELECT map(named_struct('x', 1), 2)").fetchall() == [({(1,): 2},)]

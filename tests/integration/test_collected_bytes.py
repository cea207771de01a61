"""What tasks bring to the driver is limited by its measured bytes, of whatever type they are."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidsql.engines.spark.arrow import to_arrow
from acidsql.engines.spark.computed import computed_rows, held_bytes
from acidsql.engines.spark.job import LEFT, collect_few, collect_rows, handed_out
from acidsql.engines.spark.row_size import rows_max
from acidsql.session.session import Session

WIDTH, SHARE = 50, 20_000
STRUCT = f"struct({', '.join(f'string(count({n}))' for n in range(1, 20))})"
"""More texts than are measured without a step of their own."""

BEYOND_MEMORY = """
import sys
from pathlib import Path
import acidsql
from pyarrow.orc import ORCFile

warehouse, size = sys.argv[1], int(sys.argv[2]) * 5000
values = ", ".join(f"({number})" for number in range(200))
with acidsql.connect(warehouse) as session:
    session.execute("CREATE TABLE t (k int, v string)")
    try:
        session.execute(f"INSERT INTO t SELECT a, repeat('x', {size}) FROM VALUES {values} AS t(a)")
    except acidsql.AcidSqlError:
        failed = True
    else:
        failed = False
files = list(Path(warehouse, "t").glob("delta_*/bucket_*"))
print(sum(ORCFile(str(file)).nrows for file in files))
assert failed != bool(files), (failed, files)
"""
"""Inserts 200 rows of so many megabytes, and prints how many rows the files have."""


def model(sizes: Sequence[int], rows_min: int) -> list[int]:
    """The places of the rows that one task hands out, by a running count for each class of size."""
    left: dict[int, int] = {}
    places = []
    for place, size in enumerate(sizes):
        beyond = size - 16
        above, rows = WIDTH, max(rows_min, SHARE // WIDTH)
        if beyond > WIDTH:
            above = WIDTH * 8
            while above < SHARE and beyond > above - WIDTH:
                above *= 8
            rows = SHARE // above if above < SHARE else 0
        if left.setdefault(above, rows) >= 0:
            places.append(place)
        left[above] -= 1
    return places


@pytest.mark.parametrize("rows_min", [0, 600])
def test_a_task_hands_out_its_share_of_each_size(spark: Any, rows_min: int) -> None:
    chance = random.Random(rows_min)
    sizes = [int(4 ** chance.uniform(0, 8)) for _ in range(2000)] + [3] * 1000
    rows = spark.createDataFrame(list(enumerate(sizes)), "place int, size int").coalesce(1)
    texts = rows.selectExpr("place", "repeat('é', size div 2) || if(size % 2 = 1, 'x', '') as s")
    handed = handed_out(texts, WIDTH, SHARE, rows_min).collect()
    computed = rows_max(WIDTH, SHARE, rows_min)
    assert computed < len(sizes), "so the task ends early"
    assert [row.place for row in handed] == model(sizes[:computed], rows_min)
    assert max(row[LEFT] for row in handed) == 0
    assert sum(len(row.s.encode()) for row in handed) < 8 * SHARE < sum(sizes)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "value",
    [
        "repeat('x', 50000)",
        "CAST(repeat('x', 50000) AS binary)",
        "array_repeat(repeat('x', 500), 100)",
        "array(CAST(NULL AS array<string>), array_repeat(repeat('x', 500), 100))",
        "sequence(1, 4000)",
        "map('k', repeat('x', 50000))",
        "named_struct('a b', named_struct('x', map(repeat('x', 50000), 1)))",
    ],
)
def test_large_values_of_every_type_are_measured(
    spark: Any, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 4 << 20)
    monkeypatch.setattr("acidsql.engines.spark.job.expected_bytes", lambda frame: 0)
    query = f"SELECT id, IF(id % 9 = 8, NULL, {value}) AS v FROM range({{rows}})"
    few = collect_rows(spark.sql(query.format(rows=10)), 2)
    assert few is not None
    assert few.column("id").to_pylist() == list(range(10))
    assert few.column_names == ["id", "v"]
    assert collect_rows(spark.sql(query.format(rows=1000)), 2) is None


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "value", ["count(*)", "string(count(*))", "array(string(count(*)))", STRUCT]
)
def test_a_column_of_the_query_is_brought_whatever_its_name(spark: Any, value: str) -> None:
    keys = "id % 2 AS __acidsql_beyond, id % 2 AS __ACIDSQL_LEFT"
    few = collect_few(spark.sql(f"SELECT {value} AS n, {keys} FROM range(10) GROUP BY id % 2"), 3)
    assert few is not None
    assert few.column_names == ["n", "__acidsql_beyond", "__ACIDSQL_LEFT"]
    assert sorted(few.column("__acidsql_beyond").to_pylist()) == [0, 1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("query", "ends"),
    [
        ("SELECT id, v FROM f WHERE id % 2 = 0 UNION ALL SELECT id, 'x' FROM range(5)", False),
        ("SELECT id, max(v) AS v FROM f GROUP BY id ORDER BY id", False),
        ("SELECT a.id, b.v FROM f a JOIN f b ON a.id % 2 = b.id % 2", True),
        ("SELECT explode(sequence(1, id)) AS id, v FROM f", True),
        ("SELECT id, concat('\nJoin ', v) AS v FROM f", True),
    ],
)
def test_a_task_ends_early_where_rows_may_have_become_many(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, ends: bool
) -> None:
    spark.range(1, 100).selectExpr("id", "'v' AS v").write.orc(str(tmp_path / "f"))
    spark.read.orc(str(tmp_path / "f")).createOrReplaceTempView("f")
    plans: list[str] = []

    def noted(frame: Any) -> Any:
        plans.append(frame._jdf.queryExecution().optimizedPlan().toString())
        return to_arrow(frame)

    monkeypatch.setattr("acidsql.engines.spark.job.to_arrow", noted)
    frame = spark.sql(query)
    found = collect_rows(frame, 2)
    spark.catalog.dropTempView("f")
    assert found is not None
    assert sorted(found.to_pylist(), key=str) == sorted(
        (r.asDict() for r in frame.collect()), key=str
    )
    assert ("LocalLimit" in plans[0]) == ends, plans[0]


def test_large_rows_are_written_by_tasks(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1 << 20)
    session.execute(
        "CREATE TABLE t (k int, v string) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute(
        "INSERT INTO t SELECT CAST(id AS int), repeat('x', 10000) FROM range(0, 200, 1, 2)"
    )
    assert len(session.execute("SELECT DISTINCT input_file_name() FROM t").fetchall()) == 2
    result = session.execute(
        "MERGE INTO t USING (SELECT CAST(2 * id AS int) AS k FROM range(200)) s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET v = repeat('y', 10000)"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, repeat('z', 20000))"
    )
    assert (result.rows_inserted, result.rows_updated) == (100, 100)
    found = session.execute("SELECT left(v, 1), length(v), count(*) FROM t GROUP BY ALL").fetchall()
    assert sorted(found) == [("x", 10000, 100), ("y", 10000, 100), ("z", 20000, 100)]
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_rows_that_spark_knows_without_a_job_are_measured(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark itself counts 20 bytes for each text."""
    values = ", ".join(f"({number})" for number in range(200))
    frame = spark.sql(f"SELECT a, repeat('x', 100000) AS v FROM VALUES {values} AS t(a)")
    size = held_bytes(frame)
    assert size is not None
    assert size > 20_000_000
    assert computed_rows(frame) is None
    found = collect_few(frame, 2)
    assert found is not None
    assert found.column("a").to_pylist() == list(range(200))
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 8 << 20)
    assert collect_few(frame, 2) is None
    few = spark.sql("SELECT a, 'x' AS v FROM VALUES (1), (2) AS t(a)")
    rows = computed_rows(few)
    assert rows is not None
    assert rows.to_pydict() == {"a": [1, 2], "v": ["x", "x"]}
    assert held_bytes(spark.range(3).toDF("a")) is None


@pytest.mark.thorough
@pytest.mark.parametrize("megabytes", [60, 500])
def test_rows_beyond_javas_memory_are_written_or_an_error(tmp_path: Path, megabytes: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEYOND_MEMORY, str(tmp_path / "w"), str(megabytes)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() in (["0"], ["200"]), done.stdout

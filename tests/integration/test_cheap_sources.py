"""MERGE from large sources that it reads twice: for their keys, and to join them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acidsql.engines.spark import merge_candidates
from acidsql.errors import ExecutionError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
CHANGE = (
    "ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v)"
    " VALUES (s.k, s.v)"
)
ROWS = 5_000


@pytest.fixture
def table(session: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A table t with the keys below `ROWS`. No source is small."""
    monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
    session.execute(f"INSERT INTO t SELECT int(id), 'old' FROM range({ROWS})")
    return session


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The sources that are moved by their keys before they are joined."""
    found: list[object] = []
    move = merge_candidates.moved

    def noted(frame: Any, *others: Any) -> Any:
        found.append(frame)
        return move(frame, *others)

    monkeypatch.setattr(merge_candidates, "moved", noted)
    return found


def as_files(form: str) -> Callable[[Any, Path], Any]:
    def write(rows: Any, directory: Path) -> Any:
        rows.write.format(form).save(str(directory / form))
        return rows.sparkSession.read.format(form).schema(rows.schema).load(str(directory / form))

    return write


def cached(rows: Any, directory: Path) -> Any:
    return as_files("orc")(rows, directory).cache()


LONG = pytest.mark.thorough


@pytest.mark.parametrize(
    ("make", "query", "is_moved"),
    [
        (as_files("parquet"), "(SELECT k + 0 AS k, v FROM s WHERE v <> 'x')", False),
        pytest.param(as_files("orc"), "s", False, marks=LONG),
        pytest.param(cached, "s", False, marks=LONG),
        pytest.param(
            as_files("orc"), "(SELECT * FROM s UNION ALL SELECT k + 9000, v FROM s)", False,
            marks=LONG,
        ),
        pytest.param(as_files("csv"), "s", True, marks=LONG),
        pytest.param(
            as_files("orc"), "(SELECT k, max(v) AS v FROM s GROUP BY k)", True, marks=LONG,
        ),
        pytest.param(
            as_files("orc"), "(SELECT * FROM s WHERE k IN (SELECT k FROM t) OR v = 'new')", True,
            marks=LONG,
        ),
        # Its rows are computed once, so that a second look costs little.
        pytest.param(
            as_files("orc"), "(SELECT k, v || round(rand()) AS v FROM s)", False, marks=LONG,
        ),
    ],
)  # fmt: skip
def test_a_source_is_moved_by_its_keys_unless_it_is_read_from_files(
    table: Session,
    spark: Any,
    tmp_path: Path,
    moved: list[object],
    make: Callable[[Any, Path], Any],
    query: str,
    is_moved: bool,
) -> None:
    rows = spark.range(ROWS - 10, ROWS + 20).selectExpr("int(if(id % 15 = 7, null, id)) AS k")
    table.register("s", make(rows.selectExpr("k", "'new' AS v"), tmp_path))
    keys = [row[0] for row in table.execute(f"SELECT k FROM {query} AS s").fetchall()]
    result = table.execute(f"MERGE INTO t USING {query} AS s {CHANGE}")
    matched = [key for key in keys if key is not None and key < ROWS]
    assert (result.rows_updated, result.rows_inserted) == (len(matched), len(keys) - len(matched))
    assert bool(moved) == is_moved
    found = table.execute("SELECT k FROM t WHERE v LIKE 'new%'").fetchall()
    assert sorted(map(str, found)) == sorted(str((key,)) for key in keys)
    assert table.execute("SELECT count(*) FROM t WHERE v = 'old'").fetchall() == [
        (ROWS - len(matched),)
    ]


def test_a_table_with_deletes_is_read_twice(table: Session, moved: list[object]) -> None:
    table.execute(f"CREATE TABLE s (k int, v string) {ACID}")
    table.execute(f"INSERT INTO s SELECT int(id), uuid() FROM range({ROWS - 1000}, {ROWS + 1000})")
    table.execute("DELETE FROM s WHERE k % 4 = 1")
    result = table.execute(f"MERGE INTO t USING s {CHANGE}")
    assert (result.rows_updated, result.rows_inserted) == (750, 750)
    assert not moved
    both = "SELECT count(*), count(DISTINCT t.k) FROM t JOIN s ON t.k = s.k AND t.v = s.v"
    assert table.execute(both).fetchall() == [(1500, 1500)]


def test_a_source_that_changes_meanwhile_is_an_error(
    table: Session, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys that come would miss their matches in the table, and be inserted beside them."""

    def write(first: int, name: str) -> Path:
        rows = spark.range(first, first + 100).selectExpr("int(id) AS k", "'new' AS v")
        rows.coalesce(1).write.option("compression", "none").parquet(str(tmp_path / name))
        return next((tmp_path / name).glob("*.parquet"))

    before, after = write(100, "s"), write(2_000, "other")
    assert before.stat().st_size == after.stat().st_size, "Spark must read the new file as the old"
    table.register("s", spark.read.parquet(str(tmp_path / "s")))
    words_of = merge_candidates._words_of

    def changed_behind(*arguments: Any) -> Any:
        words = words_of(*arguments)
        shutil.copy(after, before)
        shutil.copy(after.with_name(f".{after.name}.crc"), before.with_name(f".{before.name}.crc"))
        return words

    monkeypatch.setattr(merge_candidates, "_words_of", changed_behind)
    with pytest.raises(ExecutionError, match="rows of the source changed") as caught:
        table.execute(f"MERGE INTO t USING s {CHANGE}")
    assert caught.value.hint == "Run the statement again."
    assert table.execute("SELECT count(*), min(v), max(v) FROM t").fetchall() == [
        (ROWS, "old", "old")
    ]

"""WITH SCHEMA EVOLUTION beside a model in Python, two sessions at once, and what may go wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import acidsql
from acidsql import Session
from acidsql.errors import AnalysisError, InvalidValueError, UnsupportedStatementError
from acidsql.execution.result import summary

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
NAMES = ("a", "b", "c", "d", "e")
Row = dict[str, Any]


def _make(session: Session, name: str, columns: str = "id int, a int") -> None:
    session.execute(f"CREATE TABLE {name} ({columns}) {ACID}")


def _columns(session: Session, name: str) -> list[str]:
    return session.execute(f"SELECT * FROM {name}").columns


def _rows(session: Session, name: str) -> list[Any]:
    return sorted(session.execute(f"SELECT * FROM {name}").fetchall(), key=repr)


class Model:
    """A table whose columns grow: one dict for each row."""

    def __init__(self, columns: list[str], rows: list[Row]) -> None:
        self.columns, self.rows = columns, rows

    def widen(self, found: list[str]) -> None:
        self.columns += [name for name in found if name not in self.columns]

    def insert(self, row: Mapping[str, Any]) -> None:
        self.rows.append(dict(row))

    def merge(self, found: list[str], rows: list[Row]) -> None:
        """``SET *`` and ``INSERT *`` by the column id."""
        self.widen(found)
        for row in rows:
            matches = [own for own in self.rows if own["id"] == row["id"]]
            for own in matches:
                own.update(row)
            if not matches:
                self.insert(row)

    def tuples(self) -> list[Any]:
        return sorted((tuple(map(row.get, self.columns)) for row in self.rows), key=repr)


def _source(rng: random.Random) -> tuple[list[str], list[Row], str]:
    """Some columns in any order, rows of them, and a query that gives these rows."""
    names = ["id", *rng.sample(NAMES, rng.randint(0, len(NAMES)))]
    rng.shuffle(names)
    keys = rng.sample(range(6), rng.randint(1, 3))
    rows = [{n: key if n == "id" else rng.choice([None, rng.randint(0, 99)]) for n in names}
            for key in keys]  # fmt: skip
    values = ["(" + ", ".join(f"CAST({_sql(row[n])} AS int)" for n in names) + ")" for row in rows]
    spelled = [rng.choice([n, n.upper()]) for n in names]
    text = f"SELECT * FROM (VALUES {', '.join(values)}) AS q ({', '.join(spelled)})"
    return names, rows, text


def _sql(value: int | None) -> str:
    return "NULL" if value is None else str(value)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 8))]
)
def test_statements_on_tables_of_random_columns_do_what_a_model_does(session: Session, seed: int):
    rng = random.Random(seed)
    _make(session, "t")
    model = Model(["id", "a"], [])
    for _ in range(4):
        names, rows, query = _source(rng)
        before = list(model.columns)
        if rng.random() < 0.6:
            model.merge(names, rows)
            result = session.execute(
                f"MERGE WITH SCHEMA EVOLUTION INTO t USING ({query}) AS s ON t.id = s.id"
                " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )
        else:
            model.widen(names)
            for row in rows:
                model.insert(row)
            result = session.execute(f"INSERT WITH SCHEMA EVOLUTION INTO t BY NAME {query}")
        assert result.columns_added == model.columns[len(before) :]
        assert _columns(session, "t") == model.columns
        assert _rows(session, "t") == model.tuples()


def test_the_result_names_the_columns(session: Session, spark: Any):
    _make(session, "t")
    session.register(
        "news", spark.createDataFrame([(1, "x", 2.5)], "id int, `Odd name` string, f double")
    )
    result = session.execute(
        "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT * FROM news WHERE f > :least) AS s"
        " ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
        {"least": 1},
    )
    assert result.columns_added == ["odd name", "f"]
    assert summary(result).startswith("1 row inserted, 2 columns added: odd name, f (txn ")
    assert _rows(session, "t") == [(1, None, "x", 2.5)]


def test_new_columns_have_the_types_of_create_table_as(session: Session):
    kinds = (
        "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(7,3)",
        "string", "char(4)", "varchar(5)", "binary", "date", "timestamp",
        "timestamp with local time zone", "array<map<int,varchar(3)>>", "struct<x:int,y:timestamp>",
    )  # fmt: skip
    _make(session, "s", ", ".join(["id int", *(f"c{n} {kind}" for n, kind in enumerate(kinds))]))
    session.execute(f"CREATE TABLE expected {ACID} AS SELECT * FROM s")
    for name, text in {
        "m": "MERGE WITH SCHEMA EVOLUTION INTO m USING s ON m.id = s.id"
        " WHEN MATCHED THEN UPDATE SET *",
        "i": "INSERT WITH SCHEMA EVOLUTION INTO i SELECT * FROM s",
    }.items():
        _make(session, name, "id int")
        session.execute(text)
        told = session.execute(f"DESCRIBE {name}").fetchall()
        assert told == session.execute("DESCRIBE expected").fetchall()


def test_a_failed_statement_leaves_columns_and_no_rows(session: Session):
    _make(session, "t")
    with pytest.raises(InvalidValueError, match="stop here"):
        session.execute(
            "INSERT WITH SCHEMA EVOLUTION INTO t BY NAME"
            " SELECT id, IF(id < 90, id, raise_error('stop here')) AS n FROM range(100) AS r (id)"
        )
    assert _columns(session, "t") == ["id", "a", "n"]
    assert _rows(session, "t") == []
    session.execute("INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 1 AS id, 2L AS n")
    assert _rows(session, "t") == [(1, None, 2)]


def test_two_sessions_that_bring_the_same_column_both_write_their_rows(
    session: Session, warehouse: Any, spark: Any
):
    _make(session, "t")
    session.execute("INSERT INTO t VALUES (1, 1)")
    reading = session.execute("SELECT * FROM t")
    frame = reading.df  # its lock keeps both sessions from adding columns
    others = [acidsql.connect(warehouse, spark=spark) for _ in range(2)]
    try:
        with ThreadPoolExecutor(2) as threads:
            writes = [
                threads.submit(
                    other.execute,
                    f"INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT {n} AS id, {n} AS n",
                )
                for n, other in enumerate(others, 10)
            ]
            _wait_for_locks(session, writes)
            assert frame.count() == 1
            reading.close()
            added = [write.result().columns_added for write in writes]
    finally:
        for other in others:
            other.close()
    assert sorted(added) == [[], ["n"]]
    assert _rows(session, "t") == [(1, 1, None), (10, None, 10), (11, None, 11)]


def _wait_for_locks(session: Session, writes: Sequence[Future[Any]]) -> None:
    """Return once each of the writes waits for a lock."""
    while [row[4] for row in session.execute("SHOW LOCKS")].count("WAITING") < len(writes):
        assert not any(write.done() for write in writes)


def test_a_source_that_changes_before_it_is_read_loses_no_column(session: Session, spark: Any):
    """The frame gets a column between the look at its columns and the write."""
    _make(session, "t")
    session.register("news", spark.createDataFrame([(1, 2)], "id int, n int"))
    engine, write = session._engine, session._engine.write

    def change_first(*arguments: Any) -> Any:
        session.register("news", spark.createDataFrame([(1, 2, 3)], "id int, n int, m int"))
        return write(*arguments)

    engine.write = change_first
    merge = (
        "MERGE WITH SCHEMA EVOLUTION INTO t USING news ON t.id = news.id"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    with pytest.raises(AnalysisError, match='columns of the source "news" changed'):
        session.execute(merge)
    del engine.write
    assert _rows(session, "t") == []
    assert session.execute(merge).columns_added == ["m"]
    assert _rows(session, "t") == [(1, None, 2, 3)]


def test_without_autocommit_no_column_is_added(session: Session):
    _make(session, "t")
    session.execute("SET AUTOCOMMIT FALSE")
    with pytest.raises(UnsupportedStatementError, match="in a transaction: n"):
        session.execute("INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 1 AS id, 1 AS n")
    session.execute("ROLLBACK")
    assert _columns(session, "t") == ["id", "a"]

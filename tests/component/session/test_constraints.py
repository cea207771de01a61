"""Constraints where no Spark is needed: literals, rows that Python has, streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acidsql
from acidsql.errors import (
    ConstraintViolationError,
    SerializationError,
    StreamingConnectionError,
    StreamingError,
    UnsupportedStatementError,
)
from acidsql.model.constraint import ConstraintKind
from acidsql.model.names import TableName
from acidsql.streaming import StreamingConnection
from tests.checks import check_table

CREATE = (
    "CREATE TABLE t (id int CONSTRAINT nn NOT NULL, v string DEFAULT 'none',"
    " n decimal(5,2) DEFAULT 1.256) PARTITIONED BY (p int)"
)
N = Decimal("1.26")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[acidsql.Session]:
    with acidsql.connect(tmp_path / "warehouse", metastore="memory:") as session:
        session.execute(CREATE)
        yield session


def rows(session: acidsql.Session) -> list[tuple[Any, ...]]:
    return sorted(check_table(session._store, TableName("default", "t")), key=str)


def test_literals_get_defaults_and_keep_not_null(session: acidsql.Session) -> None:
    session.execute("INSERT INTO t (id, p) VALUES (1, 7), (2, 7)")
    session.execute("INSERT INTO t VALUES (3, DEFAULT, NULL, 7)")
    found = rows(session)
    with pytest.raises(ConstraintViolationError) as caught:
        session.execute("INSERT INTO t (p, id) VALUES (7, 4),\n  (7, NULL)")
    assert (caught.value.line, caught.value.column) == (2, 7)
    assert caught.value.constraint == "nn"
    with pytest.raises(ConstraintViolationError, match=r"default\.t cannot be null"):
        session.execute("INSERT INTO t (v, p) VALUES ('x', 7)")
    assert rows(session) == found
    assert [row[-4:] for row in found] == [
        (1, "none", N, "7"), (2, "none", N, "7"), (3, "none", None, "7"),
    ]  # fmt: skip


def test_rows_of_python_do_the_same(session: acidsql.Session) -> None:
    session.insert("t", [{"id": 1, "p": 7}, {"id": 2, "p": 8}])
    session.insert(
        "t", pa.table({"ID": [3], "V": pa.array([None], pa.string())}), partition={"p": 9}
    )
    found = rows(session)
    for bad in ([{"v": "x", "p": 7}], [{"id": 4, "p": 7}, {"id": None, "p": 8}]):
        with pytest.raises(ConstraintViolationError, match=r'"id" of default\.t cannot be null'):
            session.insert("t", bad)
    assert rows(session) == found
    assert [row[-4:] for row in found] == [
        (1, "none", N, "7"), (2, "none", N, "8"), (3, None, N, "9"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 3])
def test_a_stream_rejects_a_null_that_may_not_be(session: acidsql.Session, size: int) -> None:
    """The record, and no other one: the connection goes on."""
    builder = StreamingConnection.builder().table("t").transaction_batch_size(size)
    with builder.connect(session) as connection:
        connection.begin_transaction()
        connection.write([{"id": 1, "v": "a", "n": None, "p": 7}])
        connection.commit_transaction()
        connection.begin_transaction()
        bad = {"id": None, "v": "b", "n": N, "p": 8}
        with pytest.raises(SerializationError, match='record 2, column "id": it must not be null'):
            connection.write([{"id": 2, "v": "b", "n": None, "p": 7}, bad])
        connection.commit_transaction()
    assert [row[-4:] for row in rows(session)] == [(1, "a", None, "7"), (2, "b", None, "7")]


def test_a_constraint_that_is_added_meanwhile_ends_a_stream(session: acidsql.Session) -> None:
    with StreamingConnection.builder().table("t").connect(session) as connection:
        session.execute("ALTER TABLE t ALTER COLUMN v SET NOT NULL")
        with pytest.raises(StreamingError, match=r"default\.t was altered"):
            connection.begin_transaction()


def test_what_only_spark_can_do_is_refused(session: acidsql.Session) -> None:
    store = session._store
    session.execute("ALTER TABLE t ALTER COLUMN v DROP DEFAULT")
    table = store.table(TableName("default", "t"))
    default = "ALTER TABLE t ALTER COLUMN v SET DEFAULT {}"
    session.execute(default.format("'plain'"))
    session.insert("t", [{"id": 1, "p": 7}])
    (constraint,) = (c for c in store.table(table.name).constraints if c.text == "'plain'")
    computed = replace(constraint, text="upper('x')")
    store.alter_table(replace(table, constraints=(computed,)))
    with pytest.raises(UnsupportedStatementError, match='the DEFAULT of column "v"'):
        session.insert("t", [{"id": 2, "p": 7}])
    session.insert("t", [{"id": 2, "v": "given", "p": 7}])
    assert [row[-4:-1] for row in rows(session)] == [(1, "plain", N), (2, "given", None)]
    check = replace(constraint, kind=ConstraintKind.CHECK, text="id > 0", columns=("id",))
    store.alter_table(replace(table, constraints=(check,)))
    with pytest.raises(UnsupportedStatementError, match="which only Spark can check"):
        session.insert("t", [{"id": 3, "p": 7}])
    with pytest.raises(StreamingConnectionError, match="CHECK constraint"):
        StreamingConnection.builder().table("t").connect(session)

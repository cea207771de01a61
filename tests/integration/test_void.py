"""Columns of type void, which no DDL makes: tables come by them from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import AcidSqlError, InvalidValueError
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.table import Bucketing, Column, FileFormat, Table
from acidsql.model.types import parse_type
from acidsql.orc.writer import EventWriter
from acidsql.session.session import Session

COLUMNS = tuple(
    Column(name, parse_type(kind)) for name, kind in (("k", "int"), ("v", "void"), ("s", "string"))
)


@pytest.fixture
def table(session: Session, warehouse: Path) -> str:
    """A full-ACID table with a void column, as a store that others share may know it."""
    name = TableName("default", "t")
    parameters = {"transactional": "true"}
    session._store.create_table(Table(name, COLUMNS, str(warehouse / "t"), parameters=parameters))
    (warehouse / "t").mkdir()
    return str(warehouse / "t")


def test_dml_and_compaction_keep_the_column(session: Session, table: str) -> None:
    session.execute("INSERT INTO t VALUES (1, NULL, 'a'), (2, NULL, 'b')")
    session.execute("INSERT INTO t (k, s) SELECT k + 2, s FROM t")
    session.execute("UPDATE t SET s = 'x' WHERE v IS NULL AND k = 1")
    session.execute("UPDATE t SET v = NULL WHERE k = 2")
    session.execute("DELETE FROM t WHERE k = 3")
    session.execute(
        "MERGE INTO t USING (SELECT explode(array(4, 5)) AS k) s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET s = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.k, NULL, 'i')"
    )
    rows = [(1, None, "x"), (2, None, "b"), (4, None, "m"), (5, None, "i")]
    for kind in ("minor", "major"):
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == rows
        session.execute(f"ALTER TABLE t COMPACT '{kind}' AND WAIT")
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == rows
    assert session.execute("CHECK TABLE t").fetchall() == []
    texts = session.execute("SELECT coalesce(v, 'none') FROM t WHERE k = 1").fetchall()
    assert texts == [("none",)]


@pytest.mark.thorough
def test_rows_that_move_keep_the_column(session: Session, warehouse: Path) -> None:
    name, buckets = TableName("default", "b"), Bucketing(("k",), 2)
    parameters = {"transactional": "true"}
    session._store.create_table(
        Table(name, COLUMNS, str(warehouse / "b"), bucketing=buckets, parameters=parameters)
    )
    (warehouse / "b").mkdir()
    session.execute("SET acidsql.allow.row.movement = true")
    session.execute("INSERT INTO b VALUES (1, NULL, 'a'), (2, NULL, 'b')")
    session.execute("UPDATE b SET k = k + 10 WHERE k = 1")
    session.execute(
        "MERGE INTO b USING (SELECT 2 AS k) s ON b.k = s.k WHEN MATCHED THEN UPDATE SET k = 20"
    )
    assert sorted(session.execute("SELECT * FROM b").fetchall()) == [
        (11, None, "a"), (20, None, "b"),
    ]  # fmt: skip
    assert session.execute("CHECK TABLE b").fetchall() == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize("value", ["'x'", "1", "true"])
def test_no_value_goes_into_it(session: Session, table: str, value: str) -> None:
    session.execute("INSERT INTO t VALUES (1, NULL, 'a')")
    for sql in (f"INSERT INTO t VALUES (2, {value}, 'b')", f"UPDATE t SET v = {value}"):
        with pytest.raises(AcidSqlError):
            session.execute(sql)
    assert session.execute("SELECT * FROM t").fetchall() == [(1, None, "a")]


def test_files_hold_anything_or_nothing_in_its_place(session: Session, tmp_path: Path) -> None:
    kinds = {"bigint": [7], "array<string>": [["x"]], "boolean": [True]}
    for write_id, (kind, values) in enumerate(kinds.items(), 1):
        delta = tmp_path / "r" / f"delta_000000{write_id}_000000{write_id}_0000"
        delta.mkdir(parents=True)
        columns = (Column("k", parse_type("int")), Column("v", parse_type(kind)))
        with EventWriter(str(delta / "bucket_00000"), columns) as writer:
            rows = pa.record_batch({"k": pa.array([write_id]), "v": pa.array(values)})
            writer.write_inserts(rows, WriteId(write_id), 1 << 29)
    for schema in ("k int, v void", "k int, x void", "k int, v void, w void"):
        frame = session.read_acid(str(tmp_path / "r"), schema=schema)
        assert dict(frame.dtypes[1:]) == dict.fromkeys(frame.columns[1:], "void")
        nulls = (None,) * (len(frame.columns) - 1)
        assert sorted(tuple(r) for r in frame.collect()) == [(k, *nulls) for k in (1, 2, 3)]
    alone = session.read_acid(str(tmp_path / "r"), schema="x void", row_id=True)
    assert sorted((r[0][0], r[1]) for r in alone.collect()) == [(1, None), (2, None), (3, None)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("format", list(FileFormat))
@pytest.mark.parametrize("kind", ["plain", "insert_only"])
def test_other_kinds_of_tables(
    session: Session, warehouse: Path, format: FileFormat, kind: str
) -> None:
    acid = {"transactional": "true", "transactional_properties": "insert_only"}
    session._store.create_table(
        Table(
            TableName("default", "o"), COLUMNS, str(warehouse / "o"), format=format,
            parameters={} if kind == "plain" else acid,
        )
    )  # fmt: skip
    (warehouse / "o").mkdir()
    session.execute("INSERT INTO o VALUES (1, NULL, 'a')")
    session.execute("INSERT INTO o SELECT k + 1, v, s FROM o")
    if kind == "insert_only":
        session.execute("ALTER TABLE o COMPACT 'major' AND WAIT")
    assert sorted(session.execute("SELECT * FROM o").fetchall()) == [(1, None, "a"), (2, None, "a")]


def test_the_writer_takes_nothing_else(tmp_path: Path) -> None:
    rows = pa.record_batch({"k": pa.array([1]), "v": pa.array([True]), "s": pa.array(["x"])})
    writer = EventWriter(str(tmp_path / "f"), COLUMNS)
    with pytest.raises(InvalidValueError, match="nothing but NULL"):
        writer.write_inserts(rows, WriteId(1), 1 << 29)
    writer.discard()

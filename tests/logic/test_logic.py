"""Runs every logic test file; ACIDSQL_REWRITE_GOLDENS=1 rewrites what it expects.

After every record no transaction may be open, no lock be held and no committed write be lost, and
after an error every file must be as it was before.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.layout.dir_names import METADATA_FILE, VERSION_FILE
from acidsql.model.names import TableName
from acidsql.session.session import Session
from tests.checks import lost_writes
from tests.logic.records import (
    Record,
    backends,
    has_longer,
    is_for_each,
    read_records,
    rewrite,
)

HERE = Path(__file__).parent
REWRITE = os.environ.get("ACIDSQL_REWRITE_GOLDENS") == "1"
WAREHOUSE = "<warehouse>"
TYPES: dict[str, type | tuple[type, ...]] = {
    "I": int,
    "R": (float, Decimal),
    "T": str,
    "B": bool,
    "D": datetime.date,
    "S": datetime.datetime,
    "X": (tuple, list, dict, bytes, bytearray),
}
"""The letters of ``query``: what Python type the values of a column have."""


def files() -> Iterator[Any]:
    """Every file on its stores; in what is not `thorough` they take turns, with the short form."""
    for number, path in enumerate(sorted(HERE.glob("*.slt"))):
        # The metastore is what tests/integration/hive has.
        stores = [backend for backend in backends(path) if backend != "metastore"]
        turn = stores[number % len(stores)]
        for store in stores:
            is_short = store == turn or is_for_each(path)
            if is_short:
                yield pytest.param(path, store, False, id=f"{path.stem}-{store}")
            if not is_short or has_longer(path):
                marks = pytest.mark.thorough
                yield pytest.param(path, store, True, id=f"{path.stem}-{store}-whole", marks=marks)


@pytest.fixture
def metastore(request: pytest.FixtureRequest, backend: str) -> str | None:
    """The URL of an empty store."""
    match backend:
        case "memory":
            return "memory:"
        case "sqlite":
            return None
        case "postgres":
            url: str = request.getfixturevalue("postgres").fresh()
            return url
    raise AssertionError(backend)


@pytest.mark.parametrize(("path", "backend", "whole"), list(files()))
def test_file(
    path: Path, metastore: str | None, warehouse: Path, spark: Any, *, whole: bool
) -> None:
    with acidsql.connect(warehouse, metastore=metastore, spark=spark) as session:
        run_file(path, session, warehouse, whole=whole)


def run_file(path: Path, session: Session, warehouse: Path, *, whole: bool = True) -> None:
    """The records of a file, over an empty store."""
    answers = {}
    runner = Runner(session, warehouse)
    for record in read_records(path, whole=whole):
        before = file_sizes(warehouse)
        directive, rows = runner.run(record)
        if directive.startswith("statement error"):
            assert file_sizes(warehouse) == before, f"{record.place}: files are left over"
        left = open_transactions(session)
        assert len(left) == session.in_transaction, f"{record.place}: a transaction is left"
        locks = session.execute("SHOW LOCKS").fetchall()
        assert session.in_transaction or not locks, f"{record.place}: a lock is left"
        assert session.in_transaction or lost(session) == [], f"{record.place}: a write is lost"
        if REWRITE:
            answers[record.first] = (directive, rows)
        else:
            assert (directive, *rows) == (record.directive, *record.expected), record.place
    if REWRITE:
        rewrite(path, answers)


def lost(session: Session) -> list[Any]:
    """The committed writes of which no directory is left, of every table."""
    store = session._store
    names = [TableName(d, t) for d in store.databases() for t in store.tables(d)]
    return [found for name in names for found in lost_writes(store, name)]


class Runner:
    """Carries out records against a session; answers with the record as it should read."""

    def __init__(self, session: Session, warehouse: Path) -> None:
        self.session = session
        self.warehouse = warehouse

    def run(self, record: Record) -> tuple[str, tuple[str, ...]]:
        words = record.directive.split(" ", 2)
        match words:
            case ["clean", *_]:
                return f"clean {self.session.run_cleaner()}", ()
            case ["worker", _, pool]:
                return f"worker {self.session.run_worker(pool)} {pool}", ()
            case ["worker", *_]:
                return f"worker {self.session.run_worker()}", ()
            case ["copy", source, target]:
                shutil.copytree(self.warehouse / source, self.warehouse / target)
                return record.directive, ()
            case ["layout", *name]:
                return record.directive, tuple(self._layout(" ".join(name)))
            case ["statement", "ok"]:
                self._execute(record)
                return record.directive, ()
            case ["statement", "count", *_]:
                return f"statement count {self._count(record)}", ()
            case ["statement", "error", *pattern]:
                return f"statement error {self._error(record, ' '.join(pattern))}", ()
            case ["query", types, sort]:
                return record.directive, tuple(self._query(record, types, sort))
        raise AssertionError(f"{record.place}: no directive: {record.directive}")

    def _execute(self, record: Record) -> acidsql.Result:
        sql = record.sql.replace(WAREHOUSE, str(self.warehouse))
        try:
            return self.session.execute(sql)
        except AcidSqlError as error:
            raise AssertionError(f"{record.place}: {error}") from error

    def _count(self, record: Record) -> int:
        result = self._execute(record)
        counts = (result.rows_inserted, result.rows_updated, result.rows_deleted)
        assert None not in counts, f"{record.place}: the statement counts no rows"
        return sum(counts)

    def _error(self, record: Record, pattern: str) -> str:
        sql = record.sql.replace(WAREHOUSE, str(self.warehouse))
        with pytest.raises(AcidSqlError) as caught:
            # Rows are asked for, because a query may fail only then.
            self.session.execute(sql).fetchall()
        text = str(caught.value).replace(str(self.warehouse), WAREHOUSE)
        if re.search(pattern, text) is not None and pattern:
            return pattern
        return escaped(text.split("\n", 1)[0])

    def _query(self, record: Record, types: str, sort: str) -> Iterator[str]:
        result = self._execute(record)
        rows = result.fetchall()
        width = int(types) if types.isdigit() else len(types)
        assert len(result.columns) == width, f"{record.place}: {len(result.columns)} columns"
        if not types.isdigit():
            for row in rows:
                for letter, value in zip(types, row, strict=True):
                    assert has_type(value, letter), f"{record.place}: {value!r} is not {letter}"
        lines = [self._row(row) for row in rows]
        assert sort in ("nosort", "rowsort"), record.place
        yield from (sorted(lines) if sort == "rowsort" else lines)

    def _row(self, row: Sequence[object]) -> str:
        cells = [cell(value).replace(str(self.warehouse), WAREHOUSE) for value in row]
        spaced = any(" " in text for text in cells)
        return ("\t" if spaced else " ").join(cells)

    def _layout(self, name: str) -> Iterator[str]:
        """Each directory of a table with its bucket files, one line a directory.

        What Hadoop's local file system keeps beside them is passed over.
        """
        full = TableName.parse(name, self.session.database)
        table = self.session._store.find_table(full)
        assert table is not None, name
        found: dict[str, list[str]] = {}
        for path in sorted(Path(table.location).rglob("*")):
            beside = path.name in (VERSION_FILE, METADATA_FILE) or path.suffix == ".crc"
            if path.is_file() and not beside:
                directory = str(path.parent.relative_to(table.location))
                found.setdefault(directory, []).append(path.name)
        yield from (" ".join([directory, *files]) for directory, files in sorted(found.items()))


def cell(value: object) -> str:
    """One value as the files write it; nested values as JSON with the names of their fields."""
    match value:
        case None:
            return "NULL"
        case "":
            return "(empty)"
        case str():
            return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
        case bool():
            return str(value).lower()
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case tuple() | list() | dict():
            return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
        case Decimal():
            return f"{value:f}"
    return str(value)


def plain(value: Any) -> Any:
    """A nested value in the terms of JSON."""
    match value:
        case tuple() if hasattr(value, "asDict"):
            return {k: plain(v) for k, v in value.asDict().items()}
        case tuple() | list():
            return [plain(v) for v in value]
        case dict():
            return {cell(k): plain(v) for k, v in sorted(value.items())}
        case None | bool() | int() | float() | str():
            return value
    return cell(value)


def has_type(value: object, letter: str) -> bool:
    """Whether a value has the Python type of a letter; null has every type."""
    if value is None:
        return True
    if letter in "ID" and isinstance(value, bool | datetime.datetime):
        return False
    return isinstance(value, TYPES[letter])


def escaped(text: str) -> str:
    r"""A pattern for exactly this beginning of a text.

    >>> escaped("1:2: f(x) fails.")
    '^1:2: f\\(x\\) fails\\.'
    """
    return "^" + re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def open_transactions(session: Session) -> list[tuple[Any, ...]]:
    """The transactions that are neither committed nor aborted."""
    return [row for row in session.execute("SHOW TRANSACTIONS") if row[1] != "ABORTED"]


def file_sizes(directory: Path) -> dict[str, int]:
    """Every file of the tables below a warehouse, the store's own left out."""
    return {
        str(path.relative_to(directory)): path.stat().st_size
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith(".acidsql.db")
    }

"""A SQLite store in which bytes or values were changed: an error in our words, or right answers."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acidsql.backends.sqlite import SqliteStore
from acidsql.errors import AcidSqlError, CorruptFileError, StorageError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Bucketing, Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Partition
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockType,
    TxnType,
    WriteOperation,
)

pytestmark = pytest.mark.sqlite

T = TableName("default", "t")
UPDATE = [LockComponent(LockType.EXCL_WRITE, "default", "t", "p=1", WriteOperation.UPDATE)]
READ = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.SELECT)]
LONGEST_S = 60
"""Nothing here takes a second; what takes this long hangs."""

READS: list[Callable[[SqliteStore], object]] = [
    lambda store: store.show_txns(),
    lambda store: store.show_locks(),
    lambda store: store.show_compactions(),
    lambda store: store.ready_to_clean(),
    lambda store: store.valid_txns(),
    lambda store: store.valid_write_ids([T], store.valid_txns()),
    lambda store: store.writer_of(T, 1),
    lambda store: store.latest_txn_in_conflict(4),
    lambda store: store.aborted_writes(),
    lambda store: store.changed_places(),
    lambda store: store.databases(),
    lambda store: store.database("default"),
    lambda store: store.tables("default"),
    lambda store: store.table(T),
    lambda store: store.partitions(T),
    lambda store: store.partitions_for(store.table(T), ()),
]
WRITES: list[Callable[[SqliteStore], object]] = [
    lambda store: store.open_txns(2, "ann", "host1"),
    lambda store: store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE),
    lambda store: store.lock(4, READ, "ann", "host1"),
    lambda store: store.check_lock(1),
    lambda store: store.heartbeat(4),
    lambda store: store.heartbeat_txn_range(1, 9),
    lambda store: store.add_dynamic_partitions(4, 1, T, ["p=2"], WriteOperation.UPDATE),
    lambda store: store.commit_txn(4),
    lambda store: store.abort_txns([1, 2, 5]),
    lambda store: store.next_compaction("worker 1"),
    lambda store: store.mark_cleaned(1),
    lambda store: store.resolve_deadlocks(),
    lambda store: store.time_out_txns(),
    lambda store: store.trim(),
    lambda store: store.add_partitions(T, [Partition(PartitionName.parse("p=3"), "/w/t/p=3")]),
    lambda store: store.alter_table(store.table(T)),
    lambda store: store.drop_table(T),
]


def make(path: Path) -> None:
    """A store with something in every table."""
    with closing(SqliteStore(str(path), warehouse="/w", clock_ms=lambda: 1_000_000)) as store:
        columns = Column("a", parse_type("array<decimal(10,2)>")), Column("é", parse_type("int"))
        key = (Column("p", parse_type("int")),)
        kind = {"transactional": "true"}
        store.create_table(Table(T, columns, "/w/t", key, Bucketing(("é",), 2, 2), kind))
        store.add_partitions(T, [Partition(PartitionName.parse("p=1"), "/w/t/p=1")])
        for end in (store.commit_txn, store.abort_txn):
            opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE)
            end(opened.txn_id)
        compaction_id = store.compact(T, "p=1", CompactionType.MAJOR)
        store.next_compaction("worker 1")
        worker = store.open_txn("ann", "host1", TxnType.COMPACTION)
        store.compaction_started(compaction_id, worker, 2)
        store.mark_compacted(compaction_id)
        store.mark_refused(store.compact(T, None, CompactionType.MINOR), "why not")
        for _ in range(2):
            store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE)


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    def hangs(*_: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answers(path: Path) -> list[object]:
    """What every verb says, with the errors that a caller may meet."""
    with no_longer_than(LONGEST_S):
        try:
            store = SqliteStore(str(path), warehouse="/w", clock_ms=lambda: 1_000_000)
        except StorageError as error:
            assert str(path) in str(error)  # noqa: PT017 - or there is none
            return [error]
        with closing(store):
            return [answer(verb, store) for verb in (*READS, *WRITES)]


def answer(verb: Callable[[SqliteStore], object], store: SqliteStore) -> object:
    try:
        return verb(store)
    except StorageError as error:
        assert store._sql.path in str(error)  # noqa: PT017 - or there is none
        return error
    except AcidSqlError as error:
        return error


def content(path: Path) -> object:
    """What SQLite itself reads, and what it says of pages that this does not read: indexes."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            judged = connection.execute("PRAGMA integrity_check").fetchall()
            return judged, list(connection.iterdump())
    except (sqlite3.Error, ValueError, TypeError) as error:
        return type(error), str(error)


def texts(found: list[object]) -> list[str]:
    return [str(one) if isinstance(one, Exception) else repr(one) for one in found]


def mutated(data: bytes, seed: int) -> bytes:
    """Some bytes, a stretch, or the end, otherwise."""
    chosen = random.Random(seed)
    found = bytearray(data)
    match chosen.randrange(4):
        case 0:
            for _ in range(chosen.choice([1, 1, 2, 8])):
                found[chosen.randrange(len(found))] = chosen.randrange(256)
        case 1:
            at = chosen.randrange(len(found))
            length = chosen.choice([4, 64, 4096])
            found[at : at + length] = chosen.randbytes(len(found[at : at + length]))
        case 2:
            # Where pages say what they are, and where in them their cells stand.
            at = chosen.randrange(len(found) // 4096) * 4096 + chosen.randrange(120)
            found[at] ^= 1 << chosen.randrange(8)
        case _:
            del found[chosen.randrange(1, len(found)) :]
    return bytes(found)


def check(directory: Path, seeds: Iterable[int]) -> set[str]:
    """The kinds of outcomes that were met."""
    whole = directory / "whole.db"
    make(whole)
    copy = directory / "copy.db"
    met = set()
    shutil.copyfile(whole, copy)
    same = content(copy)
    expected = [text.replace(str(copy), "") for text in texts(answers(copy))]
    for seed in seeds:
        for end in ("-wal", "-shm"):
            Path(f"{copy}{end}").unlink(missing_ok=True)
        copy.write_bytes(mutated(whole.read_bytes(), seed))
        is_same = content(copy) == same
        found = answers(copy)
        met |= {type(one).__name__ for one in found if isinstance(one, StorageError)}
        if len(found) > 1 and is_same:
            assert [text.replace(str(copy), "") for text in texts(found)] == expected, (
                f"seed {seed}"
            )
            met.add("right")
    return met


def test_a_store_with_other_bytes(tmp_path: Path) -> None:
    # 1084: an index is damaged, no table. 1125: SQLite's own message is no UTF-8.
    assert {"CorruptFileError", "right"} <= check(tmp_path, [*range(120), 1084, 1125])


@pytest.mark.thorough
def test_a_store_with_other_bytes_often(tmp_path: Path) -> None:
    assert {"CorruptFileError", "right"} <= check(tmp_path, range(1_000, 6_000))


VALUES = (
    "x'ff80'",
    "'\u00e9'",
    "CAST(x'ff41' AS TEXT)",
    "9223372036854775807",
    "-1",
    "1e300",
    "''",
)


def columns_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1, 2"
        )
        return found.fetchall()


def test_a_store_with_other_values_in_any_column(tmp_path: Path) -> None:
    """Text that is none, numbers that are too large, and values of another type."""
    whole, copy = tmp_path / "whole.db", tmp_path / "copy.db"
    make(whole)
    columns = columns_of(whole)
    assert len(columns) > 90
    errors = set()
    for number, (table, column) in enumerate(columns):
        shutil.copyfile(whole, copy)
        value = VALUES[number % len(VALUES)]
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = on")
            connection.execute("PRAGMA foreign_keys = off")
            try:
                connection.execute(f'UPDATE {table} SET "{column}" = {value}')
            except sqlite3.IntegrityError:
                continue
            connection.commit()
        errors |= {type(one) for one in answers(copy) if isinstance(one, StorageError)}
    assert CorruptFileError in errors


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE TBLS SET LOCATION = CAST(x'ff41' AS TEXT)",
        "UPDATE COLUMNS_V2 SET TYPE_NAME = 'no<type'",
        "UPDATE NEXT_TXN_ID SET NTXN_NEXT = 'many'",
        "UPDATE NEXT_TXN_ID SET NTXN_NEXT = 9223372036854775807",
        "DELETE FROM NEXT_TXN_ID",
        "DELETE FROM NEXT_LOCK_ID",
        "UPDATE TXNS SET TXN_TYPE = 77",
        "UPDATE SDS SET STORED_AS = 'paper'",
        "UPDATE PARTITIONS SET PART_NAME = 'p'",
    ],
)
def test_what_no_store_holds_is_told_with_the_path(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "store.db"
    make(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = on")
        connection.execute(statement)
        connection.commit()
    found = [one for one in answers(path) if isinstance(one, StorageError)]
    assert found
    assert all(str(path) in str(one) for one in found)

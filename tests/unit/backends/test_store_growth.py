"""What a store keeps does not grow with the number of transactions, whatever becomes of them."""

import sqlite3
from contextlib import closing

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.background.aborted_writes import forget_aborted_writes
from acidsql.background.cleaner import run_cleaner
from acidsql.background.housekeeper import run_housekeeper
from acidsql.background.scope import BackgroundScope
from acidsql.errors import TxnAbortedError, TxnError, WriteConflictError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Partition
from acidsql.process.supervisor import Supervisor
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockType,
    Reached,
    TxnType,
    WriteOperation,
)
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import TxnOpener

POLICY = TxnPolicy(timeout_s=10)
T = TableName("default", "t")
TABLES = (
    "TXNS", "TXN_COMPONENTS", "COMPLETED_TXN_COMPONENTS", "TXN_TO_WRITE_ID", "NEXT_WRITE_ID",
    "WRITE_SET", "HIVE_LOCKS", "COMPACTION_QUEUE", "COMPLETED_COMPACTIONS", "MIN_HISTORY_LEVEL",
)  # fmt: skip
INSERT, UPDATE = WriteOperation.INSERT, WriteOperation.UPDATE


def lock(operation, partition=None, *, dynamic=False, table="t"):
    """Locks that nobody has to wait for: so that conflicts come at the commit."""
    return [
        LockComponent(LockType.SHARED_READ, "default", table, partition, operation, dynamic=dynamic)
    ]


def begin(store, locks, table=T):
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [table], locks)
    return opened.txn_id, opened.write_ids[table]


def insert(store):
    store.commit_txn(begin(store, lock(INSERT, "p=1"))[0])


def update(store):
    txn, write_id = begin(store, lock(UPDATE, dynamic=True))
    store.commit_txn(txn, [Reached(write_id, T, ["p=1", "p=2"], UPDATE)])


def nothing_matched(store):
    txn, write_id = begin(store, lock(UPDATE, dynamic=True))
    store.commit_txn(txn, [Reached(write_id, T, [], UPDATE)])


def partition_that_never_came(store):
    store.commit_txn(begin(store, lock(INSERT, dynamic=True))[0])


def abort(store):
    store.abort_txn(begin(store, lock(INSERT, "p=1"))[0])
    store.abort_txn(begin(store, lock(UPDATE, dynamic=True))[0])
    store.abort_txn(begin(store, lock(INSERT, "p=never"))[0])


def time_out(store):
    begin(store, lock(UPDATE, "p=2"))


def conflict(store):
    winner, loser = (begin(store, lock(UPDATE, "p=1"))[0] for _ in range(2))
    store.commit_txn(winner)
    with pytest.raises(WriteConflictError):
        store.commit_txn(loser)


def read(store):
    txn = store.open_locked("ann", "host1", TxnType.READ_ONLY, [], lock(WriteOperation.SELECT))
    store.commit_txn(txn.txn_id)


def id_without_a_write(store):
    txn = store.open_txn("ann", "host1")
    store.allocate_write_id(txn, T)
    store.abort_txn(txn)


def compact(store):
    compaction_id = store.compact(T, "p=1", CompactionType.MINOR)
    txn = store.open_txn("ann", "host1", TxnType.COMPACTION)
    store.next_compaction("worker 1")
    highest = store.valid_write_ids([T], store.valid_txns())[T].high_watermark
    store.compaction_started(compaction_id, txn, highest)
    store.mark_compacted(compaction_id)


def aborted_compaction(store):
    compaction_id = store.compact(T, "p=2", CompactionType.MAJOR)
    txn = store.open_txn("ann", "host1", TxnType.COMPACTION)
    store.next_compaction("worker 1")
    store.compaction_started(compaction_id, txn, 1)
    store.abort_txn(txn)
    store.mark_failed(compaction_id, "it failed")


def refused_compaction(store):
    store.mark_refused(store.compact(T, None, CompactionType.MAJOR), "nothing to do")


def dropped_and_renamed_tables(store):
    for name in ("made", "renamed"):
        table = TableName("default", name)
        store.create_table(made(table))
        for end in (store.commit_txn, store.abort_txn):
            end(begin(store, lock(INSERT, table=name), table)[0])
    store.drop_table(TableName("default", "made"))
    store.rename_table(TableName("default", "renamed"), made(TableName("default", "made")), [])
    store.drop_table(TableName("default", "made"))


def dropped_and_renamed_partitions(store):
    gone, moved = (PartitionName.parse(p) for p in ("p=gone", "p=moved"))
    store.add_partitions(T, [Partition(gone, "/w/gone")])
    for end in (store.commit_txn, store.abort_txn):
        end(begin(store, lock(UPDATE, "p=gone"))[0])
    store.rename_partition(T, gone, Partition(moved, "/w/moved"))
    store.drop_partitions(T, [moved])


OUTCOMES = (
    insert, update, nothing_matched, partition_that_never_came, abort, time_out, conflict, read,
    id_without_a_write, compact, aborted_compaction, refused_compaction,
    dropped_and_renamed_tables, dropped_and_renamed_partitions,
)  # fmt: skip


def made(name, location="/w/nothing"):
    column, key = (Column(c, parse_type("string")) for c in "ap")
    return Table(name, (column,), location, (key,))


@pytest.fixture
def count(request):
    """The rows of every table of a store that transactions write to."""

    def counted(store):
        match store:
            case MemoryStore():
                parts = (
                    store.txns, store.components, store.completed, store.next_write_ids,
                    store.write_set, store.locks, store.compactions, store.min_history,
                )  # fmt: skip
                return [*map(len, parts), sum(map(len, store.write_ids.values()))]
            case SqliteStore():
                with closing(sqlite3.connect(store._sql.path)) as other:
                    return [
                        other.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in TABLES
                    ]
            case _:
                query = request.getfixturevalue("postgres").execute
                return [query(f"SELECT COUNT(*) FROM acidsql.{t}")[0][0] for t in TABLES]

    return counted


def grow(store, clock, count, directory, *, rounds, each):
    """The rows that are there after each housekeeping, and how many transactions there were."""
    for partition in ("p=1", "p=2"):
        (directory / "t" / partition).mkdir(parents=True)
    store.create_table(made(T, str(directory / "t")))
    name = PartitionName.parse
    store.add_partitions(T, [Partition(name(p), f"{directory}/t/{p}") for p in ("p=1", "p=2")])
    supervisor, open_txn = Supervisor(), TxnOpener(store, "ann", "host1", POLICY)
    scope = BackgroundScope(store, store, LocalStorage(), open_txn, supervisor)
    found = []
    for _ in range(rounds):
        for _ in range(each):
            for outcome in OUTCOMES:
                outcome(store)
            run_cleaner(scope)
        # Some of it has to wait for transactions that time out first.
        for _ in range(2):
            clock.pass_s(11)
            run_housekeeper(scope)
            run_cleaner(scope)
            clock.pass_s(11)
            forget_aborted_writes(scope)
        clock.pass_s(11)
        run_housekeeper(scope)
        found.append(count(store))
    assert supervisor.failures == {}
    return found, store.valid_txns().high_watermark


def test_rows_do_not_grow_with_transactions(make_store, clock, count, tmp_path):
    found, _ = grow(make_store(POLICY), clock, count, tmp_path, rounds=3, each=4)
    assert found[1] == found[2]
    assert sum(found[2]) < 60


@pytest.mark.thorough
def test_rows_do_not_grow_with_very_many_transactions(make_store, clock, count, tmp_path):
    found, txns = grow(make_store(POLICY), clock, count, tmp_path, rounds=25, each=200)
    assert txns > 100_000
    assert {tuple(rows) for rows in found[1:]} == {tuple(found[1])}
    assert sum(found[-1]) < 60


def test_nothing_is_forgotten_of_what_may_still_be_at_work(store, clock):
    """Not of an open one, nor of one that was aborted just now, nor of another table."""
    opened, _ = begin(store, lock(INSERT))
    aborted, _ = begin(store, lock(INSERT))
    store.abort_txn(aborted)
    assert store.aborted_writes() == []
    clock.pass_s(301)
    assert [c.txn_id for c in store.aborted_writes()] == [aborted]
    store.forget_aborted(TableName("default", "other"), [aborted])
    store.forget_aborted(T, [opened])
    assert [c.txn_id for c in store.aborted_writes()] == [aborted]
    with pytest.raises(TxnAbortedError):
        store.commit_txn(aborted)
    store.forget_aborted(T, [aborted, opened])
    assert store.aborted_writes() == []
    store.abort_txn(opened)
    assert [c.txn_id for c in store.aborted_writes()] == [opened]


def test_the_last_compactions_of_each_place_and_kind_are_remembered(store, clock):
    for number in range(5):
        for place in ("p=1", "p=2"):
            store.mark_failed(store.compact(T, place, CompactionType.MINOR), f"reason {number}")
        store.mark_refused(store.compact(T, None, CompactionType.MINOR), f"reason {number}")
    store.trim()
    assert len(store.show_compactions()) == 15
    clock.pass_s(601)
    store.trim()
    left = [(c.partition, c.error_message) for c in reversed(store.show_compactions())]
    assert sorted(left, key=str) == sorted(
        [(place, f"reason {n}") for place in ("p=1", "p=2") for n in (2, 3, 4)]
        + [(None, f"reason {n}") for n in (3, 4)],
        key=str,
    )


def test_how_many_are_remembered_is_said_by_the_policy(make_store, clock):
    store = make_store(TxnPolicy(kept_succeeded=1, kept_failed=4, kept_attempted=0))
    for number in range(5):
        store.mark_failed(store.compact(T, None, CompactionType.MINOR), f"reason {number}")
        store.mark_refused(store.compact(T, None, CompactionType.MINOR), f"reason {number}")
    clock.pass_s(601)
    store.trim()
    left = [(c.state.word, c.error_message) for c in store.show_compactions()]
    assert left == [("failed", f"reason {n}") for n in (4, 3, 2, 1)]


@pytest.mark.parametrize(
    "operation", [o for o in WriteOperation if o not in (INSERT, UPDATE, WriteOperation.DELETE)]
)
def test_no_write_reaches_partitions_by_what_is_none(store, operation):
    txn, write_id = begin(store, lock(INSERT, dynamic=True))
    reached = Reached(write_id, T, ["p=1"], operation)
    for verb, arguments in (
        ("add_dynamic_partitions", (txn, write_id, T, ["p=1"], operation)),
        ("commit_txn", (txn, [reached])),
    ):
        with pytest.raises(TxnError, match=f"cannot reach partitions by {operation.name}"):
            getattr(store, verb)(*arguments)
    store.commit_txn(txn)

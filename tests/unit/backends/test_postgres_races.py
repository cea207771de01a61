"""Two verbs that meet on a server: the second one begins before the first one has committed.

The first is carried out, then the second until it waits or is done, then the first commits.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from acidsql.backends.postgres import PostgresStore
from acidsql.backends.relational.connection import Mode
from acidsql.errors import (
    AcidSqlError,
    CompactionRefusedError,
    NoSuchLockError,
    NoSuchTxnError,
    TableExistsError,
    TxnAbortedError,
    TxnError,
    WriteConflictError,
)
from acidsql.model.names import TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockState,
    LockType,
    Reached,
    TxnType,
    WriteOperation,
)
from acidsql.txn.policy import TxnPolicy

T, U = TableName("default", "t"), TableName("default", "u")
pytestmark = pytest.mark.postgres

MAJOR = CompactionType.MAJOR


@pytest.fixture
def url(postgres):
    return postgres.fresh()


@pytest.fixture
def store(url, clock):
    policy = TxnPolicy(timeout_s=10)
    with closing(PostgresStore(url, warehouse="/w", policy=policy, clock_ms=clock)) as store:
        yield store


@pytest.fixture
def meet(store, url, postgres):
    """What two verbs answer, and whether the second one waited for the first one."""

    def meet(first, second, mode=Mode.WRITING):
        with ThreadPoolExecutor(1) as pool:
            with store._sql.transaction(mode):
                mine = first()
                other = pool.submit(answer, second)
                waited = is_waiting(postgres, other)
            return mine, other.result(), waited

    return meet


def answer(verb):
    try:
        return verb()
    except AcidSqlError as error:
        return type(error)


def is_waiting(postgres, other):
    query = (
        "SELECT 1 FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND application_name = 'acidsql'"
    )
    while not other.done():
        if postgres.execute(query):
            return True
        time.sleep(0.005)
    return False


def begin(store, type=TxnType.DEFAULT):
    return store.open_txn("ann", "host1", type)


def lock(store, txn, kind=LockType.SHARED_WRITE, table=T, partition=None):
    component = LockComponent(kind, "default", table.table, partition, WriteOperation.UPDATE)
    return store.lock(txn, [component], "ann", "host1")


def table(name):
    return Table(name, (Column("a", parse_type("int")),), f"/w/{name.table}")


def test_of_commit_and_abort_the_first_one_counts(store, meet):
    txn = begin(store)
    done = meet(lambda: store.commit_txn(txn), lambda: store.abort_txn(txn))
    assert done == (None, NoSuchTxnError, True)
    assert store.valid_txns().is_valid(txn)


def test_of_abort_and_commit_the_first_one_counts(store, meet):
    txn = begin(store)
    done = meet(lambda: store.abort_txn(txn), lambda: store.commit_txn(txn))
    assert done == (None, TxnAbortedError, True)
    assert not store.valid_txns().is_valid(txn)


def test_two_commits_of_one_txn(store, meet):
    txn = begin(store)
    lock(store, txn)
    assert meet(lambda: store.commit_txn(txn), lambda: store.commit_txn(txn)) == (None, None, True)


def test_of_two_commits_in_conflict_one_wins(store, meet):
    a, b = begin(store), begin(store)
    for txn in (b, a):
        store.allocate_write_id(txn, T)
        lock(store, txn)
    done = meet(lambda: store.commit_txn(b), lambda: store.commit_txn(a))
    assert done == (None, WriteConflictError, True)


@pytest.mark.parametrize(
    "verb",
    [
        lambda store, txn: store.add_dynamic_partitions(txn, 1, T, ["p=1"], WriteOperation.UPDATE),
        lambda store, txn: lock(store, txn, partition="p=1"),
    ],
    ids=["add_dynamic_partitions", "lock"],
)
def test_what_is_recorded_as_a_commit_begins_counts(store, meet, verb):
    loser, winner = begin(store), begin(store)
    for txn in (loser, winner):
        store.allocate_write_id(txn, T)
    lock(store, winner, partition="p=1")
    store.commit_txn(winner)
    _, answered, waited = meet(lambda: verb(store, loser), lambda: store.commit_txn(loser))
    assert (answered, waited) == (WriteConflictError, True)


def test_commits_of_one_txn_with_and_without_partitions(store, meet):
    """Both take the same locks in the same order."""
    txn = begin(store)
    reached = [Reached(store.allocate_write_id(txn, T), T, ["p=1"], WriteOperation.UPDATE)]
    done = meet(lambda: store.commit_txn(txn, reached), lambda: store.commit_txn(txn))
    assert done == (None, None, True)


def test_commits_of_inserts_do_not_wait(store, meet):
    a, b = begin(store), begin(store)
    assert meet(lambda: store.commit_txn(b), lambda: store.commit_txn(a)) == (None, None, False)


def test_who_opens_while_a_change_commits_begins_after_it(store, meet):
    txn = begin(store)
    lock(store, txn)
    _, late, waited = meet(lambda: store.commit_txn(txn), lambda: begin(store))
    assert (late, waited) == (txn + 1, True)
    lock(store, late)
    store.commit_txn(late)


def test_no_snapshot_has_a_hole(store, meet):
    early = begin(store)
    seen = {}

    def look():
        seen[len(seen)] = str(store.valid_txns())

    assert meet(lambda: begin(store), look) == (early + 1, None, False)
    assert meet(lambda: begin(store), lambda: begin(store)) == (early + 2, early + 3, True)
    look()
    assert seen == {0: "1:1:1:", 1: "4:1:1,2,3,4:"}


def test_the_first_write_ids_of_a_table(store, meet):
    a, b = begin(store), begin(store)
    done = meet(lambda: store.allocate_write_id(b, T), lambda: store.allocate_write_id(a, T))
    assert done == (1, 2, True)
    assert store.allocate_write_id(a, T) == 2


def test_a_txn_that_allocates_twice_at_once(store, meet):
    txn = begin(store)
    done = meet(lambda: store.allocate_write_id(txn, T), lambda: store.allocate_write_id(txn, T))
    assert done == (1, 1, True)


def test_write_ids_of_other_tables_do_not_wait(store, meet):
    a, b = begin(store), begin(store)
    done = meet(lambda: store.allocate_write_id(b, T), lambda: store.allocate_write_id(a, U))
    assert done == (1, 1, False)


def test_of_two_lock_requests_one_is_granted(store, meet):
    a, b = begin(store), begin(store)
    exclusive = LockType.EXCLUSIVE
    mine, other, waited = meet(lambda: lock(store, b, exclusive), lambda: lock(store, a, exclusive))
    assert (mine.state, other.state, waited) == (LockState.ACQUIRED, LockState.WAITING, True)
    store.commit_txn(b)
    assert store.check_lock(other.lock_id).state is LockState.ACQUIRED


def test_a_lock_is_looked_at_while_its_blocker_commits(store, meet):
    """It may be told to wait once more, but is granted at the next look."""
    a, b = begin(store), begin(store)
    lock(store, a, LockType.EXCLUSIVE)
    asked = lock(store, b, LockType.EXCLUSIVE).lock_id
    done = meet(lambda: store.commit_txn(a), lambda: store.check_lock(asked).state)
    assert done == (None, LockState.WAITING, False)
    assert store.check_lock(asked).state is LockState.ACQUIRED


def test_a_lock_that_is_granted_is_not_withdrawn(store, meet):
    a, b = begin(store), begin(store)
    lock(store, a, LockType.EXCLUSIVE)
    asked = lock(store, b, LockType.EXCLUSIVE).lock_id
    store.commit_txn(a)
    done = meet(lambda: store.check_lock(asked).state, lambda: store.unlock(asked))
    assert done == (LockState.ACQUIRED, TxnError, True)


def test_a_lock_that_is_withdrawn_is_not_granted(store, meet):
    asked = lock(store, begin(store)).lock_id
    lock(store, begin(store), LockType.EXCLUSIVE)
    asked = lock(store, begin(store)).lock_id
    done = meet(lambda: store.unlock(asked), lambda: store.check_lock(asked))
    assert done == (None, NoSuchLockError, True)


def test_a_lock_goes_with_its_txn(store, meet):
    txn = begin(store)
    done = meet(lambda: store.abort_txn(txn), lambda: lock(store, txn))
    assert done == (None, TxnAbortedError, True)
    assert store.show_locks() == []


def test_of_two_compactions_of_one_place_one_is_queued(store, meet):
    def queue():
        return store.compact(T, None, MAJOR)

    assert meet(queue, queue) == (1, CompactionRefusedError, True)


def test_an_entry_is_taken_once(store, meet):
    for name in (T, U):
        store.compact(name, None, MAJOR)

    def take():
        entry = store.next_compaction("w")
        return entry and entry.compaction_id

    assert meet(take, take) == (1, 2, False)
    store.compact(TableName("default", "v"), None, MAJOR)
    assert meet(take, take) == (3, None, False)


def test_who_opens_while_a_compaction_ends_reads_its_output(store, meet):
    queued = store.compact(T, None, MAJOR)
    store.next_compaction("w")
    worker = begin(store, TxnType.COMPACTION)
    store.compaction_started(queued, worker, 1)
    _, reader, waited = meet(lambda: store.mark_compacted(queued), lambda: begin(store))
    assert waited
    assert store.valid_txns(reader).is_valid(worker)
    assert [c.compaction_id for c in store.ready_to_clean()] == [queued]


def test_a_late_heartbeat_saves(store, meet, clock):
    txn = begin(store)
    clock.pass_s(11)
    done = meet(lambda: store.heartbeat(txn), store.time_out_txns)
    assert done == (None, [], True)
    store.commit_txn(txn)


def test_a_heartbeat_that_is_too_late_does_not(store, meet, clock):
    txn = begin(store)
    clock.pass_s(11)
    done = meet(store.time_out_txns, lambda: store.heartbeat(txn), Mode.ALONE)
    assert done == ([txn], TxnAbortedError, True)


def test_write_ids_follow_a_table_that_is_renamed(store, meet):
    store.create_table(table(T))
    txn = begin(store)
    done = meet(
        lambda: store.allocate_write_id(txn, T), lambda: store.rename_table(T, table(U), [])
    )
    assert done == (1, None, True)
    assert not store.valid_write_ids([U], store.valid_txns())[U].is_valid(1)
    assert store.allocate_write_id(begin(store), U) == 2


def test_of_two_tables_of_one_name_one_is_made(store, meet):
    def create():
        store.create_table(table(T))

    assert meet(create, create, Mode.ALONE) == (None, TableExistsError, True)


def test_write_sets_are_trimmed_for_nobody_who_opens(store, meet):
    a, b = begin(store), begin(store)
    for txn in (a, b):
        lock(store, txn)
    assert meet(lambda: store.commit_txn(b), store.trim) == (None, None, True)
    with pytest.raises(WriteConflictError):
        store.commit_txn(a)

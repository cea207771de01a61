"""What a request for a compaction says: options, pools, and ABORT COMPACTIONS."""

import pytest

from acidsql.errors import TxnError, WriteConflictError
from acidsql.model.ids import CompactionId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.entities import (
    AbortedCompaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
    LockComponent,
    LockType,
    TxnType,
    WriteOperation,
    Written,
)
from acidsql.txn.policy import TxnPolicy

T, U = TableName("default", "t"), TableName("default", "u")
REBALANCE, MAJOR = CompactionType.REBALANCE, CompactionType.MAJOR
OPTIONS = CompactionOptions(
    "fast", 4, "ORDER BY `b` DESC NULLS FIRST", {"orc.compress": "zlib", "ü": "a:b 1:"}
)


def updating(table, kind=LockType.EXCL_WRITE):
    operation = WriteOperation.UPDATE
    return [LockComponent(kind, table.database, table.table, None, operation)]


def test_the_options_of_a_request_go_through_queue_and_history(store):
    queued = store.compact(T, None, REBALANCE, options=OPTIONS)
    (entry,) = store.show_compactions()
    assert (entry.type, entry.options) == (REBALANCE, OPTIONS)
    taken = store.next_compaction("w", "fast")
    assert taken.options == OPTIONS
    store.mark_failed(queued, "why")
    (entry,) = store.show_compactions()
    assert (entry.state, entry.options) == (CompactionState.FAILED, OPTIONS)


def test_a_worker_takes_from_its_pool_only(store):
    store.compact(T, None, MAJOR, options=CompactionOptions("slow"))
    store.compact(U, None, MAJOR)
    assert store.next_compaction("w", "fast") is None
    assert store.next_compaction("w").table == "u"
    assert store.next_compaction("w") is None
    assert store.next_compaction("w", "slow").table == "t"


def test_a_pool_that_nobody_serves_is_served_by_the_default_in_the_end(make_store, clock):
    store = make_store(TxnPolicy(pool_timeout_s=60))
    store.compact(T, None, MAJOR, options=CompactionOptions("nobody"))
    clock.pass_s(60)
    assert store.next_compaction("w") is None
    clock.pass_s(1)
    assert store.next_compaction("w", "other") is None
    assert store.next_compaction("w").options.pool == "nobody"


def test_aborted_entries_are_history(store, clock):
    queued = [store.compact(T, f"p={n}", MAJOR) for n in range(3)]
    store.next_compaction("w")
    clock.pass_s(1)
    done = store.abort_compactions([*reversed(queued), CompactionId(77)])
    assert done == [
        AbortedCompaction(queued[2], "Success", "Successfully aborted compaction"),
        AbortedCompaction(queued[1], "Success", "Successfully aborted compaction"),
        AbortedCompaction(
            queued[0], "Error", "Error while aborting compaction as compaction is in state-working"
        ),
        AbortedCompaction(CompactionId(77), "Error", "No Such Compaction Id Available"),
    ]
    aborted = {c.compaction_id: c for c in store.show_compactions()}[queued[1]]
    assert (aborted.state, aborted.ended_ms) == (CompactionState.ABORTED, clock.now_ms)
    assert aborted.error_message == "Compaction Aborted by Abort Comapction request."
    assert store.next_compaction("w") is None
    assert store.compact(T, "p=1", MAJOR) == 4


def test_aborting_twice_says_so(store):
    queued = store.compact(T, None, MAJOR)
    store.abort_compactions([queued])
    (again,) = store.abort_compactions([queued])
    assert again.message == "Error while aborting compaction as compaction is in state-aborted"
    with pytest.raises(TxnError, match="is aborted, not"):
        store.mark_failed(queued, "why")


def test_an_id_that_is_named_twice_has_one_answer(store):
    queued = store.compact(T, None, MAJOR)
    first, second = store.abort_compactions([queued, queued])
    assert first == second
    assert first.status == "Success"


def test_the_history_keeps_the_last_aborted_entries(store, clock):
    for _ in range(4):
        store.abort_compactions([store.compact(T, None, MAJOR)])
    clock.pass_s(3600)
    store.trim()
    assert [c.compaction_id for c in store.show_compactions()] == [4, 3]


def started_rebalance(store):
    """A rebalance that has its lock, and its transaction and write id."""
    queued = store.compact(T, None, REBALANCE)
    store.next_compaction("w")
    kind, locks = TxnType.REBALANCE_COMPACTION, updating(T)
    opened = store.open_locked("ann", "here", kind, [T], locks, "agent")
    store.compaction_started(queued, opened.txn_id, opened.write_ids[T])
    return queued, opened


def test_a_rebalance_is_an_update_for_those_who_began_before(store):
    reader = store.open_txn("ann", "here")
    store.allocate_write_id(reader, T)
    queued, _ = started_rebalance(store)
    store.mark_compacted(queued)
    store.lock(reader, updating(T), "ann", "here")
    assert store.latest_txn_in_conflict(reader) is not None
    with pytest.raises(WriteConflictError):
        store.commit_txn(reader)


def test_a_rebalance_loses_against_an_update_that_committed_before_it(store):
    other = store.open_txn("ann", "here")
    store.allocate_write_id(other, T)
    store.lock(other, updating(T, LockType.SHARED_WRITE), "ann", "here")
    queued = store.compact(T, None, REBALANCE)
    store.next_compaction("w")
    kind, locks = TxnType.REBALANCE_COMPACTION, updating(T)
    opened = store.open_locked("ann", "here", kind, [T], locks, "agent")
    store.commit_txn(other)
    store.check_lock(opened.response.lock_id)
    assert store.latest_txn_in_conflict(opened.txn_id) is not None
    store.compaction_started(queued, opened.txn_id, opened.write_ids[T])
    with pytest.raises(WriteConflictError):
        store.mark_compacted(queued)
    assert store.show_compactions()[0].state is CompactionState.WORKING


def test_a_committed_rebalance_counts_as_a_write_until_it_is_cleaned(store):
    queued, opened = started_rebalance(store)
    store.mark_compacted(queued)
    (place,) = store.changed_places()
    assert (place.table, place.highest_write_id) == (T, opened.write_ids[T])
    assert store.committed_writes(T) == {Written(opened.write_ids[T], T, None)}
    assert [c.compaction_id for c in store.ready_to_clean()] == [queued]
    store.mark_cleaned(queued)
    assert store.changed_places() == []
    assert store.committed_writes(T) == frozenset()


def test_an_aborted_rebalance_is_remembered_until_its_files_are_gone(make_store, clock):
    store = make_store(TxnPolicy(timeout_s=10))
    _, opened = started_rebalance(store)
    store.abort_txn(opened.txn_id)
    clock.pass_s(11)
    written = {(c.operation, c.write_id) for c in store.aborted_writes()}
    assert (WriteOperation.UPDATE, WriteId(1)) in written
    write_ids = store.valid_write_ids([T], store.valid_txns())[T]
    assert not write_ids.is_valid(opened.write_ids[T])

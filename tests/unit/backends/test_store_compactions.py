"""The compaction queue: one entry's life, and when the cleaner may act."""

import pytest

from acidsql.errors import CompactionRefusedError, TxnAbortedError, TxnError
from acidsql.model.ids import CompactionId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.entities import (
    ChangedPlace,
    CompactionState,
    CompactionType,
    LockComponent,
    LockType,
    TxnType,
    WriteOperation,
)
from acidsql.txn.policy import TxnPolicy

T = TableName("default", "t")
MAJOR, MINOR = CompactionType.MAJOR, CompactionType.MINOR


def begin(store, type=TxnType.DEFAULT):
    return store.open_txn("ann", "host1", type)


def start(store, highest=1, partition=None):
    """An entry that a worker has begun to work on, and its transaction."""
    compaction_id = store.compact(T, partition, MAJOR)
    store.next_compaction("worker 1")
    txn = begin(store, TxnType.COMPACTION)
    store.compaction_started(compaction_id, txn, WriteId(highest))
    return compaction_id, txn


def state(store, compaction_id):
    return {c.compaction_id: c.state for c in store.show_compactions()}[compaction_id]


def ready(store):
    return [c.compaction_id for c in store.ready_to_clean()]


def test_the_life_of_an_entry(store, clock):
    queued = store.compact(T, "p=1", MINOR, "ann", "host1")
    (entry,) = store.show_compactions()
    assert (entry.compaction_id, entry.database, entry.table) == (1, "default", "t")
    assert (entry.partition, entry.type) == ("p=1", MINOR)
    assert (entry.state, entry.enqueued_ms) == (CompactionState.INITIATED, clock.now_ms)
    assert (entry.initiator, entry.initiator_host) == ("ann", "host1")
    clock.pass_s(1)
    entry = store.next_compaction("worker 1")
    assert (entry.state, entry.worker_id) == (CompactionState.WORKING, "worker 1")
    assert entry.started_ms == clock.now_ms
    txn = begin(store, TxnType.COMPACTION)
    store.compaction_started(queued, txn, WriteId(7))
    clock.pass_s(1)
    store.mark_compacted(queued)
    (entry,) = store.ready_to_clean()
    assert entry.state is CompactionState.READY_FOR_CLEANING
    assert (entry.txn_id, entry.next_txn_id, entry.highest_write_id) == (txn, txn + 1, 7)
    assert entry.commit_ms == clock.now_ms
    clock.pass_s(1)
    store.mark_cleaned(queued)
    (entry,) = store.show_compactions()
    assert (entry.state, entry.ended_ms) == (CompactionState.SUCCEEDED, clock.now_ms)
    assert ready(store) == []


def test_a_second_entry_of_the_same_place_is_refused(store):
    store.compact(T, None, MAJOR)
    with pytest.raises(CompactionRefusedError, match="state='initiated' and id=1") as caught:
        store.compact(T, None, MINOR)
    assert caught.value.code == 10432
    store.next_compaction("worker 1")
    with pytest.raises(CompactionRefusedError, match="state='working' and id=1"):
        store.compact(T, None, MAJOR)
    assert store.compact(T, "p=1", MAJOR) == 2
    assert store.compact(TableName("default", "u"), None, MAJOR) == 3


def test_the_next_entry_may_wait_beside_one_ready_for_cleaning(store):
    compaction_id, _ = start(store)
    store.mark_compacted(compaction_id)
    assert store.compact(T, None, MAJOR) == 2


def test_entries_are_taken_in_order_and_once(store):
    for name in ("a", "b"):
        store.compact(TableName("default", name), None, MAJOR)
    assert [store.next_compaction("w").table for _ in range(2)] == ["a", "b"]
    assert store.next_compaction("w") is None
    assert [c.table for c in store.show_compactions()] == ["b", "a"]


def test_done_and_committed_in_one_step(store):
    compaction_id, txn = start(store)
    assert str(store.valid_txns()) == f"{txn}:{txn}:{txn}:"
    store.mark_compacted(compaction_id)
    assert store.valid_txns().is_valid(txn)
    store.mark_compacted(compaction_id)
    store.commit_txn(txn)
    assert ready(store) == [compaction_id]


def test_a_lost_worker_cannot_finish(store):
    compaction_id, txn = start(store)
    store.abort_txn(txn)
    with pytest.raises(TxnAbortedError):
        store.mark_compacted(compaction_id)
    assert state(store, compaction_id) is CompactionState.WORKING


def test_only_a_started_entry_can_be_done(store):
    compaction_id = store.compact(T, None, MAJOR)
    with pytest.raises(TxnError, match="Compaction 1 is initiated, not working"):
        store.mark_compacted(compaction_id)
    store.next_compaction("w")
    with pytest.raises(TxnError, match="has not recorded its transaction"):
        store.mark_compacted(compaction_id)
    with pytest.raises(TxnError, match="No such compaction: 9"):
        store.mark_compacted(CompactionId(9))


def test_starting_again_after_a_lost_answer_is_silent(store):
    compaction_id, txn = start(store)
    store.compaction_started(compaction_id, txn, WriteId(1))
    (entry,) = store.show_compactions()
    assert (entry.txn_id, entry.highest_write_id) == (txn, 1)


def test_who_may_work_on_an_entry(store):
    compaction_id, _ = start(store)
    with pytest.raises(TxnError, match="txnid:2 is not a compaction transaction"):
        store.compaction_started(compaction_id, begin(store), WriteId(1))
    with pytest.raises(TxnError, match="Compaction 1 belongs to txnid:1"):
        store.compaction_started(compaction_id, begin(store, TxnType.COMPACTION), WriteId(1))


@pytest.mark.parametrize(
    ("verb", "ended"),
    [("mark_refused", CompactionState.REFUSED), ("mark_failed", CompactionState.FAILED)],
)
def test_giving_up(store, clock, verb, ended):
    compaction_id, txn = start(store)
    getattr(store, verb)(compaction_id, "because")
    getattr(store, verb)(compaction_id, "again")
    (entry,) = store.show_compactions()
    assert (entry.state, entry.error_message) == (ended, "because")
    assert entry.ended_ms == clock.now_ms
    assert [t.txn_id for t in store.show_txns()] == [txn]
    assert store.compact(T, None, MAJOR) == 2


def test_what_is_done_cannot_fail(store):
    compaction_id, _ = start(store)
    store.mark_compacted(compaction_id)
    with pytest.raises(TxnError, match="ready for cleaning, not initiated or working"):
        store.mark_failed(compaction_id, "late")
    store.mark_cleaned(compaction_id)
    store.mark_cleaned(compaction_id)
    assert state(store, compaction_id) is CompactionState.SUCCEEDED


def test_what_is_not_done_cannot_be_cleaned(store):
    compaction_id, _ = start(store)
    with pytest.raises(TxnError, match="working, not ready for cleaning"):
        store.mark_cleaned(compaction_id)


# -- the cleaner ------------------------------------------------------------------------------


@pytest.mark.parametrize("type", [TxnType.DEFAULT, TxnType.READ_ONLY, TxnType.COMPACTION])
@pytest.mark.parametrize("end", ["commit_txn", "abort_txn"])
def test_an_open_txn_holds_the_cleaner_back_until_it_ends(store, type, end):
    reader = begin(store, type)
    compaction_id, _ = start(store)
    latest = begin(store, type)
    store.mark_compacted(compaction_id)
    assert ready(store) == []
    getattr(store, end)(reader)
    assert ready(store) == []
    getattr(store, end)(latest)
    assert ready(store) == [compaction_id]


def test_a_txn_opened_beside_an_older_one_keeps_what_that_one_may_read(store):
    older = begin(store)
    compaction_id, _ = start(store)
    store.mark_compacted(compaction_id)
    reader = begin(store, TxnType.READ_ONLY)
    store.commit_txn(older)
    assert ready(store) == []
    store.commit_txn(reader)
    assert ready(store) == [compaction_id]


def test_txns_opened_after_the_commit_hold_nothing_back(store):
    compaction_id, _ = start(store)
    store.mark_compacted(compaction_id)
    begin(store, TxnType.READ_ONLY)
    assert ready(store) == [compaction_id]


def test_ready_entries_are_listed_oldest_first(store):
    ids = []
    for partition in ("p=1", "p=2"):
        compaction_id, _ = start(store, partition=partition)
        store.mark_compacted(compaction_id)
        ids.append(compaction_id)
    assert ready(store) == ids


def aborted_insert(store, partition=None):
    txn = begin(store)
    store.allocate_write_id(txn, T)
    component = LockComponent(
        LockType.SHARED_READ, "default", "t", partition, WriteOperation.INSERT
    )
    store.lock(txn, [component], "ann", "host1")
    store.abort_txn(txn)
    return txn


def listed_after_trim(store, clock):
    clock.pass_s(10_000)
    store.trim()
    return sorted(store.valid_txns().aborted)


@pytest.mark.parametrize("partition", [None, "p=1"])
def test_cleaning_forgets_no_aborted_txn(store, clock, partition):
    """A streamed delta may hold its rows still, between those of others."""
    assert [aborted_insert(store), aborted_insert(store)] == [1, 2]
    compaction_id, _ = start(store, highest=2, partition=partition)
    store.mark_compacted(compaction_id)
    store.mark_cleaned(compaction_id)
    assert listed_after_trim(store, clock) == [1, 2]
    store.forget_aborted(T, [1, 2])
    assert listed_after_trim(store, clock) == []


def test_an_aborted_compaction_is_remembered_until_its_files_are_gone(store, clock):
    """Its directory carries its txn id, and must stay invisible as long as it is there."""
    compaction_id, txn = start(store, highest=3)
    store.mark_failed(compaction_id, "disk full")
    store.abort_txn(txn)
    assert listed_after_trim(store, clock) == [txn]
    again, _ = start(store, highest=3)
    store.mark_compacted(again)
    store.mark_cleaned(again)
    assert listed_after_trim(store, clock) == [txn]
    store.forget_aborted(T, [txn])
    assert listed_after_trim(store, clock) == []


# -- workers that are gone --------------------------------------------------------------------


def test_the_entry_of_a_dead_worker_is_given_back(store, clock):
    compaction_id, txn = start(store)
    clock.pass_s(301)
    assert store.time_out_txns() == [txn]
    (entry,) = store.show_compactions()
    assert (entry.state, entry.worker_id, entry.txn_id) == (CompactionState.INITIATED, None, None)
    assert (entry.started_ms, entry.highest_write_id) == (None, None)
    assert store.next_compaction("worker 2").compaction_id == compaction_id


def test_the_entry_of_a_lost_answer_is_given_back(store, clock):
    compaction_id = store.compact(T, None, MAJOR)
    store.next_compaction("worker 1")
    clock.pass_s(300)
    store.time_out_txns()
    assert state(store, compaction_id) is CompactionState.WORKING
    clock.pass_s(0.001)
    store.time_out_txns()
    assert state(store, compaction_id) is CompactionState.INITIATED


def test_a_living_worker_keeps_its_entry(store, clock):
    compaction_id, txn = start(store)
    clock.pass_s(299)
    store.heartbeat(txn)
    clock.pass_s(299)
    store.time_out_txns()
    assert state(store, compaction_id) is CompactionState.WORKING
    store.mark_compacted(compaction_id)
    assert ready(store) == [compaction_id]


def write(store, partition=None, operation=WriteOperation.INSERT):
    """A transaction that has its lock, and its write id."""
    component = LockComponent(LockType.SHARED_READ, "default", "t", partition, operation)
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], [component])
    return opened.txn_id, opened.write_ids[T]


def test_places_have_changed_until_a_compaction_is_cleaned(store, clock):
    assert store.changed_places() == []
    for partition in (None, "p=1", "p=1"):
        txn, write_id = write(store, partition)
        store.commit_txn(txn)
    first, _ = write(store, "p=1")
    clock.pass_s(5)
    second, _ = write(store, "p=2", WriteOperation.UPDATE)
    assert store.changed_places() == [
        ChangedPlace(T, None, WriteId(1)),
        ChangedPlace(T, "p=1", WriteId(3)),
    ]
    store.abort_txns([first, second])
    assert store.changed_places() == [
        ChangedPlace(T, None, WriteId(1)),
        ChangedPlace(T, "p=1", WriteId(3), 1, 5000),
        ChangedPlace(T, "p=2", None, 1, 0),
    ]
    store.forget_aborted(T, [first, second])
    compaction_id, txn = start(store, highest=write_id, partition="p=1")
    store.abort_txn(begin(store))
    store.mark_compacted(compaction_id)
    assert [place.partition for place in store.changed_places()] == [None, "p=1"]
    store.mark_cleaned(compaction_id)
    assert store.changed_places() == [ChangedPlace(T, None, WriteId(1))]


def test_the_aborted_transactions_of_a_place_are_counted(store, clock):
    """Not what each of them did there, nor compactions."""
    for _ in range(3):
        txn, write_id = write(store)
        store.add_dynamic_partitions(txn, write_id, T, ["p=1"], WriteOperation.INSERT)
        store.add_dynamic_partitions(txn, write_id, T, ["p=1"], WriteOperation.DELETE)
        store.abort_txn(txn)
        clock.pass_s(1)
    _, worker = start(store, partition="p=2")
    store.abort_txn(worker)
    assert store.changed_places() == [ChangedPlace(T, "p=1", None, 3, 3000)]


def test_cleaning_is_put_off_by_the_clock_of_the_store(make_store, clock):
    store = make_store(TxnPolicy(delayed_cleanup=True, retention_s=60))
    compaction_id, _ = start(store)
    clock.pass_s(100)
    store.mark_compacted(compaction_id)
    clock.pass_s(59.9)
    assert ready(store) == []
    clock.pass_s(0.1)
    assert ready(store) == [compaction_id]


def test_cleaning_is_not_put_off_unless_that_is_enabled(make_store):
    store = make_store(TxnPolicy(retention_s=60))
    compaction_id, _ = start(store)
    store.mark_compacted(compaction_id)
    assert ready(store) == [compaction_id]


# -- workers that take too long, or die again and again -----------------------------------------


def test_a_compaction_that_takes_too_long_loses_its_transaction(make_store, clock):
    """Its heartbeats come, so nobody else would notice."""
    store = make_store(TxnPolicy(timeout_s=10, worker_timeout_s=100))
    compaction_id, txn = start(store)
    for _ in range(20):
        clock.pass_s(5)
        store.heartbeat(txn)
        assert store.time_out_txns() == []
    clock.pass_s(1)
    store.heartbeat(txn)
    assert store.time_out_txns() == [txn]
    with pytest.raises(TxnAbortedError, match="compaction time-out"):
        store.mark_compacted(compaction_id)
    assert state(store, compaction_id) is CompactionState.WORKING
    clock.pass_s(11)
    assert store.time_out_txns() == []
    assert state(store, compaction_id) is CompactionState.INITIATED


def test_other_transactions_may_take_longer(make_store, clock):
    store = make_store(TxnPolicy(timeout_s=10, worker_timeout_s=20))
    txn = begin(store)
    for _ in range(10):
        clock.pass_s(5)
        store.heartbeat(txn)
        assert store.time_out_txns() == []


def test_a_compaction_whose_workers_die_again_and_again_has_failed(make_store, clock):
    """Perhaps they die of it: of its memory, for example."""
    store = make_store(TxnPolicy(timeout_s=10, compaction_attempts=3))
    compaction_id = store.compact(T, None, MAJOR)
    for attempt in (1, 2, 3):
        assert store.next_compaction(f"worker {attempt}").compaction_id == compaction_id
        if attempt == 2:
            txn = begin(store, TxnType.COMPACTION)
            store.compaction_started(compaction_id, txn, WriteId(1))
        clock.pass_s(11)
        store.time_out_txns()
    assert store.next_compaction("worker 4") is None
    [entry] = store.show_compactions()
    assert entry.state is CompactionState.FAILED
    assert entry.error_message == (
        "It was begun 3 times, and each time its worker was gone before the end"
    )
    again = store.compact(T, None, MAJOR)
    assert store.next_compaction("worker 5").compaction_id == again
    clock.pass_s(11)
    store.time_out_txns()
    assert state(store, again) is CompactionState.INITIATED

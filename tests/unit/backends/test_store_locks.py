"""Locks: who waits for whom, in which order, and what becomes of requests."""

from dataclasses import replace

import pytest

from acidsql.errors import (
    DeadlockError,
    NoSuchLockError,
    NoSuchTxnError,
    StorageError,
    TxnAbortedError,
    TxnError,
)
from acidsql.model.ids import LockId, TxnId
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, LockState, LockType, TxnType, WriteOperation
from acidsql.txn.locks import blocks
from acidsql.txn.policy import TxnPolicy

T = TableName("default", "t")

R, W, X, E = (
    LockType.SHARED_READ,
    LockType.SHARED_WRITE,
    LockType.EXCL_WRITE,
    LockType.EXCLUSIVE,
)


def on(type, table="t", partition=None, database="default"):
    return LockComponent(type, database, table, partition)


def ask(store, *components, txn=None):
    """A request, of a new transaction unless one is given."""
    txn = txn or store.open_txn("ann", "host1")
    return store.lock(txn, components, "ann", "host1", "query 1")


def granted(response):
    return response.state is LockState.ACQUIRED


@pytest.mark.parametrize(
    ("requested", "row"),
    [(R, "ok ok ok wait"), (W, "ok ok wait wait"), (X, "ok wait wait wait"), (E, "wait " * 4)],
    ids=["r", "w", "x", "e"],
)
def test_the_compatibility_matrix(store, requested, row):
    for number, (existing, answer) in enumerate(zip((R, W, X, E), row.split(), strict=True)):
        ask(store, on(existing, f"t{number}"))
        asked = ask(store, on(requested, f"t{number}"))
        assert granted(asked) is (answer == "ok"), (requested, existing)


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (on(E), on(R, "other"), "ok"),
        (on(E), on(R, database="elsewhere"), "ok"),
        (on(E, partition="p=1"), on(R, partition="p=2"), "ok"),
        (on(E, partition="p=1"), on(R, partition="p=1"), "wait"),
        (on(E, partition="p=1"), on(R), "wait"),
        (on(R), on(E, partition="p=1"), "wait"),
        (on(E, None), on(R), "wait"),
        (on(R), on(E, None), "wait"),
        (on(E), on(R, None), "ok"),
        (on(R, None), on(E), "ok"),
        (on(R, None), on(E, partition="p=1"), "ok"),
        (on(E, None), on(R, None), "wait"),
        (on(R, None), on(E, None), "wait"),
    ],
)
def test_which_resources_meet(store, first, second, answer):
    ask(store, first)
    assert granted(ask(store, second)) is (answer == "ok")


def test_every_pair_is_as_the_rule_has_it(store):
    """What a store asks its database first may be stricter than the rule, never more lenient."""
    places = [
        on(R, None),
        on(R, None, "p=1"),
        on(R),
        on(R, partition="p=1"),
        on(R, partition="p=2"),
        on(R, "other"),
    ]
    asked = [replace(place, type=kind) for place in places for kind in (R, W, X, E)]
    for first in asked:
        one = store.open_locked("ann", "host1", TxnType.DEFAULT, [], [first])
        assert granted(one.response)
        for second in asked:
            request = [second, on(R, "third")]
            other = store.open_locked("bob", "host2", TxnType.DEFAULT, [T], request)
            waits = any(blocks(first, component) for component in request)
            assert granted(other.response) is not waits, (first, second)
            shown = {
                (k.state is LockState.ACQUIRED, k.acquired_at_ms is None)
                for k in store.show_locks()
            }
            assert shown == ({(True, False), (False, True)} if waits else {(True, False)})
            store.abort_txns([other.txn_id])
        store.abort_txns([one.txn_id])


@pytest.mark.parametrize(
    "error",
    [StorageError("the transaction store went away"), NoSuchLockError("it was aborted")],
    ids=["store", "lock"],
)
def test_who_cannot_be_told_why_it_waits_is_in_the_queue(store, monkeypatch, error):
    """The transaction is open and its id must not be lost. The next look tells more."""
    ask(store, on(E))

    def look(lock_id):
        raise error

    monkeypatch.setattr(store, "_look_at_once", look, raising=False)
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], [on(E)])
    assert (opened.response.state, opened.write_ids) == (LockState.WAITING, {T: 1})
    (shown,) = (lock for lock in store.show_locks() if lock.txn_id == opened.txn_id)
    assert (shown.state, shown.acquired_at_ms) == (LockState.WAITING, None)
    monkeypatch.undo()
    assert store.check_lock(opened.response.lock_id).state is LockState.WAITING


def test_waiting_is_no_sign_of_life(make_store, clock):
    store = make_store(TxnPolicy(timeout_s=10))
    ask(store, on(E))
    txn = store.open_txn("bob", "host2")
    clock.pass_s(6)
    ask(store, on(E), txn=txn)
    assert [t.last_heartbeat_ms for t in store.show_txns()] == [clock() - 6000] * 2


def test_who_is_refused_in_a_block_leaves_nothing(store):
    aborted, defining = (store.open_txn("ann", "host1") for _ in range(2))
    store.abort_txn(aborted)
    with store.committing(defining):
        for txn in (aborted, 999):
            with pytest.raises((TxnAbortedError, NoSuchTxnError)):
                ask(store, on(E), txn=txn)
    assert store.show_locks() == []


def test_no_request_overtakes_a_waiting_one(store):
    """Otherwise readers that keep coming would starve a writer."""
    reader = store.open_txn("ann", "host1")
    ask(store, on(R), txn=reader)
    writer = ask(store, on(E))
    late_reader = ask(store, on(R))
    assert not granted(writer)
    assert not granted(late_reader)
    store.commit_txn(reader)
    assert not granted(store.check_lock(late_reader.lock_id))
    assert granted(store.check_lock(writer.lock_id))
    assert not granted(store.check_lock(late_reader.lock_id))


def test_a_withdrawn_request_blocks_nobody(store):
    ask(store, on(R))
    writer = ask(store, on(E))
    late_reader = ask(store, on(R))
    store.unlock(writer.lock_id)
    assert granted(store.check_lock(late_reader.lock_id))
    with pytest.raises(NoSuchLockError, match=f"lockid:{writer.lock_id}"):
        store.check_lock(writer.lock_id)


def test_later_requests_do_not_block_earlier_ones(store):
    holder = store.open_txn("ann", "host1")
    ask(store, on(X), txn=holder)
    first, second = ask(store, on(X)), ask(store, on(X))
    store.commit_txn(holder)
    assert granted(store.check_lock(first.lock_id))
    assert not granted(store.check_lock(second.lock_id))


def test_all_components_or_none(store):
    holder = store.open_txn("ann", "host1")
    ask(store, on(E, "b"), txn=holder)
    asked = ask(store, on(R, "a"), on(R, "b"), on(R, "c"))
    rows = [lock for lock in store.show_locks() if lock.lock_id == asked.lock_id]
    assert [r.state for r in rows] == [LockState.WAITING] * 3
    assert [r.blocked_by_lock_id for r in rows] == [None, 1, None]
    assert [r.blocked_by_internal_id for r in rows] == [None, 1, None]
    store.commit_txn(holder)
    assert granted(store.check_lock(asked.lock_id))
    rows = store.show_locks()
    assert [r.state for r in rows] == [LockState.ACQUIRED] * 3
    assert [r.blocked_by_lock_id for r in rows] == [None] * 3


def test_the_first_blocker_is_named(store):
    ask(store, on(X))
    ask(store, on(X))
    asked = ask(store, on(X))
    assert asked.blocked_by == ("lockid:1 of txnid:1 (ann@host1), EXCL_WRITE acquired on default/t")
    assert store.show_locks()[-1].blocked_by_lock_id == 1


def test_locks_of_one_txn_do_not_meet(store):
    txn = store.open_txn("ann", "host1")
    assert granted(ask(store, on(E), txn=txn))
    assert granted(ask(store, on(E), txn=txn))


def test_a_lock_is_shown_whole(store, clock):
    ask(store, on(X, "t", "p=1"))
    (lock,) = store.show_locks()
    assert (lock.lock_id, lock.internal_id, lock.txn_id) == (1, 1, 1)
    assert (lock.database, lock.table, lock.partition) == ("default", "t", "p=1")
    assert (lock.type, lock.state) == (X, LockState.ACQUIRED)
    assert (lock.last_heartbeat_ms, lock.acquired_at_ms) == (0, clock.now_ms)
    assert (lock.user, lock.host, lock.agent_info) == ("ann", "host1", "query 1")


@pytest.mark.parametrize("end", ["commit_txn", "abort_txn"])
def test_the_end_of_a_txn_releases_its_locks(store, end):
    txn = store.open_txn("ann", "host1")
    asked = ask(store, on(E), txn=txn)
    getattr(store, end)(txn)
    assert store.show_locks() == []
    with pytest.raises(NoSuchLockError):
        store.check_lock(asked.lock_id)


def test_check_lock_is_a_heartbeat(store, clock):
    ask(store, on(X))
    waiting = ask(store, on(X))
    clock.pass_s(100)
    store.check_lock(waiting.lock_id)
    beats = {t.txn_id: t.last_heartbeat_ms for t in store.show_txns()}
    assert beats == {1: clock.now_ms - 100_000, 2: clock.now_ms}


def test_check_lock_of_a_granted_request_stays_granted(store):
    asked = ask(store, on(X))
    assert granted(store.check_lock(asked.lock_id))


def test_unlock_is_silent_about_missing_locks(store):
    store.unlock(LockId(9))
    assert store.show_locks() == []


def changing(partition=None, type=X, operation=WriteOperation.UPDATE, dynamic=False):
    return LockComponent(type, "default", "t", partition, operation, dynamic=dynamic)


@pytest.mark.parametrize("change", [changing(), changing("p=1"), changing("p=1", dynamic=True)])
def test_a_transaction_that_waited_in_vain_wins_no_conflict(store, change):
    """What a dynamic change may reach counts for the whole table until it names partitions."""
    holder, loser = store.open_txn("ann", "host1"), store.open_txn("bob", "host2")
    ask(store, change, txn=holder)
    store.unlock(ask(store, change, txn=loser).lock_id)
    store.commit_txn(loser)
    assert store.latest_txn_in_conflict(holder) is None
    store.commit_txn(holder)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (changing(), changing(type=E)),
        (changing("p=1"), changing("p=1", type=E)),
        (changing(dynamic=True), changing("p=1", type=E)),
    ],
)
def test_what_was_granted_before_counts_still(store, earlier, later):
    """The request that is withdrawn had asked for more on the same place."""
    slow, reader = store.open_txn("ann", "host1"), store.open_txn("ann", "host1")
    ask(store, changing(type=W), txn=slow)
    ask(store, on(R), txn=reader)
    fast = store.open_txn("bob", "host2")
    ask(store, replace(earlier, type=W), txn=fast)
    if earlier.dynamic:
        store.add_dynamic_partitions(fast, 1, T, ["p=1"], WriteOperation.UPDATE)
    store.unlock(ask(store, later, txn=fast).lock_id)
    store.commit_txn(fast)
    assert store.latest_txn_in_conflict(slow).partition == (later.partition or None)


def test_a_change_of_one_partition_and_one_of_all_that_was_withdrawn(store):
    """The first has named its partition; what the second recorded goes, whatever is locked."""
    slow, holder = store.open_txn("ann", "host1"), store.open_txn("cat", "host1")
    ask(store, changing("p=2", dynamic=True), txn=holder)
    fast = store.open_txn("bob", "host2")
    ask(store, changing("p=1", dynamic=True), txn=fast)
    store.add_dynamic_partitions(fast, 1, T, ["p=1"], WriteOperation.UPDATE)
    store.unlock(ask(store, changing(dynamic=True), txn=fast).lock_id)
    store.commit_txn(fast)
    store.abort_txn(holder)
    ask(store, changing("p=2"), txn=slow)
    assert store.latest_txn_in_conflict(slow) is None


def test_a_change_meets_what_it_has_locked(store):
    """Its partitions are not named before it has rows: those that are not locked do not count."""
    slow, table = store.open_txn("ann", "host1"), store.open_txn("ann", "host1")
    fast = store.open_txn("bob", "host2")
    ask(store, changing("p=1", type=W, dynamic=True), txn=fast)
    store.add_dynamic_partitions(fast, 1, T, ["p=1"], WriteOperation.UPDATE)
    store.commit_txn(fast)
    ask(store, changing("p=2", dynamic=True), txn=slow)
    assert store.latest_txn_in_conflict(slow) is None
    ask(store, changing("p=1", dynamic=True), txn=slow)
    assert store.latest_txn_in_conflict(slow).partition == "p=1"
    store.abort_txn(slow)
    ask(store, changing(dynamic=True), txn=table)
    assert store.latest_txn_in_conflict(table).partition == "p=1"


def test_an_insert_stays_when_a_change_is_withdrawn(store, clock):
    """What is recorded keeps an aborted transaction in mind, as it may have left files."""
    holder, inserter, other = (store.open_txn("ann", "host1") for _ in range(3))
    ask(store, changing(), txn=holder)
    ask(store, changing(type=R, operation=WriteOperation.INSERT), txn=inserter)
    for txn in (inserter, other):
        for kind in (X, E):
            store.unlock(ask(store, changing(type=kind), txn=txn).lock_id)
        store.abort_txn(txn)
    clock.pass_s(601)
    store.trim()
    assert [t.txn_id for t in store.show_txns()] == [holder, inserter]


def test_granted_locks_of_a_txn_stay_until_its_end(store):
    asked = ask(store, on(X))
    with pytest.raises(TxnError, match="lockid:1 is granted and belongs to txnid:1"):
        store.unlock(asked.lock_id)
    assert len(store.show_locks()) == 1


def test_asking_again_after_a_lost_answer_does_no_harm(store):
    txn = store.open_txn("ann", "host1")
    first, second = ask(store, on(X), txn=txn), ask(store, on(X), txn=txn)
    assert granted(first)
    assert granted(second)
    store.commit_txn(txn)
    assert store.show_locks() == []


def test_locks_need_an_open_txn_and_a_component(store):
    with pytest.raises(NoSuchTxnError):
        ask(store, on(R), txn=TxnId(5))
    txn = store.open_txn("ann", "host1", TxnType.READ_ONLY)
    with pytest.raises(TxnError, match="at least one component"):
        ask(store, txn=txn)
    store.abort_txn(txn)
    with pytest.raises(TxnAbortedError):
        ask(store, on(R), txn=txn)
    assert store.show_locks() == []


def test_the_youngest_of_a_circle_loses(store):
    old, young = (store.open_txn("ann", "host1") for _ in range(2))
    ask(store, on(E, "a"), txn=old)
    ask(store, on(E, "b"), txn=young)
    waiting = ask(store, on(R, "b"), txn=old)
    assert store.resolve_deadlocks() == []
    ask(store, on(R, "a"), txn=young)
    assert store.resolve_deadlocks() == [young]
    assert store.resolve_deadlocks() == []
    with pytest.raises(DeadlockError, match=f"txnid:{young} already aborted"):
        store.heartbeat(young)
    assert granted(store.check_lock(waiting.lock_id))

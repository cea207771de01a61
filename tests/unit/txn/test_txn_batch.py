"""acidsql/txn/txn_batch.py, over the store in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.errors import LockTimeoutError, NoSuchTxnError, TxnAbortedError, TxnError
from acidsql.model.access import Access, Operation
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, LockType, TxnState
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.txn_batch import TxnBatch

T = TableName("default", "t")
LOCKS = lock_components([Access.of(T, Operation.INSERT)])


class Clock:
    now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock, TxnPolicy(), "/w")


class Silent(Heartbeats):
    """Beats when it is told to."""

    def start(self, beat: Callable[[], bool], interval_s: float):  # type: ignore[no-untyped-def]
        self.interval_s = interval_s
        self.heartbeat = super().start(beat, 3600.0)
        return self.heartbeat


def opened(store: MemoryStore, count: int = 3, heartbeats: Heartbeats | None = None) -> TxnBatch:
    return TxnBatch(
        store, count, T, user="ann", host="h", policy=TxnPolicy(), heartbeats=heartbeats or Silent()
    )


def open_ids(store: MemoryStore) -> list[int]:
    return [t.txn_id for t in store.show_txns() if t.state is TxnState.OPEN]


def test_the_transactions_of_a_batch_come_one_after_the_other(store: MemoryStore) -> None:
    batch = opened(store)
    assert (list(batch.txn_ids), list(batch.write_ids), batch.remaining) == (
        [1, 2, 3],
        [1, 2, 3],
        3,
    )
    batch.begin(LOCKS)
    assert (batch.is_begun, batch.txn_id, batch.write_id) == (True, 1, 1)
    batch.commit(store.commit_txn)
    batch.begin(LOCKS)
    batch.abort("why")
    assert (batch.is_begun, batch.remaining, open_ids(store)) == (False, 1, [3])
    batch.begin(LOCKS)
    batch.commit(store.commit_txn)
    assert (batch.remaining, open_ids(store)) == (0, [])
    assert str(store.valid_write_ids([T], store.valid_txns())[T]) == (
        "default.t:3:9223372036854775807::2"
    )


def test_closing_aborts_the_rest(store: MemoryStore) -> None:
    batch = opened(store)
    batch.begin(LOCKS)
    batch.commit(store.commit_txn)
    batch.close("enough")
    batch.close("enough")
    assert (batch.remaining, open_ids(store), store.show_locks()) == (0, [], [])


def test_a_lock_that_is_taken_is_not_waited_for(store: MemoryStore) -> None:
    batch = opened(store)
    rival = store.open_txn("bob", "h")
    store.lock(rival, [LockComponent(LockType.EXCLUSIVE, "default", "t")], "bob", "h")
    with pytest.raises(LockTimeoutError, match="txnid:1 at once") as caught:
        batch.begin(LOCKS)
    assert "txnid:4" in str(caught.value)
    assert [lock.txn_id for lock in store.show_locks()] == [rival]
    store.commit_txn(rival)
    batch.begin(LOCKS)
    assert batch.is_begun


def test_one_heartbeat_keeps_all_alive_that_have_not_ended(
    store: MemoryStore, clock: Clock
) -> None:
    heartbeats = Silent()
    batch = opened(store, heartbeats=heartbeats)
    assert heartbeats.interval_s == TxnPolicy().timeout_s / 2
    batch.begin(LOCKS)
    batch.commit(store.commit_txn)
    for _ in range(5):
        clock.now_ms += 200_000
        heartbeats.heartbeat.beat()
        assert store.time_out_txns() == []
    assert open_ids(store) == [2, 3]
    batch.close("enough")
    heartbeats.heartbeat.beat()
    assert heartbeats.heartbeat.stopped


def test_a_heartbeat_finds_what_others_ended(store: MemoryStore, clock: Clock) -> None:
    heartbeats = Silent()
    batch = opened(store, heartbeats=heartbeats)
    batch.begin(LOCKS)
    clock.now_ms += 1_000_000
    assert store.time_out_txns() == [1, 2, 3]
    heartbeats.heartbeat.beat()
    assert heartbeats.heartbeat.stopped
    with pytest.raises(TxnAbortedError, match="txnid:1 already aborted"):
        batch.check()
    with pytest.raises(TxnAbortedError):
        batch.commit(store.commit_txn)
    batch.close("dead")


def test_a_heartbeat_finds_what_the_store_does_not_know(store: MemoryStore) -> None:
    heartbeats = Silent()
    batch = opened(store, heartbeats=heartbeats)
    store.commit_txn(TxnId(2))
    heartbeats.heartbeat.beat()
    with pytest.raises(NoSuchTxnError, match="txnid:2"):
        batch.begin(LOCKS)


def test_after_the_last_end_the_heartbeat_stops(store: MemoryStore) -> None:
    heartbeats = Silent()
    batch = opened(store, 1, heartbeats)
    batch.begin(LOCKS)
    batch.commit(store.commit_txn)
    heartbeats.heartbeat.beat()
    assert heartbeats.heartbeat.stopped


class Holes(MemoryStore):
    """Gives out write ids with holes between them."""

    def allocate_write_ids(self, txn_ids, table):  # type: ignore[no-untyped-def]
        ids = []
        for txn_id in txn_ids:
            ids.append(self.allocate_write_id(txn_id, table))
            self.allocate_write_id(self.open_txn("bob", "h"), table)
        return ids


def test_write_ids_with_holes_are_refused(clock: Clock) -> None:
    store = Holes(clock, TxnPolicy(), "/w")
    with pytest.raises(TxnError, match="not consecutive"):
        opened(store)
    assert [t.user for t in store.show_txns() if t.state is TxnState.OPEN] == ["bob"] * 3


def test_a_failed_opening_leaves_nothing_open(store: MemoryStore) -> None:
    class Broken(Heartbeats):
        def start(self, beat, interval_s):  # type: ignore[no-untyped-def]
            raise RuntimeError("no thread")

    with pytest.raises(RuntimeError):
        opened(store, heartbeats=Broken())
    assert open_ids(store) == []


def test_still_has_write_id(store: MemoryStore) -> None:
    batch = opened(store)
    assert batch.still_has_write_id()
    store.write_ids[T] = {TxnId(9): batch.write_ids[0]}
    store.next_write_ids[T] = batch.write_ids[1]
    assert not batch.still_has_write_id()

"""A transaction's life around a block of work."""

import gc
import logging
import threading
import time
import weakref

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.errors import (
    AnalysisError,
    CommitStateUnknownError,
    ExecutionError,
    InternalError,
    LockTimeoutError,
    NoSuchTxnError,
    StorageError,
    TxnAbortedError,
    WriteConflictError,
)
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.txn.entities import (
    LockComponent,
    LockState,
    LockType,
    TxnState,
    TxnType,
    WriteOperation,
)
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import BEGUN_ANEW
from acidsql.txn.transaction import OpenTxn
from acidsql.txn.transaction import transaction as ended_by_block

T = TableName("default", "t")
UPDATE_T = [LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)]
READ_T = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.SELECT)]
FAST = TxnPolicy(timeout_s=0.002)
WHO = {"user": "ann", "host": "host1"}


def transaction(store, **how):
    return ended_by_block(OpenTxn(store, **how))


class Flaky(MemoryStore):
    """A store whose answers get lost: ``fails`` counts down per verb, before or after the work."""

    def __init__(self):
        super().__init__(lambda: 1)
        self.lost_requests = {}
        self.lost_answers = {}
        self.beats = threading.Semaphore(0)

    def _meet(self, losses, verb):
        if losses.get(verb, 0):
            losses[verb] -= 1
            raise StorageError(f"{verb}: out of reach")

    def commit_txn(self, txn_id, reached=()):
        self._meet(self.lost_requests, "commit")
        super().commit_txn(txn_id, reached)
        self._meet(self.lost_answers, "commit")

    def abort_txn(self, txn_id, reason=""):
        self._meet(self.lost_requests, "abort")
        super().abort_txn(txn_id, reason)

    def heartbeat(self, txn_id):
        self.beats.release()
        self._meet(self.lost_requests, "heartbeat")
        super().heartbeat(txn_id)

    def beat(self, count=1):
        """Wait for that many heartbeats."""
        assert all(self.beats.acquire(timeout=10) for _ in range(count))


@pytest.fixture
def store():
    return Flaky()


def states(store):
    return {t.txn_id: (t.state.name, t.meta_info) for t in store.show_txns()}


def test_a_clean_exit_commits(store):
    with transaction(store, **WHO) as txn:
        assert txn.write_id(T) == txn.write_id(T) == 1
        txn.lock(UPDATE_T)
        assert states(store) == {1: ("OPEN", "")}
        assert not txn.ended
    assert txn.ended
    assert states(store) == {}
    assert store.show_locks() == []
    assert store.valid_txns().is_valid(txn.txn_id)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("first line\nsecond"), "first line"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (SystemExit(3), "3"),
    ],
)
def test_any_exception_aborts_and_goes_on(store, error, reason):
    def work():
        with transaction(store, **WHO) as txn:
            txn.lock(UPDATE_T)
            raise error

    with pytest.raises(type(error)) as caught:
        work()
    assert caught.value is error
    assert states(store) == {1: ("ABORTED", reason)}
    assert store.show_locks() == []


def test_a_failing_abort_is_logged_and_not_raised(store, caplog):
    store.lost_requests["abort"] = 1
    with pytest.raises(ValueError, match="the cause"), transaction(store, **WHO):
        raise ValueError("the cause")
    assert [r.getMessage() for r in caplog.records] == ["aborting failed: abort: out of reach"]
    assert caplog.records[0].txn_id == 1
    assert states(store) == {1: ("OPEN", "")}


def test_what_others_have_ended_is_not_worth_a_warning(store, caplog):
    txn = OpenTxn(store, **WHO)
    store.abort_txn(txn.txn_id, "timed out")
    txn.abort_after(ValueError("the cause"))
    assert caplog.records == []
    assert states(store) == {1: ("ABORTED", "timed out")}


def test_a_lost_answer_to_a_commit_is_asked_for_again(store, caplog):
    store.lost_answers["commit"] = 1
    with caplog.at_level(logging.INFO), transaction(store, **WHO):
        pass
    assert store.valid_txns().is_valid(TxnId(1))
    assert [r.getMessage() for r in caplog.records] == ["asking for a lost commit", "committed"]


def test_a_commit_that_cannot_be_asked_for_is_unknown(store):
    store.lost_answers["commit"] = 2
    txn = OpenTxn(store, **WHO)
    with pytest.raises(CommitStateUnknownError, match="txnid:1") as caught:
        txn.commit()
    assert "out of reach" in caught.value.detail
    assert txn.ended


@pytest.mark.parametrize("times", [1, 2])
def test_a_commit_whose_answer_we_failed_to_read_is_asked_for_again(store, monkeypatch, times):
    """The store has it, and the mistake is ours."""
    commit_txn, failures = store.commit_txn, [None] * times

    def commit(txn_id):
        commit_txn(txn_id)
        if failures:
            failures.pop()
            raise InternalError("commit_txn: a mistake of ours")

    monkeypatch.setattr(store, "commit_txn", commit)
    txn = OpenTxn(store, **WHO)
    if times == 1:
        txn.commit()
    else:
        with pytest.raises(CommitStateUnknownError, match="txnid:1"):
            txn.commit()
    assert store.valid_txns().is_valid(TxnId(1))
    assert txn.ended


def test_an_error_before_the_commit_leaves_the_transaction_to_be_aborted(store):
    """As where a metastore refuses a new partition of an INSERT."""

    def refused(_: TxnId) -> None:
        raise AnalysisError("Partition already exists")

    txn = OpenTxn(store, user="ann", host="here")
    with pytest.raises(AnalysisError, match="already exists"):
        txn.commit(refused)
    assert txn.owns_files()
    txn.abort_after(AnalysisError("Partition already exists"))
    assert txn.txn_id in store.valid_txns().aborted


def test_a_lost_conflict_is_raised(store):
    def work():
        with transaction(store, **WHO) as slow:
            slow.write_id(T)
            with transaction(store, **WHO) as fast:
                fast.write_id(T)
                fast.lock(UPDATE_T)
            slow.lock(UPDATE_T)

    with pytest.raises(WriteConflictError):
        work()
    assert states(store)[1][0] == "ABORTED"


def test_ending_early_and_twice(store):
    with transaction(store, **WHO) as txn:
        txn.commit()
        txn.commit()
        txn.abort()
    with transaction(store, **WHO) as txn:
        txn.abort("enough")
        txn.commit()
    assert states(store) == {2: ("ABORTED", "enough")}


def test_a_reader_is_closed_by_its_owner_from_many_threads(store):
    reader = OpenTxn(store, **WHO, type=TxnType.READ_ONLY)
    reader.lock(READ_T)
    threads = [threading.Thread(target=reader.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reader.ended
    assert states(store) == {}
    assert store.show_locks() == []


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_reader_that_was_timed_out_is_closed_without_an_error(store, trimmed):
    reader = OpenTxn(store, **WHO, type=TxnType.READ_ONLY)
    store.abort_txn(reader.txn_id, "timed out")
    if trimmed:
        del store.txns[reader.txn_id]
    reader.close()
    assert reader.ended


def test_the_snapshot_is_fixed_at_first_use(store):
    writer = store.open_txn(**WHO)
    store.allocate_write_id(writer, T)
    with transaction(store, **WHO) as early, transaction(store, **WHO) as late:
        before = early.snapshot([T])
        store.commit_txn(writer)
        assert early.snapshot([T]) == before
        assert str(before[T]) == "default.t:1:1:1:"
        assert str(late.snapshot([T])[T]) == "default.t:1:9223372036854775807::"


def test_own_writes_are_in_the_snapshot(store):
    with transaction(store, **WHO) as txn:
        write_id = txn.write_id(T)
        assert txn.snapshot([T])[T].is_valid(write_id)


# -- waiting for locks ------------------------------------------------------------------------


def test_waiting_looks_again_after_growing_pauses(store):
    holder = store.open_txn(**WHO)
    store.lock(holder, UPDATE_T, **WHO)
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            store.abort_txn(holder)

    with transaction(store, **WHO, sleep=sleep) as txn:
        txn.lock(UPDATE_T)
        assert [k.txn_id for k in store.show_locks()] == [txn.txn_id]
    assert pauses == [0.1, 0.2, 0.4]


def test_giving_up_names_the_blocker_and_withdraws(store):
    holder = store.open_txn(**WHO)
    store.lock(holder, UPDATE_T, **WHO)
    pauses = []
    policy = TxnPolicy(lock_retries=2)
    with transaction(store, **WHO, policy=policy, sleep=pauses.append) as txn:
        with pytest.raises(LockTimeoutError, match="lockid:2") as caught:
            txn.lock(UPDATE_T)
        assert [k.txn_id for k in store.show_locks()] == [holder]
        assert states(store)[txn.txn_id] == ("OPEN", "")
    assert pauses == [0.1, 0.2]
    assert caught.value.code == 10307
    assert "lockid:1 of txnid:1 (ann@host1)" in caught.value.detail


@pytest.mark.parametrize("setting", ["xlock_iow", "write_xlock"])
def test_a_read_does_not_wait_if_writers_let_readers_in(store, setting):
    """Only a definition can be in its way then (Hive: zeroWaitReadEnabled)."""
    holder = store.open_txn(**WHO)
    store.lock(holder, [LockComponent(LockType.EXCLUSIVE, "default", "t")], **WHO)
    pauses = []
    how = {"policy": TxnPolicy(lock_retries=2, **{setting: False}), "sleep": pauses.append}
    with transaction(store, **WHO, **how) as txn:
        with pytest.raises(LockTimeoutError, match="Unable to acquire read lock") as caught:
            txn.lock(READ_T)
        assert [k.txn_id for k in store.show_locks()] == [holder]
        assert pauses == []
        with pytest.raises(LockTimeoutError, match="not granted in time"):
            txn.lock(UPDATE_T)
    assert "lockid:1 of txnid:1 (ann@host1)" in caught.value.detail
    assert pauses == [0.1, 0.2]


def test_an_interrupted_wait_is_withdrawn(store):
    holder = store.open_txn(**WHO)
    store.lock(holder, UPDATE_T, **WHO)

    def interrupt(_):
        raise KeyboardInterrupt

    txn = OpenTxn(store, **WHO, sleep=interrupt)
    with pytest.raises(KeyboardInterrupt):
        txn.lock(UPDATE_T)
    assert [k.txn_id for k in store.show_locks()] == [holder]
    txn.abort()


def test_a_txn_aborted_while_it_waits_is_told_so(store):
    holder = store.open_txn(**WHO)
    store.lock(holder, UPDATE_T, **WHO)
    txn = OpenTxn(store, **WHO, sleep=lambda _: store.abort_txn(TxnId(2), "by ann"))
    with pytest.raises(TxnAbortedError) as caught:
        txn.lock(UPDATE_T)
    txn.abort()
    assert caught.value.detail == "Reason: by ann."
    assert [k.txn_id for k in store.show_locks()] == [holder]


def test_the_first_locks_come_with_the_txn(store):
    txn = OpenTxn(store, **WHO, tables=[T], components=UPDATE_T)
    txn.lock(UPDATE_T)
    assert [(k.txn_id, k.lock_id) for k in store.show_locks()] == [(txn.txn_id, 1)]
    assert (txn.granted_on_open, txn.write_id(T)) == (True, 1)
    txn.lock(READ_T)
    assert len(store.show_locks()) == 2
    txn.commit()


def test_the_first_locks_are_waited_for(store):
    holder = store.open_txn(**WHO)
    store.lock(holder, UPDATE_T, **WHO)
    how = {"tables": [T], "components": UPDATE_T, "sleep": lambda _: store.abort_txn(holder)}
    txn = OpenTxn(store, **WHO, **how)
    assert [k.txn_id for k in store.show_locks()] == [holder, txn.txn_id]
    txn.lock(UPDATE_T)
    assert [k.state.name for k in store.show_locks()] == ["ACQUIRED"]
    assert not txn.granted_on_open
    txn.commit()


def test_an_heir_is_granted_what_a_woken_transaction_waited_for(store):
    """Its snapshot is later than what the other one waited for."""
    holder = store.open_txn(**WHO)
    store.lock(holder, UPDATE_T, **WHO)
    asked = {"tables": [T], "components": UPDATE_T}
    waiter = OpenTxn(store, **WHO, **asked)
    threading.Timer(0.01, store.commit_txn, [holder]).start()
    assert not waiter.lock(UPDATE_T, until_woken=True)
    [request] = store.show_locks()
    assert request.state is LockState.WAITING
    with transaction(store, **WHO, **asked, heir_of=waiter) as txn:
        assert txn.granted_on_open
        assert txn.lock(UPDATE_T, until_woken=True)
        [lock] = store.show_locks()
        assert (lock.lock_id, lock.txn_id) == (request.lock_id, txn.txn_id)
        assert states(store)[waiter.txn_id] == ("ABORTED", BEGUN_ANEW)
        assert holder not in txn.valid_txns.open


def test_nothing_to_lock(store):
    with transaction(store, **WHO) as txn:
        txn.lock([])
    assert store.next_lock_id == 1


# -- heartbeats -------------------------------------------------------------------------------


def test_the_heart_beats_until_the_end(store):
    with transaction(store, **WHO, policy=FAST) as txn:
        store.beat(3)
        txn.check()
    assert txn._heartbeat.stopped


def test_a_failing_heartbeat_is_tried_again(store):
    store.lost_requests["heartbeat"] = 2
    with transaction(store, **WHO, policy=FAST) as txn:
        store.beat(4)
        txn.check()


def test_nobody_keeps_alive_what_nobody_has(store):
    """As Ctrl-C may leave it, between two steps of the statement that had opened it."""
    txn = OpenTxn(store, **WHO, policy=FAST)
    heartbeat, known = txn._heartbeat, weakref.ref(txn)
    store.beat()
    del txn
    while not heartbeat.stopped:
        gc.collect()
        time.sleep(0.001)
    assert known() is None
    assert states(store)[1][0] == "OPEN"


@pytest.mark.parametrize(
    ("end", "error"), [("abort_txn", TxnAbortedError), ("commit_txn", NoSuchTxnError)]
)
def test_what_the_heart_is_told_comes_up_in_check(store, end, error):
    txn = OpenTxn(store, **WHO, policy=FAST)
    getattr(MemoryStore, end)(store, txn.txn_id)
    while not txn._heartbeat.stopped:
        time.sleep(0.001)
    with pytest.raises(error):
        txn.check()
    assert not txn.ended
    txn.abort_after(error("over"))


def test_a_transaction_without_a_heartbeat_is_aborted(store, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(ExecutionError, match="no thread"):
        OpenTxn(store, **WHO, heartbeats=Heartbeats(1))
    assert [txn.state for txn in store.show_txns()] == [TxnState.ABORTED]


def test_a_transaction_that_only_reads_sees_all_commits_before_its_snapshot():
    store = MemoryStore(lambda: 1)
    early = store.open_txn("bob", "host1")
    reader = OpenTxn(store, **WHO, type=TxnType.READ_ONLY)
    writer = OpenTxn(store, **WHO)
    late = store.open_txn("bob", "host1")
    store.commit_txn(late)
    store.commit_txn(early)
    assert reader.valid_txns.is_valid(late)
    assert reader.valid_txns.is_valid(early)
    assert not writer.valid_txns.is_valid(late)
    for txn in (reader, writer):
        txn.abort()

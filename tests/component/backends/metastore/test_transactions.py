"""Conversations about transactions, locks and compactions, as Hive 3.1 and 4.x hold them.

Built from what is known of servers of versions and vendors that cannot all be run here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.idl import hms
from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    CompactionRefusedError,
    DeadlockError,
    LockTimeoutError,
    NoSuchTxnError,
    StorageError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    TxnError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.model.ids import CompactionId, LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.conflict import Winner
from acidsql.txn.entities import (
    AbortedCompaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
    LockComponent,
    LockState,
    LockType,
    Reached,
    TxnState,
    TxnType,
    WriteOperation,
)
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn
from tests.component.backends.metastore.server import FakeMetastore, HangUpError, internal_error

TABLE = TableName("sales", "orders")
UPDATE = LockComponent(LockType.EXCL_WRITE, "sales", "orders", None, WriteOperation.UPDATE)
Open = Callable[..., tuple[FakeMetastore, MetastoreStore]]


@pytest.fixture
def metastore() -> Iterator[Open]:
    """Makes a server of the given methods, and a store over it."""
    servers, stores = [], []

    def make(
        policy: TxnPolicy | None = None, **handlers: Callable[..., Any]
    ) -> tuple[FakeMetastore, MetastoreStore]:
        server = FakeMetastore(**handlers)
        servers.append(server)
        stores.append(MetastoreStore(server.url, user="ann", policy=policy, sleep=lambda _: None))
        return server, stores[-1]

    yield make
    for store in stores:
        store.close()
    for server in servers:
        server.__exit__(None, None, None)


def raising(error: Exception) -> Callable[..., Any]:
    def handler(*_: Any) -> Any:
        raise error

    return handler


def in_turn(*steps: Any) -> Callable[..., Any]:
    """Answers, or errors to raise, one after the other."""
    left = iter(steps)

    def handler(*_: Any) -> Any:
        step = next(left)
        if isinstance(step, Exception):
            raise step
        return step

    return handler


def open_txns(mark: int, ids: list[int], aborted: bytes = b"") -> Any:
    return hms.GetOpenTxnsResponse(mark, ids, None, aborted)


def write_ids(mark: int, invalid: list[int], aborted: bytes = b"") -> Any:
    ids = hms.TableValidWriteIds("sales.orders", mark, invalid, None, aborted)
    return hms.GetValidWriteIdsResponse([ids])


def infos(states: dict[int, Any]) -> Any:
    """A GetOpenTxnsInfoResponse."""
    told = [
        hms.TxnInfo(id=i, state=state, user="ann", hostname="here", agentInfo="Unknown")
        for i, state in states.items()
    ]
    return hms.GetOpenTxnsInfoResponse(max(states), told)


# -- the limit of open transactions

REFUSED = internal_error("Internal error processing open_txns")
OPEN, ABORTED = hms.TxnState.OPEN, hms.TxnState.ABORTED


@pytest.mark.parametrize(
    ("limit", "there", "kind"),
    [
        ("10", [OPEN] * 9, TooManyOpenTxnsError),
        ("10", [OPEN] * 8 + [ABORTED] * 8, StorageError),
        ("", [OPEN] * 9, StorageError),
    ],
)
def test_no_transaction_is_opened(
    metastore: Open, limit: str, there: list[Any], kind: type[AcidSqlError]
) -> None:
    """What a server says is the same whatever the reason."""
    _, store = metastore(
        open_txns=raising(REFUSED),
        get_config_value=lambda name, default: limit if name == "hive.max.open.txns" else default,
        get_open_txns_info=lambda: infos(dict(enumerate(there, 1))),
    )
    with pytest.raises(kind) as caught:
        store.open_txn("ann", "here")
    if kind is StorageError:
        assert caught.value.detail == "Internal error processing open_txns."
        assert caught.value.hint == "The metastore's log says why."
    else:
        assert caught.value.detail == "9 transactions are open in the metastore, whose limit is 10."


# -- snapshots


def test_a_snapshot_of_hive_4(metastore: Open) -> None:
    asked = []

    def answer(request: Any) -> Any:
        asked.append(request.excludeTxnTypes)
        # The second and the ninth are aborted; those above the own id are of no interest.
        return open_txns(20, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15], bytes([0b10, 0b1]))

    _, store = metastore(get_open_txns_req=answer, get_config_value=lambda *_: "")
    valid = store.valid_txns(TxnId(12))
    assert str(valid) == "12:3:3,5,6,7,8,9,10:4,11"
    assert asked == [[hms.TxnType.READ_ONLY]]
    assert store.valid_txns().high_watermark == 20


def test_a_snapshot_of_hive_3(metastore: Open) -> None:
    server, store = metastore(get_open_txns=lambda: open_txns(8, [5, 3], bytes([0b10])))
    assert str(store.valid_txns()) == "8:5:5:3"
    assert server.names == ["get_open_txns_req", "get_open_txns"]


def test_the_write_ids_of_several_tables_in_one_call(metastore: Open) -> None:
    other = TableName("sales", "parts")
    asked = []

    def answer(request: Any) -> Any:
        asked.append((request.fullTableNames, request.validTxnList))
        parts = hms.TableValidWriteIds("sales.parts", 4, [], None, b"")
        orders = hms.TableValidWriteIds("sales.orders", 9, [6, 7, 8], 6, bytes([0b110]))
        return hms.GetValidWriteIdsResponse([parts, orders])

    _, store = metastore(get_valid_write_ids=answer)
    valid = store.valid_write_ids([TABLE, other], ValidTxnList(TxnId(9), frozenset({TxnId(5)})))
    assert asked == [(["sales.orders", "sales.parts"], "9:5:5:")]
    assert valid == {
        TABLE: ValidWriteIdList.parse("sales.orders:9:6:6:7,8"),
        other: ValidWriteIdList.parse("sales.parts:4:9223372036854775807::"),
    }
    assert store.valid_write_ids([], ValidTxnList(TxnId(9))) == {}


def test_the_cleaner_is_told_what_is_read_where_it_wants_to_know(metastore: Open) -> None:
    """From facts: metastore.txn.use.minhistorywriteid of late 4.x."""
    pinned = []
    server, store = metastore(
        get_config_value=lambda key, _: str(key == "metastore.txn.use.minhistorywriteid"),
        get_open_txns_req=lambda _: open_txns(9, [9]),
        get_valid_write_ids=lambda _: write_ids(7, [5, 6], bytes([0b10])),
        add_write_ids_to_min_history=lambda txn, ids: pinned.append((txn, ids)),
        commit_txn=lambda _: None,
    )
    view = store.valid_txns(TxnId(9))
    for _ in range(2):
        store.valid_write_ids([TABLE], view)
    store.valid_write_ids([TABLE], store.valid_txns())
    assert pinned == [(9, {"sales.orders": 5})]
    store.commit_txn(TxnId(9))
    store.valid_write_ids([TABLE], view)
    assert pinned == [(9, {"sales.orders": 5})], "nobody reads under it any more"
    assert server.names.count("get_config_value") == 1


def test_whether_the_cleaner_is_told_is_not_decided_by_a_failure(metastore: Open) -> None:
    answers = iter([internal_error("overloaded"), "true"])
    pinned = []

    def setting(*_: object) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    _, store = metastore(
        get_config_value=setting,
        get_open_txns_req=lambda _: open_txns(9, [9]),
        get_valid_write_ids=lambda _: write_ids(7, [5, 6], bytes([0b10])),
        add_write_ids_to_min_history=lambda txn, ids: pinned.append((txn, ids)),
    )
    with pytest.raises(StorageError, match="overloaded"):
        store.valid_txns(TxnId(9))
    store.valid_write_ids([TABLE], store.valid_txns(TxnId(9)))
    assert pinned == [(9, {"sales.orders": 5})]


# -- the life of a transaction


def test_opening_says_the_type(metastore: Open) -> None:
    requests = []

    def answer(request: Any) -> Any:
        requests.append(request)
        return hms.OpenTxnsResponse([41])

    _, store = metastore(open_txns=answer)
    assert store.open_txn("ann", "here", TxnType.READ_ONLY) == 41
    (request,) = requests
    assert (request.num_txns, request.user, request.hostname) == (1, "ann", "here")
    assert request.txn_type == hms.TxnType.READ_ONLY
    with pytest.raises(TxnError, match="Invalid input for number of txns: 0"):
        store.open_txns(0, "ann", "here")


def test_committing_has_the_server_look_for_conflicts(metastore: Open) -> None:
    """From facts: 4.x looks only if the client says that it does not rely on EXCL_WRITE."""
    requests = []
    _, store = metastore(commit_txn=requests.append)
    store.commit_txn(TxnId(9))
    assert (requests[0].txnid, requests[0].exclWriteEnabled) == (9, False)


def open_txn(store: MetastoreStore) -> OpenTxn:
    return OpenTxn(store, user="ann", host="here")


OPENS = {"open_txns": lambda _: hms.OpenTxnsResponse([9]), "heartbeat": lambda _: None}


def test_a_lost_answer_to_a_commit_of_hive_4(metastore: Open) -> None:
    """From facts: there a second commit is silent."""
    server, store = metastore(commit_txn=in_turn(HangUpError(), None), **OPENS)
    open_txn(store).commit()
    assert server.names.count("commit_txn") == 2


def test_a_lost_answer_to_a_commit_of_hive_3(metastore: Open) -> None:
    """From facts: there it is told that the transaction is committed, if it wrote anything."""
    gone = hms.NoSuchTxnException("Transaction txnid:9 is already committed.")
    server, store = metastore(commit_txn=in_turn(HangUpError(), gone), **OPENS)
    open_txn(store).commit()
    assert server.names.count("commit_txn") == 2


def first_calls(lock: Callable[..., Any], **others: Callable[..., Any]) -> dict[str, Any]:
    allocated = hms.AllocateTableWriteIdsResponse([hms.TxnToWriteId(9, 4)])
    return {
        "open_txns": lambda _: hms.OpenTxnsResponse([9]),
        "allocate_table_write_ids": lambda _: allocated,
        "get_latest_txnid_in_conflict": lambda _: 0,
        "lock": lock,
        **others,
    }


def test_the_first_calls_of_a_statement_are_several_steps(metastore: Open) -> None:
    granted = hms.LockResponse(7, hms.LockState.ACQUIRED)
    ends = {"heartbeat": lambda _: None, "abort_txn": lambda _: None}
    server, store = metastore(**first_calls(lambda _: granted, **ends))
    opened = store.open_locked("ann", "here", TxnType.DEFAULT, [TABLE], [UPDATE])
    assert (opened.txn_id, opened.write_ids, opened.in_one_step) == (9, {TABLE: 4}, False)
    asked = [n for n in server.names if n != "get_latest_txnid_in_conflict"]
    assert asked == ["open_txns", "allocate_table_write_ids", "lock"]
    heartbeats = Heartbeats(1)
    txn = OpenTxn(
        store, user="ann", host="here", heartbeats=heartbeats, tables=[TABLE], components=[UPDATE]
    )
    # Somebody may have come in between: it has to look whether it was overtaken.
    assert not txn.granted_on_open
    txn.abort()


@pytest.mark.parametrize("ended", [None, hms.NoSuchTxnException("no txnid:9")])
def test_an_outdated_transaction_is_aborted_and_forgotten(
    metastore: Open, ended: Exception | None
) -> None:
    granted = hms.LockResponse(7, hms.LockState.ACQUIRED)
    numbers = iter([9, 10])
    calls = first_calls(lambda _: granted, abort_txn=in_turn(ended))
    calls["open_txns"] = lambda _: hms.OpenTxnsResponse([next(numbers)])
    calls["allocate_table_write_ids"] = lambda request: hms.AllocateTableWriteIdsResponse(
        [hms.TxnToWriteId(request.txnIds[0], request.txnIds[0])]
    )
    server, store = metastore(**calls)
    request = ("ann", "here", TxnType.DEFAULT, [TABLE], [UPDATE])
    old = store.open_locked(*request)
    new = store.open_locked(*request, heir_of=old.txn_id)
    assert (new.txn_id, new.response.state) == (10, LockState.ACQUIRED)
    assert server.names.count("abort_txn") == 1
    assert "get_open_txns_info" not in server.names
    assert old.txn_id not in store._opened
    assert old.txn_id not in store._held


def test_transactions_opened_at_once_come_in_the_order_of_their_ids(metastore: Open) -> None:
    def allocate(request: Any) -> Any:
        # Hive sorts the transactions before it gives them write ids.
        pairs = zip(sorted(request.txnIds), range(2, 6), strict=True)
        return hms.AllocateTableWriteIdsResponse([hms.TxnToWriteId(t, w) for t, w in pairs])

    _, store = metastore(
        open_txns=lambda _: hms.OpenTxnsResponse([10, 11, 12, 9]), allocate_table_write_ids=allocate
    )
    txn_ids = store.open_txns(4, "ann", "here")
    assert txn_ids == [9, 10, 11, 12]
    assert store.allocate_write_ids(txn_ids, TABLE) == [2, 3, 4, 5]


def test_what_is_refused_its_locks_is_not_left_open(metastore: Open) -> None:
    refused = hms.LockResponse(7, hms.LockState.NOT_ACQUIRED, "Unable to acquire read lock")
    server, store = metastore(**first_calls(lambda _: refused, abort_txn=lambda _: None))
    with pytest.raises(LockTimeoutError, match="Unable to acquire"):
        store.open_locked("ann", "here", TxnType.DEFAULT, [TABLE], [UPDATE])
    assert server.names[-1] == "abort_txn"


def test_what_was_reached_is_told_once_before_the_commit(metastore: Open) -> None:
    server, store = metastore(
        add_dynamic_partitions=lambda _: None, commit_txn=in_turn(HangUpError(), None)
    )
    reached = [Reached(WriteId(4), TABLE, ["d=1"], WriteOperation.INSERT)]
    with pytest.raises(StorageError):
        store.commit_txn(TxnId(9), reached)
    store.commit_txn(TxnId(9), reached)
    assert server.names == ["add_dynamic_partitions", "commit_txn", "commit_txn"]


def test_a_lost_answer_to_an_empty_commit_of_hive_3(metastore: Open) -> None:
    """From facts: there one that recorded nothing is forgotten at once."""
    gone = hms.NoSuchTxnException("No such transaction txnid:9")
    server, store = metastore(commit_txn=in_turn(HangUpError(), gone, gone), **OPENS)
    open_txn(store).commit()
    store.commit_txn(TxnId(9))
    assert server.names.count("commit_txn") == 2
    with pytest.raises(NoSuchTxnError):
        store.commit_txn(TxnId(10))


def test_a_lost_commit_that_was_lost_indeed(metastore: Open) -> None:
    aborted = hms.TxnAbortedException("Transaction txnid:9 already aborted")
    _, store = metastore(commit_txn=in_turn(HangUpError(), aborted), **OPENS)
    with pytest.raises(TxnAbortedError):
        open_txn(store).commit()


def test_a_commit_that_is_never_answered(metastore: Open) -> None:
    _, store = metastore(commit_txn=raising(HangUpError()), **OPENS)
    with pytest.raises(CommitStateUnknownError, match="not known whether txnid:9"):
        open_txn(store).commit()


def test_aborting_those_that_are_open(metastore: Open) -> None:
    infos = [
        hms.TxnInfo(5, hms.TxnState.OPEN, "bob", "there", startedTime=1000, lastHeartbeatTime=2000),
        hms.TxnInfo(6, hms.TxnState.ABORTED, "bob", "there", metaInfo="rollback"),
    ]
    requests = []
    server, store = metastore(
        get_open_txns_info=lambda: hms.GetOpenTxnsInfoResponse(6, infos),
        abort_txns=requests.append,
    )
    assert store.abort_txns([TxnId(4), TxnId(5), TxnId(6)]) == [5]
    assert requests[0].txn_ids == [5]
    assert store.abort_txns([TxnId(6)]) == []
    assert server.names.count("abort_txns") == 1
    txns = store.show_txns()
    assert [(t.txn_id, t.state, t.started_ms, t.meta_info) for t in txns] == [
        (5, TxnState.OPEN, 1000, ""),
        (6, TxnState.ABORTED, 0, "rollback"),
    ]


@pytest.mark.parametrize("failure", [internal_error("Internal error"), HangUpError()])
def test_a_write_id_that_is_refused(metastore: Open, failure: Exception) -> None:
    """As seen: neither Hive 4.0.1 nor 3.1.3 says that it is because the transaction has ended."""
    aborted = hms.TxnAbortedException("Transaction txnid:9 already aborted")
    _, store = metastore(
        allocate_table_write_ids=raising(failure),
        add_dynamic_partitions=raising(failure),
        heartbeat=in_turn(aborted, aborted, None),
    )
    with pytest.raises(TxnAbortedError):
        store.allocate_write_id(TxnId(9), TABLE)
    with pytest.raises(TxnAbortedError):
        store.add_dynamic_partitions(TxnId(9), WriteId(4), TABLE, ["p=1"], WriteOperation.INSERT)
    with pytest.raises(StorageError, match="allocate_table_write_ids"):
        store.allocate_write_id(TxnId(9), TABLE)


def test_dynamic_partitions_with_their_operation(metastore: Open) -> None:
    requests = []
    _, store = metastore(add_dynamic_partitions=requests.append)
    store.add_dynamic_partitions(TxnId(9), WriteId(4), TABLE, ["d=1"], WriteOperation.DELETE)
    assert requests[0].operationType == hms.DataOperationType.DELETE
    assert requests[0].partitionnames == ["d=1"]


# -- locks


def answers_lock(requests: list[Any], state: int, message: str | None = None) -> Any:
    def answer(request: Any) -> Any:
        requests.append(request)
        return hms.LockResponse(3, state, message)

    return answer


def test_a_lock_of_hive_4_says_everything(metastore: Open) -> None:
    requests: list[Any] = []
    _, store = metastore(
        lock=answers_lock(requests, hms.LockState.ACQUIRED),
        get_latest_txnid_in_conflict=lambda _: 0,
    )
    components = [
        UPDATE,
        LockComponent(LockType.SHARED_READ, "sales", transactional=False),
        LockComponent(
            LockType.SHARED_READ, "sales", "parts", "d=1", WriteOperation.INSERT, dynamic=True
        ),
    ]
    response = store.lock(TxnId(9), components, "ann", "here", "query 1")
    assert (response.lock_id, response.state) == (3, LockState.ACQUIRED)
    (request,) = requests
    assert (request.txnid, request.user, request.hostname) == (9, "ann", "here")
    assert (request.agentInfo, request.zeroWaitReadEnabled) == ("acidsql query 1", False)
    assert [
        (c.type, c.level, c.operationType, c.isTransactional, c.isDynamicPartitionWrite)
        for c in request.component
    ] == [
        (hms.LockType.EXCL_WRITE, hms.LockLevel.TABLE, hms.DataOperationType.UPDATE, True, False),
        (hms.LockType.SHARED_READ, hms.LockLevel.DB, hms.DataOperationType.NO_TXN, False, False),
        (
            hms.LockType.SHARED_READ, hms.LockLevel.PARTITION, hms.DataOperationType.INSERT,
            True, True,
        ),
    ]  # fmt: skip


def test_what_is_held_is_not_asked_for_again(metastore: Open) -> None:
    """As seen: the metastore would have it wait behind those who wait for the transaction."""
    requests: list[Any] = []
    server, store = metastore(
        lock=answers_lock(requests, hms.LockState.ACQUIRED),
        get_latest_txnid_in_conflict=lambda _: 0,
        heartbeat=lambda _: None,
    )
    read = LockComponent(LockType.SHARED_READ, "sales", "orders", "d=1", WriteOperation.SELECT)
    insert = LockComponent(LockType.SHARED_READ, "sales", "orders", None, WriteOperation.INSERT)
    partition = LockComponent(LockType.SHARED_READ, "sales", "orders", "d=1", WriteOperation.INSERT)
    drop = LockComponent(LockType.EXCLUSIVE, "sales", "orders")
    for component in (insert, read, UPDATE, UPDATE, insert, read, partition, drop, read):
        assert store.lock(TxnId(9), [component], "ann", "here").state is LockState.ACQUIRED
    asked = [(r.component[0].type, r.component[0].partitionname) for r in requests]
    assert asked == [
        (hms.LockType.SHARED_READ, None),
        (hms.LockType.EXCL_WRITE, None),
        (hms.LockType.SHARED_READ, "d=1"),
        (hms.LockType.EXCLUSIVE, None),
    ]
    assert server.names.count("heartbeat") == 5, "the transaction may have been lost meanwhile"
    store.lock(TxnId(10), [read], "ann", "here")
    assert len(requests) == 5, "another one's do not count"


def test_who_changes_a_table_needs_no_lock_on_its_partitions(metastore: Open) -> None:
    requests: list[Any] = []
    _, store = metastore(
        lock=answers_lock(requests, hms.LockState.ACQUIRED),
        get_latest_txnid_in_conflict=lambda _: 0,
        heartbeat=lambda _: None,
    )
    table = replace(UPDATE, dynamic=True)
    partition = replace(table, partition="d=1")
    for component in (table, partition, replace(partition, dynamic=False)):
        store.lock(TxnId(9), [component], "ann", "here")
    # What is recorded for a partition alone has to be asked for.
    found = [
        (r.component[0].partitionname, r.component[0].isDynamicPartitionWrite) for r in requests
    ]
    assert found == [(None, True), ("d=1", False)]


def test_a_lock_that_was_waited_for_is_held(metastore: Open) -> None:
    server, store = metastore(
        lock=lambda _: hms.LockResponse(3, hms.LockState.WAITING),
        check_lock=in_turn(
            hms.LockResponse(3, hms.LockState.WAITING), hms.LockResponse(3, hms.LockState.ACQUIRED)
        ),
        show_locks=lambda _: hms.ShowLocksResponse([]),
        get_open_txns=lambda: open_txns(9, [9]),
        heartbeat=lambda _: None,
    )
    store.lock(TxnId(9), [UPDATE], "ann", "here")
    assert store.check_lock(LockId(3)).state is LockState.WAITING
    assert store.lock(TxnId(9), [UPDATE], "ann", "here").state is LockState.WAITING
    assert store.check_lock(LockId(3)).state is LockState.ACQUIRED
    assert store.lock(TxnId(9), [UPDATE], "ann", "here").state is LockState.ACQUIRED
    assert server.names.count("lock") == 2


def test_hive_3_has_no_excl_write(metastore: Open) -> None:
    requests: list[Any] = []
    server, store = metastore(lock=answers_lock(requests, hms.LockState.ACQUIRED))
    for txn_id in (9, 10):
        store.lock(TxnId(txn_id), [UPDATE], "ann", "here")
    assert [r.component[0].type for r in requests] == [hms.LockType.SHARED_WRITE] * 2
    assert server.names == ["get_latest_txnid_in_conflict", "lock", "lock"]


def test_a_read_that_does_not_wait(metastore: Open) -> None:
    """From facts: NOT_ACQUIRED of 4.x, where hive.txn.xlock.iow is off."""
    requests: list[Any] = []
    message = "Unable to acquire read lock due to an existing exclusive lock {lockid:2 …}"
    _, store = metastore(
        TxnPolicy(xlock_iow=False),
        lock=answers_lock(requests, hms.LockState.NOT_ACQUIRED, message),
        get_latest_txnid_in_conflict=lambda _: 0,
    )
    with pytest.raises(LockTimeoutError, match="existing exclusive lock") as caught:
        store.lock(TxnId(9), [UPDATE], "ann", "here")
    assert caught.value.code == 10307
    assert requests[0].zeroWaitReadEnabled is True


def lock_row(lock_id: int, state: int, **more: Any) -> Any:
    return hms.ShowLocksResponseElement(
        lockid=lock_id, dbname="sales", tablename="orders", state=state,
        type=hms.LockType.EXCLUSIVE, txnid=lock_id + 10, lastheartbeat=0, user="bob",
        hostname="there", lockIdInternal=1, **more,
    )  # fmt: skip


def test_who_waits_is_told_for_whom(metastore: Open) -> None:
    rows = [
        lock_row(3, hms.LockState.WAITING, blockedByExtId=2, blockedByIntId=1),
        lock_row(2, hms.LockState.ACQUIRED, acquiredat=1234),
    ]
    _, store = metastore(
        check_lock=lambda _: hms.LockResponse(3, hms.LockState.WAITING),
        show_locks=lambda _: hms.ShowLocksResponse(rows),
    )
    response = store.check_lock(LockId(3))
    assert response.state is LockState.WAITING
    assert response.blocked_by == (
        "lockid:2 of txnid:12 (bob@there), EXCLUSIVE acquired on sales/orders"
    )
    assert [(x.lock_id, x.acquired_at_ms) for x in store.show_locks()] == [(2, 1234), (3, None)]


def test_who_waits_in_a_circle_gives_way(metastore: Open) -> None:
    """From facts: before 4.1 nobody else sees to it. The youngest here, 14, is Hive's."""
    waiting, acquired = hms.LockState.WAITING, hms.LockState.ACQUIRED
    rows = [
        lock_row(1, acquired, agentInfo="acidsql"),
        lock_row(2, acquired, agentInfo="acidsql"),
        lock_row(4, acquired, agentInfo="hive_2026"),
        lock_row(11, waiting, agentInfo="acidsql", blockedByExtId=2),
        lock_row(12, waiting, agentInfo="acidsql", blockedByExtId=4),
        lock_row(14, waiting, agentInfo="hive_2026", blockedByExtId=1),
    ]
    for row in rows:
        row.txnid = row.lockid % 10
    aborted = []
    _, store = metastore(
        open_txns=in_turn(hms.OpenTxnsResponse([1]), hms.OpenTxnsResponse([2])),
        show_locks=lambda _: hms.ShowLocksResponse(rows),
        abort_txn=lambda request: aborted.append(request.txnid),
        heartbeat=raising(hms.TxnAbortedException("Transaction txnid:2 already aborted")),
    )
    store.open_txn("ann", "here")
    assert store.resolve_deadlocks() == [], "the other session of ours is to give way"
    store.open_txn("ann", "here")
    assert store.resolve_deadlocks() == [2]
    assert aborted == [2]
    with pytest.raises(DeadlockError) as caught:
        store.heartbeat(TxnId(2))
    assert caught.value.detail == "Reason: deadlock with txnid:1, txnid:4."


def test_unlocking_twice(metastore: Open) -> None:
    granted = hms.TxnOpenException("Unlocking locks associated with transaction not permitted.")
    _, store = metastore(unlock=in_turn(None, hms.NoSuchLockException("No such lock"), granted))
    store.unlock(LockId(3))
    store.unlock(LockId(3))
    with pytest.raises(TxnError, match="not permitted"):
        store.unlock(LockId(3))


def test_who_won_in_hive_4(metastore: Open) -> None:
    _, store = metastore(get_latest_txnid_in_conflict=in_turn(0, -1, 8))
    found = [store.latest_txn_in_conflict(TxnId(9)) for _ in range(3)]
    assert found == [None, None, Winner(TxnId(8))]


def test_who_won_in_hive_3(metastore: Open) -> None:
    """It cannot be asked: what was committed while the transaction waited for its lock counts."""
    _, store = metastore(
        lock=lambda _: hms.LockResponse(3, hms.LockState.WAITING),
        show_locks=lambda _: hms.ShowLocksResponse([]),
        get_open_txns=in_turn(open_txns(9, [8, 9]), open_txns(10, [9, 10])),
        get_valid_write_ids=in_turn(write_ids(5, [5]), write_ids(5, [])),
    )
    assert store.latest_txn_in_conflict(TxnId(9)) is None
    store.lock(TxnId(9), [UPDATE], "ann", "here")
    assert store.latest_txn_in_conflict(TxnId(9)) == Winner(TxnId(8))


def test_nobody_won_in_hive_3(metastore: Open) -> None:
    _, store = metastore(
        lock=lambda _: hms.LockResponse(3, hms.LockState.WAITING),
        show_locks=lambda _: hms.ShowLocksResponse([]),
        get_open_txns=in_turn(open_txns(9, [8, 9]), open_txns(9, [8, 9], bytes([1]))),
        get_valid_write_ids=in_turn(write_ids(5, [5]), write_ids(5, [5], bytes([1]))),
    )
    store.lock(TxnId(9), [UPDATE], "ann", "here")
    assert store.latest_txn_in_conflict(TxnId(9)) is None


# -- compactions


def info(number: int, kind: int) -> Any:
    struct = hms.CompactionInfoStruct(
        id=number, dbname="sales", tablename="orders", type=kind, workerId="w", start=5
    )
    # A field of a later Hive, which our IDL does not have.
    struct.unknown_fields = {20: (8, b"\x00\x00\x00\x07")}
    return struct


def test_the_worker_gives_back_what_it_was_given(metastore: Open) -> None:
    requests: list[Any] = []
    server, store = metastore(
        find_next_compact2=lambda _: hms.OptionalCompactionInfoStruct(
            info(4, hms.CompactionType.MAJOR)
        ),
        update_compactor_state=lambda cr, txn: requests.append((cr, txn)),
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        mark_compacted=requests.append,
        heartbeat=lambda _: None,
        commit_txn=lambda _: None,
    )
    entry = store.next_compaction("worker")
    assert entry is not None
    assert (entry.compaction_id, entry.type) == (4, CompactionType.MAJOR)
    store.compaction_started(CompactionId(4), TxnId(9), WriteId(6))
    store.mark_compacted(CompactionId(4))
    (started, txn), compacted = requests
    assert (started.highestWriteId, txn, compacted.highestWriteId) == (6, 9, 6)
    assert started.runas == "ann", "as seen: Hive 4.0.1's cleaner never begins without"
    assert compacted.unknown_fields == {20: (8, b"\x00\x00\x00\x07")}
    assert server.names[-3:] == ["heartbeat", "mark_compacted", "commit_txn"]


def test_a_compaction_whose_transaction_was_lost(metastore: Open) -> None:
    server, store = metastore(
        find_next_compact2=lambda _: hms.OptionalCompactionInfoStruct(
            info(4, hms.CompactionType.MINOR)
        ),
        update_compactor_state=lambda cr, txn: None,
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        mark_compacted=lambda cr: None,
        heartbeat=raising(hms.TxnAbortedException("Transaction txnid:9 already aborted")),
    )
    store.next_compaction("worker")
    store.compaction_started(CompactionId(4), TxnId(9), WriteId(6))
    with pytest.raises(TxnAbortedError):
        store.mark_compacted(CompactionId(4))
    assert "mark_compacted" not in server.names


def test_hive_3_gives_its_queue_to_nobody(metastore: Open) -> None:
    server, store = metastore()
    assert store.next_compaction("worker") is None
    assert store.next_compaction("worker") is None
    assert server.names == ["find_next_compact2", "find_next_compact"]


def test_options_of_a_request_travel(metastore: Open) -> None:
    requests = []
    order = "ORDER BY `b` DESC NULLS FIRST"
    options = CompactionOptions("fast", 3, order, {"orc.compress": "zlib"})

    def accept(request: Any) -> Any:
        requests.append(request)
        return hms.CompactionResponse(7, "initiated", True)

    taken = info(7, hms.CompactionType.REBALANCE)
    taken.poolname, taken.numberOfBuckets = "fast", 3
    taken.orderByClause, taken.properties = "ORDER BY b", "1:12:orc.compress4:zlib"
    _, store = metastore(
        compact2=accept,
        get_open_txns_req=lambda _: open_txns(9, []),
        find_next_compact2=lambda request: (
            requests.append(request) or hms.OptionalCompactionInfoStruct(taken)
        ),
    )
    assert store.compact(TABLE, None, CompactionType.REBALANCE, options=options) == 7
    entry = store.next_compaction("worker", "fast")
    assert entry is not None
    asked, taking = requests
    assert (asked.poolName, asked.numberOfBuckets, asked.orderByClause, asked.properties) == (
        options.pool, options.buckets, options.order_by, options.properties,
    )  # fmt: skip
    assert taking.poolName == "fast"
    assert entry.type is CompactionType.REBALANCE
    assert entry.options == replace(options, order_by="ORDER BY b")


@pytest.mark.parametrize(
    "options",
    [
        CompactionOptions("p"),
        CompactionOptions(buckets=2),
        CompactionOptions(order_by="ORDER BY a"),
    ],
)
def test_hive_3_knows_no_options(metastore: Open, options: CompactionOptions) -> None:
    server, store = metastore(compact2=lambda _: hms.CompactionResponse(7, "initiated", True))
    with pytest.raises(UnsupportedStatementError, match="does not know a rebalance"):
        store.compact(TABLE, None, CompactionType.MAJOR, options=options)
    with pytest.raises(UnsupportedStatementError, match="does not know a rebalance"):
        store.compact(TABLE, None, CompactionType.REBALANCE)
    assert "compact2" not in server.names
    plain = CompactionOptions(properties={"orc.compress": "zlib"})
    assert store.compact(TABLE, None, CompactionType.MAJOR, options=plain) == 7


def test_aborting_compactions(metastore: Open) -> None:
    _, store = metastore(
        abort_Compactions=lambda request: hms.AbortCompactResponse(
            {3: hms.AbortCompactionResponseElement(3, "Success", "Successfully aborted compaction")}
        )
    )
    assert store.abort_compactions([CompactionId(3), CompactionId(4)]) == [
        AbortedCompaction(CompactionId(3), "Success", "Successfully aborted compaction"),
        AbortedCompaction(CompactionId(4), "Error", "No Such Compaction Id Available"),
    ]


def test_hive_3_aborts_no_compactions(metastore: Open) -> None:
    _, store = metastore()
    with pytest.raises(UnsupportedStatementError, match="does not know ABORT COMPACTIONS"):
        store.abort_compactions([CompactionId(3)])


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            hms.CompactionResponse(
                -1, "refused", False, "Compaction is already scheduled with state='working'"
            ),
            "already scheduled with state='working'",
        ),
        (hms.CompactionResponse(7, "initiated", False), "state='initiated' and id=7"),
    ],
    ids=["hive4", "hive3"],
)
def test_a_second_request(metastore: Open, answer: Any, text: str) -> None:
    _, store = metastore(compact2=lambda _: answer)
    with pytest.raises(CompactionRefusedError, match=text):
        store.compact(TABLE, None, CompactionType.MAJOR)


def test_a_lost_request_is_not_repeated(metastore: Open) -> None:
    server, store = metastore(compact2=raising(HangUpError()))
    with pytest.raises(StorageError):
        store.compact(TABLE, None, CompactionType.MAJOR)
    assert server.names == ["compact2"]


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("initiated", CompactionState.INITIATED),
        ("ready for cleaning", CompactionState.READY_FOR_CLEANING),
        ("did not initiate", CompactionState.DID_NOT_INITIATE),
        ("attempted", CompactionState.DID_NOT_INITIATE),
        ("aborted", CompactionState.ABORTED),
    ],
)
def test_the_words_for_states(metastore: Open, word: str, state: CompactionState) -> None:
    element = hms.ShowCompactResponseElement(
        dbname="sales", tablename="orders", type=hms.CompactionType.REBALANCE, state=word, id=7,
        initiatorId="host-1.example-manual",
    )  # fmt: skip
    _, store = metastore(show_compact=lambda _: hms.ShowCompactResponse([element]))
    (entry,) = store.show_compactions()
    assert (entry.state, entry.type) == (state, CompactionType.REBALANCE)
    assert (entry.initiator, entry.initiator_host) == ("manual", "host-1.example")


# -- ids that are passed over


def test_a_table_whose_write_ids_begin_later(metastore: Open) -> None:
    requests = []
    _, store = metastore(
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        get_open_txns=lambda: open_txns(9, []),
        get_valid_write_ids=in_turn(write_ids(0, []), write_ids(7, [])),
        seed_write_id=requests.append,
    )
    for _ in range(2):
        store.seed_write_id(TABLE, WriteId(7))
    assert [(r.tableName, r.seedWriteId) for r in requests] == [("orders", 7)]


def test_write_ids_that_begin_later_already(metastore: Open) -> None:
    """The server has carried the call out, and fails in it when it comes again."""
    calls = []

    def seed(request: Any) -> None:
        calls.append(request.seedWriteId)
        raise HangUpError if len(calls) == 1 else hms.MetaException("duplicate key")

    _, store = metastore(
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        get_open_txns=lambda: open_txns(9, []),
        get_valid_write_ids=in_turn(write_ids(0, []), write_ids(7, [])),
        seed_write_id=seed,
    )
    store.seed_write_id(TABLE, WriteId(7))
    assert calls == [7, 7]


def test_write_ids_are_passed_over_though_an_answer_is_lost(metastore: Open) -> None:
    """Of a commit that was not carried out, and of one that was."""
    lost, committed = [], []

    def commit(request: Any) -> None:
        if request.txnid in committed:
            raise hms.NoSuchTxnException("Transaction is already committed.")
        if request.txnid == 12:
            committed.append(12)
        if request.txnid != 11 and request.txnid not in lost:
            lost.append(request.txnid)
            raise HangUpError
        committed.append(request.txnid)

    _, store = metastore(
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        get_open_txns=lambda: open_txns(9, []),
        get_valid_write_ids=lambda _: write_ids(0, []),
        open_txns=lambda _: hms.OpenTxnsResponse([10, 11, 12]),
        allocate_table_write_ids=lambda r: hms.AllocateTableWriteIdsResponse(
            [hms.TxnToWriteId(txn, number) for number, txn in enumerate(r.txnIds, 1)]
        ),
        commit_txn=commit,
    )
    store.seed_write_id(TABLE, WriteId(3))
    assert (lost, sorted(committed)) == ([10, 12], [10, 11, 12])


def test_a_passed_over_write_id_whose_commit_nobody_answers(metastore: Open) -> None:
    """It says nothing about the transaction of the statement, whose changes are taken back."""

    def commit(request: Any) -> None:
        raise HangUpError

    _, store = metastore(
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        get_open_txns=lambda: open_txns(9, []),
        get_valid_write_ids=lambda _: write_ids(0, []),
        open_txns=lambda _: hms.OpenTxnsResponse([10]),
        allocate_table_write_ids=lambda _: hms.AllocateTableWriteIdsResponse(
            [hms.TxnToWriteId(10, 1)]
        ),
        heartbeat=lambda _: None,
        commit_txn=commit,
    )
    with pytest.raises(StorageError, match="txnid:10 was committed"), store.committing(TxnId(9)):
        store.seed_write_id(TABLE, WriteId(1))


def test_too_many_write_ids_for_hive_3(metastore: Open) -> None:
    _, store = metastore(
        get_table_req=raising(hms.NoSuchObjectException("no table")),
        get_open_txns=lambda: open_txns(9, []),
        get_valid_write_ids=lambda _: write_ids(0, []),
    )
    with pytest.raises(TxnError, match="cannot skip 10000000 write ids"):
        store.seed_write_id(TABLE, WriteId(10_000_000))


def test_a_conflict_found_at_the_commit(metastore: Open) -> None:
    text = (
        "Aborting [txnid:9,11] due to a write conflict on sales/orders "
        "committed by [txnid:8,10] u/u"
    )
    _, store = metastore(commit_txn=raising(hms.TxnAbortedException(text)), **OPENS)
    txn = open_txn(store)
    with pytest.raises(WriteConflictError) as caught:
        txn.commit()
    assert (caught.value.table, caught.value.partition) == ("sales.orders", None)
    assert txn.owns_files()


def test_what_the_metastore_does_itself(metastore: Open) -> None:
    server, store = metastore()
    assert (store.time_out_txns(), store.ready_to_clean()) == ([], [])
    store.trim()
    store.mark_cleaned(CompactionId(4))
    assert server.calls == []


def test_an_error_that_is_not_declared(metastore: Open) -> None:
    _, store = metastore(heartbeat=raising(internal_error("Internal error processing heartbeat")))
    with pytest.raises(StorageError, match="failed in heartbeat") as caught:
        store.heartbeat(TxnId(9))
    assert caught.value.detail == "Internal error processing heartbeat."

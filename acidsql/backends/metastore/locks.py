"""Locks in a Hive Metastore."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from acidsql.backends.metastore.client import Call, MetastoreClient
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.operations import OPERATIONS
from acidsql.backends.metastore.sense import meaning_of
from acidsql.backends.metastore.txns import AGENT, MetastoreTxns
from acidsql.errors import (
    LockTimeoutError,
    NoSuchLockError,
    NoSuchTxnError,
    TxnAbortedError,
)
from acidsql.model.ids import NO_TXN, LockId, TxnId
from acidsql.model.names import TableName
from acidsql.txn.cleanup import failures_logged
from acidsql.txn.components import CHANGES, WRITES
from acidsql.txn.deadlock import losers
from acidsql.txn.entities import (
    Lock,
    LockComponent,
    LockResponse,
    LockState,
    LockType,
    Opened,
    TxnType,
)
from acidsql.txn.locks import covers, describe_lock, encloses
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import BEGUN_ANEW, require_request

_TYPES = {
    LockType.SHARED_READ: hms.LockType.SHARED_READ,
    LockType.SHARED_WRITE: hms.LockType.SHARED_WRITE,
    LockType.EXCL_WRITE: hms.LockType.EXCL_WRITE,
    LockType.EXCLUSIVE: hms.LockType.EXCLUSIVE,
}
_TYPES_3 = {**_TYPES, LockType.EXCL_WRITE: hms.LockType.SHARED_WRITE}
"""The lock types of Hive 3.1. It has no EXCL_WRITE: SHARED_WRITE lets one writer in at a time."""
_TYPE_OF = {number: kind for kind, number in _TYPES.items()}


class MetastoreLocks(MetastoreTxns):
    """The verbs of `TxnManager` about locks."""

    def __init__(self, client: MetastoreClient, policy: TxnPolicy) -> None:
        super().__init__(client, policy)
        self._asked: dict[LockId, tuple[TxnId, Sequence[LockComponent]]] = {}
        """Our lock requests that wait."""

    def open_locked(
        self,
        user: str,
        host: str,
        type: TxnType,
        tables: Sequence[TableName],
        components: Sequence[LockComponent],
        agent_info: str = "",
        heir_of: TxnId | None = None,
    ) -> Opened:
        """As in the port, but in several steps, between which others may act."""
        require_request(type, tables, components)
        if heir_of is not None:
            with suppress(NoSuchTxnError, TxnAbortedError):
                self.abort_txn(heir_of, BEGUN_ANEW)
        txn_id = self.open_txn(user, host, type)
        try:
            write_ids = {table: self.allocate_write_id(txn_id, table) for table in tables}
            response = self.lock(txn_id, components, user, host, agent_info)
        except BaseException:
            # If this fails, the transaction will time out.
            with failures_logged("aborting", txn_id):
                self.abort_txn(txn_id)
            raise
        return Opened(txn_id, write_ids, response, in_one_step=False)

    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        """As in the port. LockTimeoutError for a read that would have to wait, if the policy does
        not let reads wait (Hive's zeroWaitReadEnabled).

        A lock that the transaction holds is not requested again. The metastore would queue the new
        request behind transactions that wait for the held lock, so it would wait for itself.
        """
        require_request(TxnType.DEFAULT, (), components)
        held = self._held.setdefault(txn_id, {})
        wanted = [c for c in components if not any(_covers(h, c) for h in held)]
        if not wanted:
            self.heartbeat(txn_id)
            return LockResponse(max(held.values()), LockState.ACQUIRED)

        answer = self._ask(
            component=wanted,
            txnid=txn_id,
            user=user,
            hostname=host,
            agentInfo=f"{AGENT} {agent_info}".rstrip(),
            zeroWaitReadEnabled=self._policy.zero_wait_reads,
        )
        if answer.state in (hms.LockState.NOT_ACQUIRED, hms.LockState.ABORT):
            raise LockTimeoutError(
                answer.errorMessage or f"lockid:{answer.lockid} was not granted", code=10307
            )
        self._asked[LockId(answer.lockid)] = (txn_id, wanted)
        response = self._response(answer)
        if response.state is LockState.WAITING:
            self._note_wait(txn_id, wanted)
        return response

    def _ask(self, component: Sequence[LockComponent], txnid: TxnId, **more: Any) -> Any:
        """Send a lock request with the lock types that the server knows."""
        newer, older = (
            hms.LockRequest(
                component=[_component(c, types) for c in component], txnid=txnid, **more
            )
            for types in (_TYPES, _TYPES_3)
        )
        return self._client.call_known(
            # A server with this method has EXCL_WRITE: the method is newer than the lock type.
            Call("lock", (newer,), needs=Call("get_latest_txnid_in_conflict", (txnid,))),
            Call("lock", (older,)),
        )

    def check_lock(self, lock_id: LockId) -> LockResponse:
        return self._response(self._client.call("check_lock", hms.CheckLockRequest(lockid=lock_id)))

    def await_lock(self, lock_id: LockId, timeout_s: float) -> bool:
        """Sleep, since a metastore wakes no client."""
        time.sleep(timeout_s)
        return False

    def unlock(self, lock_id: LockId) -> None:
        self._asked.pop(lock_id, None)
        with suppress(NoSuchLockError):
            self._client.call("unlock", hms.UnlockRequest(lockid=lock_id))

    def resolve_deadlocks(self) -> list[TxnId]:
        """Abort, in each circle of waiting transactions, the youngest of our own.

        Before Hive 4.1 the metastore leaves deadlocks to time-outs. Transactions of other
        clients are not aborted: they would not tell their users to run the statement again.
        """
        locks = self.show_locks()
        waits_for = waiting_for(locks)
        ours = {lock.txn_id for lock in locks if lock.agent_info.startswith(AGENT)}
        lost = []
        for txn_id, reason in losers(waits_for, ours.__contains__).items():
            if txn_id in self._opened:
                self._deadlocks[txn_id] = reason
                self.abort_txn(txn_id, reason)
                lost.append(txn_id)
        return lost

    def show_locks(self) -> list[Lock]:
        answer = self._client.call("show_locks", hms.ShowLocksRequest(isExtended=True))
        locks = [_lock(element) for element in answer.locks or []]
        return sorted(locks, key=lambda lock: (lock.lock_id, lock.internal_id))

    def _note_wait(self, txn_id: TxnId, components: Sequence[LockComponent]) -> None:
        """Note the snapshot at which waiting began, for `latest_txn_in_conflict` with Hive 3.1."""
        changed = frozenset(
            TableName(c.database, c.table)
            for c in components
            if c.table is not None and c.operation in CHANGES and c.transactional
        )
        if changed:
            tables, _ = self._waited.get(txn_id, (frozenset(), None))
            self._waited[txn_id] = (changed | tables, self.valid_txns())

    def _response(self, answer: Any) -> LockResponse:
        lock_id = LockId(answer.lockid)
        if answer.state == hms.LockState.ACQUIRED:
            txn_id, components = self._asked.pop(lock_id, (NO_TXN, ()))
            if txn_id in self._held:
                self._held[txn_id].update(dict.fromkeys(components, lock_id))
            return LockResponse(lock_id, LockState.ACQUIRED)
        return LockResponse(lock_id, LockState.WAITING, self._blocker(lock_id))

    def _blocker(self, lock_id: LockId) -> str | None:
        """A description of the lock that a request waits for; None if the server does not tell."""
        locks = self.show_locks()
        waits_for = {
            (lock.blocked_by_lock_id, lock.blocked_by_internal_id)
            for lock in locks
            if lock.lock_id == lock_id
        }
        blockers = (lock for lock in locks if (lock.lock_id, lock.internal_id) in waits_for)
        return next(map(describe_lock, blockers), None)


def waiting_for(locks: Sequence[Lock]) -> dict[TxnId, set[TxnId]]:
    """Waiting transaction → the transactions it waits for.

    For each request the metastore tells one blocker, the first that it found.
    """
    owner = {lock.lock_id: lock.txn_id for lock in locks}
    edges: dict[TxnId, set[TxnId]] = {}
    for lock in locks:
        blocker = owner.get(lock.blocked_by_lock_id or LockId(0))
        if lock.state is LockState.WAITING and blocker is not None:
            edges.setdefault(lock.txn_id, set()).add(blocker)
    return edges


def _covers(held: LockComponent, wanted: LockComponent) -> bool:
    """Whether requesting ``wanted`` would change nothing beside ``held``.

    It would neither keep out anybody else, nor add to the record of what the transaction writes.
    """
    if not encloses(held, wanted) or not covers(held.type, wanted.type):
        return False
    if not wanted.transactional or wanted.operation not in WRITES:
        return True
    same = (held.table, held.transactional, held.dynamic)
    if same != (wanted.table, wanted.transactional, wanted.dynamic):
        return False
    if held.partition != wanted.partition and not wanted.dynamic:
        return False
    return held.operation in CHANGES or held.operation is wanted.operation


def _component(component: LockComponent, types: dict[LockType, int]) -> Any:
    level = hms.LockLevel.PARTITION
    if component.partition is None:
        level = hms.LockLevel.DB if component.table is None else hms.LockLevel.TABLE
    # All fields are set: "not set" means something else than the default (Hive LockComponent).
    return hms.LockComponent(
        type=types[component.type],
        level=level,
        dbname=component.database,
        tablename=component.table,
        partitionname=component.partition,
        operationType=OPERATIONS[component.operation],
        isTransactional=component.transactional,
        isDynamicPartitionWrite=component.dynamic,
    )


def _lock(element: Any) -> Lock:
    waiting = element.state == hms.LockState.WAITING
    return Lock(
        LockId(element.lockid),
        element.lockIdInternal or 1,
        TxnId(element.txnid or NO_TXN),
        element.dbname,
        element.tablename,
        element.partname,
        LockState.WAITING if waiting else LockState.ACQUIRED,
        meaning_of(_TYPE_OF, element.type, "type of a lock"),
        element.lastheartbeat,
        element.acquiredat or None,
        element.user,
        element.hostname,
        element.agentInfo or "",
        LockId(element.blockedByExtId) if element.blockedByExtId else None,
        element.blockedByIntId or None,
    )

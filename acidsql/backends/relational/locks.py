"""Locks."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.relational.connection import Row, alone, reading, unsynced, writing
from acidsql.backends.relational.txns import RelationalTxns
from acidsql.errors import TxnError
from acidsql.model.ids import LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import recorded_components
from acidsql.txn.deadlock import deadlocked
from acidsql.txn.entities import Lock, LockComponent, LockResponse, LockState, LockType
from acidsql.txn.locks import describe_lock, first_blocker
from acidsql.txn.state import lock_is_granted, no_such_lock


class RelationalLocks(RelationalTxns):
    """The verbs of `TxnManager` about locks.

    The counter stays locked until a request is recorded and was tried. So whoever tries sees every
    request with a smaller id, which is all it may have to wait for.
    """

    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        owner = {"txn_id": txn_id, "user": user, "host": host, "agent_info": agent_info}
        # What is recorded has to be known for as long as there are files.
        if recorded_components(txn_id, components, {}):
            return self._request(txn_id, components, owner)
        return self._request_unrecorded(txn_id, components, owner)

    @unsynced
    def _request_unrecorded(
        self, txn_id: TxnId, components: Sequence[LockComponent], owner: dict[str, object]
    ) -> LockResponse:
        return self._request(txn_id, components, owner)

    @writing
    def _request(
        self, txn_id: TxnId, components: Sequence[LockComponent], owner: dict[str, object]
    ) -> LockResponse:
        self._require_open(txn_id)
        if not components:
            raise TxnError("a lock request needs at least one component")
        lock_id = LockId(self._sql.value("next_lock_id_to_change"))
        self._sql.run("bump_next_lock_id")
        for number, component in enumerate(components, 1):
            self._insert(lock_id, number, component, owner)
        for row in recorded_components(txn_id, components, self._write_ids_of_txn(txn_id)):
            self._add_component(row)
        return self._try(lock_id)

    def _insert(
        self, lock_id: LockId, number: int, component: LockComponent, owner: dict[str, object]
    ) -> None:
        self._sql.run(
            "insert_lock",
            lock_id=lock_id,
            internal_id=number,
            database=component.database,
            table=component.table,
            partition=component.partition,
            type=component.type.value,
            **owner,
        )

    def _write_ids_of_txn(self, txn_id: TxnId) -> dict[TableName, WriteId]:
        rows = self._sql.rows("write_ids_of_txn", txn_id=txn_id)
        return {TableName(database, table): WriteId(w) for database, table, w in rows}

    def _try(self, lock_id: LockId) -> LockResponse:
        known = [_lock(row) for row in self._sql.rows("locks", up_to=lock_id)]
        found = first_blocker([lock for lock in known if lock.lock_id == lock_id], known)
        if found is None:
            self._sql.run("acquire_lock", lock_id=lock_id, now_ms=self._sql.now_ms())
            return LockResponse(lock_id, LockState.ACQUIRED)
        blocked, blocker = found
        self._sql.run(
            "block_lock",
            lock_id=lock_id,
            internal_id=blocked.internal_id,
            by_lock_id=blocker.lock_id,
            by_internal_id=blocker.internal_id,
        )
        return LockResponse(lock_id, LockState.WAITING, describe_lock(blocker))

    @unsynced
    def check_lock(self, lock_id: LockId) -> LockResponse:
        head = self._sql.row("lock_head", lock_id=lock_id)
        if head is None:
            raise no_such_lock(lock_id)
        txn_id, _ = head
        self.heartbeat(TxnId(txn_id))
        # Asked again under the transaction's lock: another thread may have tried as well.
        head = self._sql.row("lock_to_change", lock_id=lock_id)
        if head is None:
            raise no_such_lock(lock_id)
        _, state = head
        if state == LockState.ACQUIRED.value:
            return LockResponse(lock_id, LockState.ACQUIRED)
        return self._try(lock_id)

    @unsynced
    def unlock(self, lock_id: LockId) -> None:
        head = self._sql.row("lock_to_change", lock_id=lock_id)
        if head is None:
            return
        txn_id, state = head
        if state == LockState.ACQUIRED.value:
            raise lock_is_granted(lock_id, TxnId(txn_id))
        self._sql.run("delete_lock", lock_id=lock_id)

    def resolve_deadlocks(self) -> list[TxnId]:
        # Whoever waits for a lock asks all the time: nobody is kept waiting for nothing.
        return self._resolve_deadlocks() if deadlocked(self.show_locks()) else []

    @alone
    def _resolve_deadlocks(self) -> list[TxnId]:
        victims = deadlocked(self.show_locks())
        for txn_id, reason in victims.items():
            self._abort(txn_id, reason)
        return list(victims)

    @reading
    def show_locks(self) -> list[Lock]:
        return [_lock(row) for row in self._sql.rows("locks", up_to=None)]


def _lock(row: Row) -> Lock:
    lock_id, number, txn_id, database, table, partition, state, kind, *rest = row
    heartbeat_ms, acquired_ms, user, host, agent_info, by_lock_id, by_internal_id = rest
    return Lock(
        LockId(lock_id),
        number,
        TxnId(txn_id),
        database,
        table,
        partition,
        LockState(state),
        LockType(kind),
        heartbeat_ms,
        acquired_ms,
        user,
        host,
        agent_info,
        LockId(by_lock_id) if by_lock_id is not None else None,
        by_internal_id,
    )

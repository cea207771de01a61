"""Locks."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.sqlite.connection import Row
from acidsql.backends.sqlite.txns import SqliteTxns
from acidsql.errors import TxnError
from acidsql.model.ids import LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import recorded_components
from acidsql.txn.entities import Lock, LockComponent, LockResponse, LockState, LockType
from acidsql.txn.locks import describe_lock, first_blocker
from acidsql.txn.state import lock_is_granted, no_such_lock


class SqliteLocks(SqliteTxns):
    """The verbs of `TxnManager` about locks."""

    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        with self._file.writing():
            self._require_open(txn_id)
            if not components:
                raise TxnError("a lock request needs at least one component")
            lock_id = LockId(self._file.value("next_lock_id"))
            self._file.run("bump_next_lock_id")
            owner = {"txn_id": txn_id, "user": user, "host": host, "agent_info": agent_info}
            for number, component in enumerate(components, 1):
                self._insert(lock_id, number, component, owner)
            for row in recorded_components(txn_id, components, self._write_ids_of_txn(txn_id)):
                self._add_component(row)
            return self._try(lock_id)

    def _insert(
        self, lock_id: LockId, number: int, component: LockComponent, owner: dict[str, object]
    ) -> None:
        self._file.run(
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
        rows = self._file.rows("write_ids_of_txn", txn_id=txn_id)
        return {TableName(database, table): WriteId(w) for database, table, w in rows}

    def _try(self, lock_id: LockId) -> LockResponse:
        known = [_lock(row) for row in self._file.rows("locks", up_to=lock_id)]
        found = first_blocker([lock for lock in known if lock.lock_id == lock_id], known)
        if found is None:
            self._file.run("acquire_lock", lock_id=lock_id, now_ms=self._file.now_ms())
            return LockResponse(lock_id, LockState.ACQUIRED)
        blocked, blocker = found
        self._file.run(
            "block_lock",
            lock_id=lock_id,
            internal_id=blocked.internal_id,
            by_lock_id=blocker.lock_id,
            by_internal_id=blocker.internal_id,
        )
        return LockResponse(lock_id, LockState.WAITING, describe_lock(blocker))

    def check_lock(self, lock_id: LockId) -> LockResponse:
        with self._file.writing():
            head = self._file.row("lock_head", lock_id=lock_id)
            if head is None:
                raise no_such_lock(lock_id)
            txn_id, state = head
            self.heartbeat(TxnId(txn_id))
            if state == LockState.ACQUIRED.value:
                return LockResponse(lock_id, LockState.ACQUIRED)
            return self._try(lock_id)

    def unlock(self, lock_id: LockId) -> None:
        with self._file.writing():
            head = self._file.row("lock_head", lock_id=lock_id)
            if head is None:
                return
            txn_id, state = head
            if state == LockState.ACQUIRED.value:
                raise lock_is_granted(lock_id, TxnId(txn_id))
            self._file.run("delete_lock", lock_id=lock_id)

    def show_locks(self) -> list[Lock]:
        with self._file.reading():
            return [_lock(row) for row in self._file.rows("locks", up_to=None)]


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

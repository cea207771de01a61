"""Locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.backends.memory.txns import MemoryTxns
from acidsql.model.ids import LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import recorded_components
from acidsql.txn.deadlock import deadlocked
from acidsql.txn.entities import (
    Lock,
    LockComponent,
    LockResponse,
    LockState,
    Opened,
    TxnState,
    TxnType,
)
from acidsql.txn.locks import (
    describe_lock,
    first_blocker,
    last_blocker,
    requested_locks,
    withdrawn_components,
)
from acidsql.txn.state import BEGUN_ANEW, lock_is_granted, no_such_lock, require_request


class MemoryLocks(MemoryTxns):
    """The verbs of `TxnManager` about locks."""

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
        with self.guard:
            require_request(type, tables, components)
            # Taken first: the transaction that is opened here does not inherit from itself.
            open_before = self.open_txn_ids()
            txn_id = self.open_txn(user, host, type)
            write_ids = {table: self.allocate_write_id(txn_id, table) for table in tables}
            heir = {"txn_id": txn_id, "user": user, "host": host, "agent_info": agent_info}
            lock_id = self._inherit(heir_of, heir) if heir_of in open_before else None
            if lock_id is None:
                response = self.lock(txn_id, components, user, host, agent_info)
            else:
                response = self._look(lock_id)
                self._record(txn_id, components)
            return Opened(txn_id, write_ids, response, valid_txns=self.valid_txns(txn_id))

    def _inherit(self, txn_id: TxnId, heir: Mapping[str, Any]) -> LockId | None:
        """Abort a transaction whose lock requests pass to another one; the latest of them."""
        inherited = [lock_id for lock_id, rows in self.locks.items() if rows[0].txn_id == txn_id]
        for lock_id in inherited:
            self.locks[lock_id] = [replace(row, **heir) for row in self.locks[lock_id]]
        self.end(txn_id, TxnState.ABORTED, BEGUN_ANEW)
        return max(inherited, default=None)

    def _record(self, txn_id: TxnId, components: Sequence[LockComponent]) -> None:
        for row in recorded_components(txn_id, components, self._write_ids_of(txn_id)):
            self.components[row] = None

    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        with self.guard:
            self.require_open(txn_id)
            require_request(TxnType.DEFAULT, (), components)
            lock_id = self.next_lock_id
            self.next_lock_id = LockId(lock_id + 1)
            self.locks[lock_id] = requested_locks(
                txn_id, lock_id, components, user, host, agent_info
            )
            self._record(txn_id, components)
            return self._try(lock_id)

    def _write_ids_of(self, txn_id: TxnId) -> dict[TableName, WriteId]:
        return {table: ids[txn_id] for table, ids in self.write_ids.items() if txn_id in ids}

    def _look(self, lock_id: LockId) -> LockResponse:
        if self.locks[lock_id][0].state is LockState.ACQUIRED:
            return LockResponse(lock_id, LockState.ACQUIRED)
        return self._try(lock_id)

    def _try(self, lock_id: LockId) -> LockResponse:
        rows = self.locks[lock_id]
        found = first_blocker(rows, [lock for locks in self.locks.values() for lock in locks])
        if found is None:
            now_ms = self.now_ms()
            self.locks[lock_id] = [_granted(row, now_ms) for row in rows]
            return LockResponse(lock_id, LockState.ACQUIRED)
        blocked, blocker = found
        self.locks[lock_id] = [_waiting(row, blocker if row == blocked else None) for row in rows]
        return LockResponse(lock_id, LockState.WAITING, describe_lock(blocker))

    def check_lock(self, lock_id: LockId) -> LockResponse:
        with self.guard:
            if lock_id not in self.locks:
                raise no_such_lock(lock_id)
            self.heartbeat(self.locks[lock_id][0].txn_id)
            return self._look(lock_id)

    def await_lock(self, lock_id: LockId, timeout_s: float) -> bool:
        with self.released:
            return self.released.wait_for(
                lambda: last_blocker(lock_id, self.show_locks()) is None, timeout_s
            )

    def unlock(self, lock_id: LockId) -> None:
        with self.guard:
            rows = self.locks.get(lock_id)
            if rows is None:
                return
            if rows[0].state is LockState.ACQUIRED:
                raise lock_is_granted(lock_id, rows[0].txn_id)
            del self.locks[lock_id]
            self.released.notify_all()
            components = self.components_of(rows[0].txn_id)
            for component in withdrawn_components(components, rows, self.show_locks()):
                self.components.pop(component, None)

    def resolve_deadlocks(self) -> list[TxnId]:
        with self.guard:
            victims = deadlocked(self.show_locks())
            for txn_id, reason in victims.items():
                self.end(txn_id, TxnState.ABORTED, reason)
            return list(victims)

    def show_locks(self) -> list[Lock]:
        with self.guard:
            return [lock for _, rows in sorted(self.locks.items()) for lock in rows]


def _granted(row: Lock, now_ms: int) -> Lock:
    return replace(
        row,
        state=LockState.ACQUIRED,
        acquired_at_ms=now_ms,
        blocked_by_lock_id=None,
        blocked_by_internal_id=None,
    )


def _waiting(row: Lock, blocker: Lock | None) -> Lock:
    return replace(
        row,
        blocked_by_lock_id=blocker.lock_id if blocker else None,
        blocked_by_internal_id=blocker.internal_id if blocker else None,
    )

"""Locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidsql.backends.relational.connection import (
    Answer,
    Row,
    alone,
    early,
    glancing,
    reading,
    unsynced,
    writing,
)
from acidsql.backends.relational.txns import RelationalTxns, require_txn
from acidsql.model.ids import LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import recorded_components
from acidsql.txn.deadlock import deadlocked
from acidsql.txn.entities import (
    Lock,
    LockComponent,
    LockResponse,
    LockState,
    LockType,
    Opened,
    Txn,
    TxnType,
)
from acidsql.txn.locks import (
    describe_lock,
    first_blocker,
    requested_locks,
    withdrawn_components,
)
from acidsql.txn.state import lock_is_granted, no_such_lock, require_request


@dataclass(slots=True)
class _Request:
    """What somebody wants to lock."""

    components: Sequence[LockComponent]
    user: str
    host: str
    agent_info: str
    tried: Txn | None = None
    """What an earlier attempt has opened for it, if that was committed."""


class RelationalLocks(RelationalTxns):
    """The verbs of `TxnManager` about locks.

    The counter stays locked until a request is recorded and was tried. So whoever tries sees every
    request with a smaller id, which is all it may have to wait for.
    """

    def open_locked(
        self,
        user: str,
        host: str,
        type: TxnType,
        tables: Sequence[TableName],
        components: Sequence[LockComponent],
        agent_info: str = "",
    ) -> Opened:
        require_request(type, tables, components)
        request = _Request(components, user, host, agent_info)
        # What files rest on has to be known for as long as there are files.
        if tables or recorded_components(TxnId(0), components, {}):
            return self._open_locked(type, tables, request)
        return self._open_locked_unsynced(type, request)

    @unsynced
    def _open_locked_unsynced(self, type: TxnType, request: _Request) -> Opened:
        return self._open_now(type, (), request)

    @early
    def _open_locked(self, type: TxnType, tables: Sequence[TableName], request: _Request) -> Opened:
        return self._open_now(type, tables, request)

    def _open_now(self, type: TxnType, tables: Sequence[TableName], request: _Request) -> Opened:
        if request.tried is not None:
            self._give_up(request.tried)
        # Counters in one order everywhere: transactions, write ids by table, locks.
        counted = self._count_txns(1)
        asked = {table: self._count_write_ids(table) for table in sorted(set(tables), key=str)}
        known = self._count_locks()
        [txn] = self._open(counted, 1, request.user, request.host, type)
        request.tried = txn
        write_ids = {table: WriteId(answer.value() - 1) for table, answer in asked.items()}
        for table, write_id in write_ids.items():
            self._insert_write_id(txn.txn_id, table, write_id)
        response = self._record(txn.txn_id, request, write_ids, known)
        return Opened(txn.txn_id, write_ids, response)

    def _give_up(self, tried: Txn) -> None:
        """Abort what an attempt whose answer was lost has opened: its locks would be in the way."""
        # Whoever has the counter locked may be just that attempt.
        self._sql.run("next_txn_id_to_change")
        if self._txn("txn_to_change", tried.txn_id) == tried:
            self._abort(tried.txn_id, "the answer was lost")

    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        request = _Request(components, user, host, agent_info)
        # What is recorded has to be known for as long as there are files.
        if recorded_components(txn_id, components, {}):
            return self._request(txn_id, request)
        return self._request_unrecorded(txn_id, request)

    @unsynced
    def _request_unrecorded(self, txn_id: TxnId, request: _Request) -> LockResponse:
        return self._request(txn_id, request)

    @writing
    def _request(self, txn_id: TxnId, request: _Request) -> LockResponse:
        txn = self._sql.ask("txn_to_change", txn_id=txn_id)
        write_ids = self._sql.ask("write_ids_of_txn", txn_id=txn_id)
        known = self._count_locks()
        require_txn(txn_id, txn.row())
        require_request(TxnType.DEFAULT, (), request.components)
        ids = {TableName(database, table): WriteId(w) for database, table, w in write_ids.rows()}
        return self._record(txn_id, request, ids, known)

    def _count_locks(self) -> tuple[Answer, Answer]:
        """A new lock id's successor, and all locks: the counter is locked, so none is missing."""
        self._sql.run("bump_next_lock_id")
        return self._sql.ask("next_lock_id"), self._sql.ask("locks", up_to=None)

    def _record(
        self,
        txn_id: TxnId,
        request: _Request,
        write_ids: Mapping[TableName, WriteId],
        counted: tuple[Answer, Answer],
    ) -> LockResponse:
        next_lock_id, known = counted
        lock_id = LockId(next_lock_id.value() - 1)
        wanted = requested_locks(
            txn_id, lock_id, request.components, request.user, request.host, request.agent_info
        )
        found = first_blocker(wanted, [*map(_lock, known.rows()), *wanted])
        for lock in wanted:
            self._insert(lock, found)
        for row in recorded_components(txn_id, request.components, write_ids):
            self._add_component(row)
        return _response(lock_id, found)

    def _insert(self, lock: Lock, found: tuple[Lock, Lock] | None) -> None:
        blocker = found[1] if found is not None and found[0] is lock else None
        self._sql.run(
            "insert_lock",
            lock_id=lock.lock_id,
            internal_id=lock.internal_id,
            txn_id=lock.txn_id,
            database=lock.database,
            table=lock.table,
            partition=lock.partition,
            state=(LockState.ACQUIRED if found is None else LockState.WAITING).value,
            type=lock.type.value,
            user=lock.user,
            host=lock.host,
            agent_info=lock.agent_info,
            by_lock_id=blocker.lock_id if blocker is not None else None,
            by_internal_id=blocker.internal_id if blocker is not None else None,
        )

    def _try(self, lock_id: LockId) -> LockResponse:
        known = [_lock(row) for row in self._sql.rows("locks", up_to=lock_id)]
        found = first_blocker([lock for lock in known if lock.lock_id == lock_id], known)
        if found is None:
            self._sql.run("acquire_lock", lock_id=lock_id)
        else:
            blocked, blocker = found
            self._sql.run(
                "block_lock",
                lock_id=lock_id,
                internal_id=blocked.internal_id,
                by_lock_id=blocker.lock_id,
                by_internal_id=blocker.internal_id,
            )
        return _response(lock_id, found)

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
        locks = self._locks()
        request = [lock for lock in locks if lock.lock_id == lock_id]
        for c in withdrawn_components(self._components(TxnId(txn_id)), request, locks):
            self._sql.run(
                "delete_component",
                txn_id=c.txn_id,
                database=c.database,
                table=c.table,
                partition=c.partition,
                operation=c.operation.value,
            )
        self._sql.run("delete_lock", lock_id=lock_id)

    def resolve_deadlocks(self) -> list[TxnId]:
        # Whoever waits for a lock asks all the time: nobody is kept waiting for nothing.
        return self._resolve_deadlocks() if self._is_deadlocked() else []

    @glancing
    def _is_deadlocked(self) -> bool:
        return bool(deadlocked(self._locks()))

    @alone
    def _resolve_deadlocks(self) -> list[TxnId]:
        victims = deadlocked(self._locks())
        for txn_id, reason in victims.items():
            self._abort(txn_id, reason)
        return list(victims)

    @reading
    def show_locks(self) -> list[Lock]:
        return self._locks()

    def _locks(self) -> list[Lock]:
        return [_lock(row) for row in self._sql.rows("locks", up_to=None)]


def _response(lock_id: LockId, found: tuple[Lock, Lock] | None) -> LockResponse:
    if found is None:
        return LockResponse(lock_id, LockState.ACQUIRED)
    return LockResponse(lock_id, LockState.WAITING, describe_lock(found[1]))


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

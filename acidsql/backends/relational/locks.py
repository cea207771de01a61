"""Locks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from acidsql.backends.relational.connection import Answer, Row, alone, reading, undamaged, writing
from acidsql.backends.relational.rows import maybe_txn, place_of, require_txn
from acidsql.backends.relational.txns import RelationalTxns, txn_list
from acidsql.errors import AcidSqlError
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
    TxnState,
    TxnType,
)
from acidsql.txn.locks import (
    describe_lock,
    first_blocker,
    last_blocker,
    waits_for,
    withdrawn_components,
)
from acidsql.txn.state import BEGUN_ANEW, lock_is_granted, no_such_lock, require_request


@dataclass(slots=True)
class _Request:
    """A request for locks, and the session that makes it."""

    components: Sequence[LockComponent]
    user: str
    host: str
    agent_info: str
    heir_of: TxnId | None = None
    was_tried: bool = False
    """Whether an earlier attempt may have been committed, and its answer lost."""


@dataclass(frozen=True, slots=True)
class _Inherited:
    """An open transaction whose locks pass to another one, and its latest lock request."""

    txn_id: TxnId
    lock_id: LockId | None


_Answers = tuple[Answer, dict[TableName, Answer], Answer]
"""The transaction that was opened with its lock request, the next write id of each table, and what
the transaction does not see.
"""


class RelationalLocks(RelationalTxns):
    """The verbs of `TxnManager` about locks.

    The counter stays locked until a request is recorded. So a request is compared with every
    request that has a smaller id: only for those it may have to wait.
    """

    @undamaged
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
        require_request(type, tables, components)
        request = _Request(components, user, host, agent_info, heir_of)
        answer, write_ids, listed = self._open_and_ask(type, tables, request)
        [(txn_id, lock_id, state)] = answer.rows()
        # The ids will be in names of files. They must not be given out again while the files exist.
        if tables or recorded_components(TxnId(0), components, {}):
            self._sql.sync()
        written = {table: WriteId(asked.value() - 1) for table, asked in write_ids.items()}
        response = self._response(lock_id, state)
        at_once = state == LockState.ACQUIRED.value
        seen = txn_list(TxnId(txn_id), listed.rows())
        return Opened(TxnId(txn_id), written, response, in_one_step=at_once, valid_txns=seen)

    @writing(durable=False)
    def _open_and_ask(
        self, type: TxnType, tables: Sequence[TableName], request: _Request
    ) -> _Answers:
        if request.was_tried:
            self._give_up(request)
        inherited = self._inherited(request.heir_of)
        # Every verb locks the counters in this order: transactions, write ids by table, locks.
        self._open(1, request.user, request.host, type)
        write_ids = {t: self._new_write_id(t, None) for t in sorted(set(tables), key=str)}
        if inherited is not None:
            self._inherit(inherited, request)
        if inherited is None or inherited.lock_id is None:
            self._ask_for(request, None)
        written = {(table.database, table.table) for table in tables}
        for c in recorded_components(TxnId(0), request.components, {}):
            table = c.table if (c.database, c.table) in written else None
            self._sql.run("insert_component_of_newest", written=table, **place_of(c))
        request.was_tried = bool(request.agent_info)
        opened = self._sql.ask("opened", lock_id=inherited and inherited.lock_id)
        return opened, write_ids, self._listed_on_open()

    def _inherited(self, txn_id: TxnId | None) -> _Inherited | None:
        """The transaction and its latest lock request, or None unless it is open.

        The row of the transaction stays locked.
        """
        if txn_id is None:
            return None
        row = self._sql.ask("txn_to_change", txn_id=txn_id)
        lock_id = self._sql.value("latest_request", txn_id=txn_id)
        found = maybe_txn(row.row())
        is_open = found is not None and found.state is TxnState.OPEN
        return _Inherited(txn_id, lock_id) if is_open else None

    def _inherit(self, inherited: _Inherited, request: _Request) -> None:
        owner = {"user": request.user, "host": request.host, "agent_info": request.agent_info}
        self._sql.run("pass_on_locks", txn_id=inherited.txn_id, **owner)
        self._abort(inherited.txn_id, BEGUN_ANEW)
        if inherited.lock_id is not None:
            self._try(inherited.lock_id, self._locks(inherited.lock_id))

    def _give_up(self, request: _Request) -> None:
        """Abort what an attempt with a lost answer has opened: its locks would block this one."""
        # That attempt may have the counter locked still.
        self._sql.run("next_txn_id_to_change")
        owner = {"user": request.user, "host": request.host, "agent_info": request.agent_info}
        for (txn_id,) in self._sql.rows("txns_of_agent", **owner):
            self._sql.run("txn_to_change", txn_id=txn_id)
            self._abort(TxnId(txn_id), "the answer was lost")

    @undamaged
    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        request = _Request(components, user, host, agent_info)
        [(lock_id, state)] = self._request(txn_id, request).rows()
        # The cleaner finds the files of an aborted transaction by the components recorded here.
        if recorded_components(txn_id, components, {}):
            self._sql.sync()
        return self._response(lock_id, state)

    @writing(durable=False)
    def _request(self, txn_id: TxnId, request: _Request) -> Answer:
        txn = self._sql.ask("txn_to_change", txn_id=txn_id)
        write_ids = self._sql.ask("write_ids_of_txn", txn_id=txn_id)
        require_txn(txn_id, txn.row())
        require_request(TxnType.DEFAULT, (), request.components)
        self._ask_for(request, txn_id)
        ids = {TableName(database, table): WriteId(w) for database, table, w in write_ids.rows()}
        for component in recorded_components(txn_id, request.components, ids):
            self._add_component(component)
        return self._sql.ask("asked")

    def _response(self, lock_id: int, state: str) -> LockResponse:
        """The state of a request. If the SQL did not grant it, the rule decides and tells why."""
        response = LockResponse(LockId(lock_id), LockState(state))
        if response.state is LockState.WAITING:
            # The request is in the queue. Its session asks again, is told then what has become of
            # the request, and is the only one that can withdraw it.
            with suppress(AcidSqlError):
                return self._look_at_once(response.lock_id)
        return response

    def _ask_for(self, request: _Request, txn_id: TxnId | None) -> None:
        """Record a request of a transaction, and grant it if no other lock is in the way.

        Without ``txn_id`` it is the newest transaction. The counter stays locked: so no earlier
        request is missing.
        """
        self._sql.run("bump_next_lock_id")
        for number, component in enumerate(request.components, 1):
            self._insert(number, component, request, txn_id)
        if len(request.components) > 1:
            self._sql.run("hold_back")

    def _insert(
        self, number: int, component: LockComponent, request: _Request, txn_id: TxnId | None
    ) -> None:
        self._sql.run(
            "insert_lock",
            internal_id=number,
            txn_id=txn_id,
            database=component.database,
            table=component.table,
            partition=component.partition,
            type=component.type.value,
            waits_for=_letters_before(component.type),
            user=request.user,
            host=request.host,
            agent_info=request.agent_info,
        )

    @writing(durable=False)
    def check_lock(self, lock_id: LockId) -> LockResponse:
        return self._look(lock_id, is_alive=True)

    @writing(durable=False)
    def _look_at_once(self, lock_id: LockId) -> LockResponse:
        return self._look(lock_id, is_alive=False)

    def _look(self, lock_id: LockId, *, is_alive: bool) -> LockResponse:
        """The state of a request by the rule. ``is_alive``: the look is a heartbeat, too.

        The row of the transaction is locked, since another thread may look at the request, too.
        """
        owner = self._sql.ask("owner_to_change", lock_id=lock_id)
        head = self._sql.ask("lock_to_change", lock_id=lock_id)
        locks = self._sql.ask("locks", up_to=lock_id)
        row = owner.row()
        if row is None or head.row() is None:
            raise no_such_lock(lock_id)
        txn_id = TxnId(row[0])
        require_txn(txn_id, row)
        if is_alive:
            self._sql.run("heartbeat", txn_id=txn_id)
        return self._try(lock_id, [_lock(row) for row in locks.rows()])

    def _try(self, lock_id: LockId, known: Sequence[Lock]) -> LockResponse:
        request = [lock for lock in known if lock.lock_id == lock_id]
        if all(lock.state is LockState.ACQUIRED for lock in request):
            return LockResponse(lock_id, LockState.ACQUIRED)
        found = first_blocker(request, known)
        if found is None:
            self._sql.run("acquire_lock", lock_id=lock_id)
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

    def await_lock(self, lock_id: LockId, timeout_s: float) -> bool:
        blocker = self._last_blocker(lock_id)
        return blocker is None or self._sql.await_release(blocker, timeout_s)

    @reading(durable=False)
    def _last_blocker(self, lock_id: LockId) -> LockId | None:
        return last_blocker(lock_id, self._locks(lock_id))

    @writing(durable=False)
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
        self._sql.run("delete_locks", txn_id=txn_id, lock_id=lock_id)

    def resolve_deadlocks(self) -> list[TxnId]:
        # Each session that waits for a lock calls this often. So a look that keeps no other session
        # waiting comes first.
        return self._resolve_deadlocks() if self._is_deadlocked() else []

    @reading(durable=False)
    def _is_deadlocked(self) -> bool:
        return bool(deadlocked(self._locks()))

    @alone()
    def _resolve_deadlocks(self) -> list[TxnId]:
        victims = deadlocked(self._locks())
        for txn_id, reason in victims.items():
            self._abort(txn_id, reason)
        return list(victims)

    @reading()
    def show_locks(self) -> list[Lock]:
        return self._locks()

    def _locks(self, up_to: LockId | None = None) -> list[Lock]:
        return [_lock(row) for row in self._sql.rows("locks", up_to=up_to)]


@cache
def _letters_before(kind: LockType) -> str:
    """The types that a request of a type waits for, as the table of locks has them."""
    return "".join(before.value for before in waits_for(kind))


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

"""Transactions and write ids."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.relational.connection import (
    Answer,
    OverSql,
    Row,
    alone,
    reading,
    undamaged,
    writing,
)
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.components import CHANGES, TxnComponent
from acidsql.txn.conflict import Conflict, Winner, first_conflict, latest_conflict
from acidsql.txn.entities import (
    ENDED,
    LockType,
    Reached,
    Txn,
    TxnRangeResponse,
    TxnState,
    TxnType,
    WriteOperation,
    WriteSetEntry,
    Written,
)
from acidsql.txn.open_count import OpenTxnCount
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import (
    TIMED_OUT,
    batch_size,
    require_open,
    require_reach,
    write_id_refused,
)
from acidsql.txn.write_ids import write_id_list


class RelationalTxns(OverSql):
    """The verbs of `TxnManager` about transactions and write ids.

    Where several processes write at once, a verb first locks its transaction's row, so that of
    commit, abort and time-out one comes first. Next it locks the counter it takes an id from, until
    its end: so ids become visible in their order, and no snapshot misses one below its mark.
    """

    _policy: TxnPolicy
    _open_count: OpenTxnCount

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        return self.open_txns(1, user, host, type)[0]

    @undamaged
    def open_txns(
        self, count: int, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> list[TxnId]:
        count = batch_size(count, self._policy.max_open_batch)
        after = self._open_now(count, user, host, type).value()
        return [TxnId(i) for i in range(after - count, after)]

    @writing(durable=False)
    def _open_now(self, count: int, user: str, host: str, type: TxnType) -> Answer:
        self._open(count, user, host, type)
        return self._sql.ask("next_txn_id")

    def _open(self, count: int, user: str, host: str, type: TxnType) -> None:
        """New ones, of which nobody knows the ids yet. The counter stays locked."""
        self._open_count.require_room(count, lambda: self._sql.value("count_open"))
        self._sql.run("bump_next_txn_id", count=count)
        who = {"user": user, "host": host, "type": type.value}
        for back in range(count, 0, -1):
            self._sql.run("insert_txn", back=back, **who)
        for back in range(count, 0, -1):
            self._sql.run("insert_min_history", back=back)

    @writing(durable=False)
    def heartbeat(self, txn_id: TxnId) -> None:
        self._require_open(txn_id)
        self._sql.run("heartbeat", txn_id=txn_id)

    @writing(durable=False)
    def heartbeat_txn_range(self, first: TxnId, last: TxnId) -> TxnRangeResponse:
        rows = self._sql.rows("txn_range_to_change", first=first, last=last)
        self._sql.run("heartbeat_range", first=first, last=last)
        return TxnRangeResponse.of(first, last, {TxnId(i): TxnState(s) for i, s in rows})

    @undamaged
    def commit_txn(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> None:
        for r in reached:
            require_reach(r.operation)
        if self._commit_unrivalled(txn_id, reached, written).value() == TxnState.COMMITTED.value:
            return
        conflict = self._commit(txn_id, written)
        # Raised outside, so that the abort it tells of is kept.
        if conflict is not None:
            raise conflict.error(self._winner(conflict))

    @reading()
    def _winner(self, conflict: Conflict) -> Txn | None:
        return self._txn("txn", conflict.other.txn_id)

    @writing(repeatable=False)
    def _commit_unrivalled(
        self, txn_id: TxnId, reached: Sequence[Reached], written: Sequence[Written]
    ) -> Answer:
        """Commit if that is all there is to it; the state then. Everything goes in one go."""
        # First of all: what others add to the transaction is there by then, or comes too late.
        self._sql.run("txn_to_change", txn_id=txn_id)
        for r in reached:
            self._reach(txn_id, r.write_id, r.table, r.partitions, r.operation)
        # Locked to the end, if anything is changed: such commits are numbered and compared one
        # after the other, and who opens later begins after this one.
        self._sql.run("next_txn_id_of_change", txn_id=txn_id)
        self._sql.run("commit_unrivalled", txn_id=txn_id, writing=TxnType.DEFAULT.value)
        self._complete(txn_id, written)
        return self._sql.ask("txn_state", txn_id=txn_id)

    @writing(repeatable=False)
    def _commit(self, txn_id: TxnId, written: Sequence[Written]) -> Conflict | None:
        """Commit one that may have lost. Its components are recorded."""
        known = self._sql.ask("txn_to_change", txn_id=txn_id)
        components = self._sql.ask("components", txn_id=txn_id)
        next_txn_id = self._sql.ask("next_txn_id_of_change", txn_id=txn_id)
        since = self._sql.ask("write_set_since", txn_id=txn_id)
        row = known.row()
        if row is not None and _txn(row).state is TxnState.COMMITTED:
            return None
        is_writing = require_txn(txn_id, row).type is TxnType.DEFAULT
        found = map(_component, components.rows())
        changes = [c for c in found if is_writing and c.operation in CHANGES]
        commit_id = TxnId(next_txn_id.value() - 1) if changes else txn_id
        own = {
            WriteSetEntry(c.database, c.table, c.partition, txn_id, commit_id, c.operation)
            for c in changes
        }
        conflict = first_conflict(own, self._rivals(since))
        if conflict is not None:
            self._abort(txn_id, str(conflict))
            return conflict
        self._sql.run("commit_txn", txn_id=txn_id)
        self._complete(txn_id, written)
        return None

    def _complete(self, txn_id: TxnId, written: Sequence[Written]) -> None:
        """Record what a transaction has written, if it is committed by now."""
        writing = TxnType.DEFAULT.value
        self._sql.run("insert_write_set", txn_id=txn_id, writing=writing)
        self._sql.run("complete_components", txn_id=txn_id, writing=writing)
        for w in written:
            place = {"database": w.table.database, "table": w.table.table, "write_id": w.write_id}
            if w.partition is None:
                self._sql.run("note_written_table", txn_id=txn_id, **place)
            else:
                note = "note_written_partition"
                self._sql.run(note, txn_id=txn_id, partition=w.partition, **place)
        self._sql.run("delete_components_of_committed", txn_id=txn_id)
        self._release(txn_id)

    @writing()
    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        txn = self._txn("txn_to_change", txn_id)
        if txn is not None and txn.state is TxnState.ABORTED:
            return
        _open(txn_id, txn)
        self._abort(txn_id, reason)

    @writing()
    def abort_txns(self, txn_ids: Sequence[TxnId], reason: str = "") -> list[TxnId]:
        aborted = []
        # In one order everywhere, so that two who abort the same ones do not wait for each other.
        for txn_id in sorted(set(txn_ids)):
            txn = self._txn("txn_to_change", txn_id)
            if txn is not None and txn.state is TxnState.OPEN:
                self._abort(txn_id, reason)
                aborted.append(txn_id)
        return aborted

    def _abort(self, txn_id: TxnId, reason: str) -> None:
        # The components stay, until the cleaner has removed what the transaction wrote.
        self._sql.run("abort_txn", txn_id=txn_id, reason=reason)
        self._release(txn_id)

    def _release(self, txn_id: TxnId) -> None:
        self._sql.run("delete_locks_of_ended", txn_id=txn_id)
        self._sql.run("delete_min_history_of_ended", txn_id=txn_id)

    @reading()
    def valid_txns(self, txn_id: TxnId | None = None) -> ValidTxnList:
        newest = TxnId(self._sql.value("next_txn_id") - 1)
        mark = newest if txn_id is None else min(txn_id, newest)
        listed = self._sql.rows(
            "listed_txns",
            high_watermark=mark,
            txn_id=txn_id,
            read_only=TxnType.READ_ONLY.value,
        )
        return ValidTxnList(
            mark,
            frozenset(TxnId(i) for i, state in listed if state == TxnState.OPEN.value),
            frozenset(TxnId(i) for i, state in listed if state == TxnState.ABORTED.value),
        )

    @reading()
    def show_txns(self) -> list[Txn]:
        return [_txn(row) for row in self._sql.rows("show_txns")]

    @reading(durable=False)
    def latest_txn_in_conflict(self, txn_id: TxnId) -> Winner | None:
        txn = self._sql.ask("txn", txn_id=txn_id)
        since = self._sql.ask("write_set_since", txn_id=txn_id)
        places = self._sql.ask("locked_places", txn_id=txn_id, shared=LockType.SHARED_READ.value)
        components = self._sql.ask("components", txn_id=txn_id)
        require_txn(txn_id, txn.row())
        locked = {(database, table, partition) for database, table, partition in places.rows()}
        own = [_component(row) for row in components.rows()]
        winner = latest_conflict(txn_id, own, locked, self._rivals(since))
        return winner and winner.known_as(self._txn("txn", winner.txn_id))

    def time_out_txns(self) -> list[TxnId]:
        # Whoever waits for a lock asks all the time: nobody is kept waiting for nothing.
        return self._time_out() if self._is_late() else []

    @reading(durable=False)
    def _is_late(self) -> bool:
        oldest_ms = self._sql.value("now_ms") - self._policy.timeout_ms
        return self._sql.row("anything_late", oldest_ms=oldest_ms) is not None

    @alone()
    def _time_out(self) -> list[TxnId]:
        oldest_ms = self._sql.value("now_ms") - self._policy.timeout_ms
        late = [TxnId(i) for (i,) in self._sql.rows("late_txns", oldest_ms=oldest_ms)]
        for txn_id in late:
            self._abort(txn_id, TIMED_OUT)
        self._sql.run("give_back_compactions", oldest_ms=oldest_ms)
        return late

    @alone()
    def trim(self) -> None:
        least = self._sql.value("min_open") or self._sql.value("next_txn_id")
        self._sql.run("trim_write_set", least=least)
        oldest_ms = self._sql.value("now_ms") - self._policy.retention_ms
        self._sql.run("trim_txns", oldest_ms=oldest_ms)
        self._sql.run("trim_write_ids", floor=self._sql.value("min_needed"))
        self._sql.run("trim_completed_components")
        for state in ENDED:
            kept = {"state": state.value, "remembered": state.remembered}
            self._sql.run("trim_history", oldest_ms=oldest_ms, **kept)

    @reading()
    def aborted_writes(self) -> list[TxnComponent]:
        oldest_ms = self._sql.value("now_ms") - self._policy.timeout_ms
        return [
            _component(row) for row in self._sql.rows("aborted_components", oldest_ms=oldest_ms)
        ]

    @writing()
    def forget_aborted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        place = {"database": table.database, "table": table.table}
        for txn_id in sorted(set(txn_ids)):
            self._sql.run("forget_aborted", txn_id=txn_id, **place)

    @reading()
    def committed_writes(self, table: TableName) -> frozenset[Written]:
        place = {"database": table.database, "table": table.table}
        rows = self._sql.rows("written", **place)
        return frozenset(Written(write_id, table, partition) for partition, write_id in rows)

    # -- write ids ------------------------------------------------------------------------------

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        known = self._allocated(txn_id, table)
        return WriteId(known) if known is not None else self._allocate(txn_id, table)

    @reading(durable=False)
    def _allocated(self, txn_id: TxnId, table: TableName) -> int | None:
        """The write id that a transaction was given earlier, and told of; None if it has ended."""
        place = {"database": table.database, "table": table.table}
        known: int | None = self._sql.value("write_id_of_open", txn_id=txn_id, **place)
        return known

    @writing()
    def _allocate(self, txn_id: TxnId, table: TableName) -> WriteId:
        place = {"database": table.database, "table": table.table}
        txn = self._sql.ask("txn_to_change", txn_id=txn_id)
        known = self._sql.ask("write_id", txn_id=txn_id, **place).value()
        if require_txn(txn_id, txn.row()).type is TxnType.READ_ONLY:
            raise write_id_refused(table)
        if known is not None:
            return WriteId(known)
        return WriteId(self._new_write_id(table, txn_id).value() - 1)

    def _new_write_id(self, table: TableName, txn_id: TxnId | None) -> Answer:
        """The one after it. Counted first: that locks the row, be it new."""
        place = {"database": table.database, "table": table.table}
        self._sql.run("bump_next_write_id", **place)
        self._sql.run("insert_write_id", txn_id=txn_id, **place)
        return self._sql.ask("next_write_id", **place)

    @writing()
    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        self._sql.run("seed_write_id", database=table.database, table=table.table, next=highest + 1)

    @writing()
    def seed_txn_id(self, highest: TxnId) -> None:
        self._sql.run("seed_txn_id", next=highest + 1)

    @reading()
    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        return {
            table: write_id_list(table, txns, self._write_ids(table, txns), *self._given_out(table))
            for table in tables
        }

    @reading()
    def writer_of(self, table: TableName, write_id: WriteId) -> Txn | None:
        place = {"database": table.database, "table": table.table}
        row = self._sql.row("txn_of_write_id", write_id=write_id, **place)
        return _txn(row) if row is not None else None

    @writing(durable=False)
    def add_dynamic_partitions(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        require_reach(operation)
        txn = self._sql.ask("txn_to_change", txn_id=txn_id)
        self._reach(txn_id, write_id, table, partitions, operation)
        require_txn(txn_id, txn.row())

    def _reach(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        self._sql.run(
            "delete_unknown_partition",
            txn_id=txn_id,
            database=table.database,
            table=table.table,
        )
        for name in partitions:
            self._add_component(
                TxnComponent(txn_id, table.database, table.table, name, operation, write_id)
            )

    def _add_component(self, component: TxnComponent) -> None:
        self._sql.run(
            "insert_component",
            txn_id=component.txn_id,
            write_id=component.write_id,
            **place_of(component),
        )

    def _given_out(self, table: TableName) -> tuple[WriteId, list[WriteId]]:
        """The table's next write id, and those that left a directory in the table itself."""
        rows = self._sql.rows("given_out", database=table.database, table=table.table)
        next_write_id = WriteId(rows[0][0] if rows else 1)
        return next_write_id, [WriteId(written) for _, written in rows if written is not None]

    def _write_ids(self, table: TableName, txns: ValidTxnList) -> dict[TxnId, WriteId]:
        """Those of a table that a snapshot depends on: the highest one, and what it may hide."""
        place = {"database": table.database, "table": table.table}
        mark = txns.high_watermark
        found = [
            self._sql.ask(query, high_watermark=mark, **place)
            for query in ("highest_write_id", "write_ids_above")
        ]
        hidden = {
            txn_id: self._sql.ask("write_id", txn_id=txn_id, **place)
            for txn_id in txns.open | txns.aborted
        }
        rows = [row for answer in found for row in answer.rows()]
        rows += [(txn_id, w) for txn_id, answer in hidden.items() for (w,) in answer.rows()]
        return {TxnId(txn_id): WriteId(write_id) for txn_id, write_id in rows}

    # -- what several verbs need ----------------------------------------------------------------

    def _txn(self, query: str, txn_id: TxnId) -> Txn | None:
        return txn_of(self._sql.row(query, txn_id=txn_id))

    def _require_open(self, txn_id: TxnId) -> Txn:
        """The transaction, locked to the end of the verb."""
        return require_txn(txn_id, self._sql.row("txn_to_change", txn_id=txn_id))

    def _components(self, txn_id: TxnId) -> list[TxnComponent]:
        return [_component(row) for row in self._sql.rows("components", txn_id=txn_id)]

    @staticmethod
    def _rivals(since: Answer) -> list[WriteSetEntry]:
        """What a transaction may lose to."""
        return [_write_set_entry(row) for row in since.rows()]


def require_txn(txn_id: TxnId, row: Row | None) -> Txn:
    """The transaction of a row of TXNS, if it is there and open."""
    return _open(txn_id, txn_of(row))


def txn_of(row: Row | None) -> Txn | None:
    """The transaction of a row of TXNS."""
    return _txn(row) if row is not None else None


def _open(txn_id: TxnId, txn: Txn | None) -> Txn:
    require_open(txn_id, txn.state if txn else None, txn.meta_info if txn else "")
    assert txn is not None
    return txn


def _component(row: Row) -> TxnComponent:
    txn_id, database, table, partition, operation, write_id = row
    return TxnComponent(
        TxnId(txn_id), database, table, partition, WriteOperation(operation), write_id
    )


def place_of(component: TxnComponent) -> dict[str, str | None]:
    """What a statement binds of a component, besides its ids."""
    return {
        "database": component.database,
        "table": component.table,
        "partition": component.partition,
        "operation": component.operation.value,
    }


def _write_set_entry(row: Row) -> WriteSetEntry:
    database, table, partition, txn_id, commit_id, operation = row
    return WriteSetEntry(
        database, table, partition, TxnId(txn_id), TxnId(commit_id), WriteOperation(operation)
    )


def _txn(row: Row) -> Txn:
    txn_id, state, type_number, started_ms, heartbeat_ms, user, host, meta_info = row
    return Txn(
        TxnId(txn_id),
        TxnState(state),
        TxnType(type_number),
        started_ms,
        heartbeat_ms,
        user,
        host,
        meta_info,
    )

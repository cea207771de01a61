"""Transactions and write ids."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.sqlite.connection import Row, SqliteFile
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.components import CHANGES, TxnComponent
from acidsql.txn.conflict import Conflict, first_conflict, latest_conflict
from acidsql.txn.entities import Txn, TxnState, TxnType, WriteOperation, WriteSetEntry
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import TIMED_OUT, require_open, require_room, write_id_refused
from acidsql.txn.write_ids import write_id_list


class SqliteTxns:
    """The verbs of `TxnManager` about transactions and write ids."""

    def __init__(self, file: SqliteFile, policy: TxnPolicy) -> None:
        self._file = file
        self._policy = policy

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        with self._file.writing():
            require_room(self._file.value("count_open"), self._policy.max_open_txns)
            txn_id = TxnId(self._file.value("next_txn_id"))
            min_open = self._file.value("min_open") or txn_id
            self._file.run("bump_next_txn_id")
            self._file.run(
                "insert_txn",
                txn_id=txn_id,
                now_ms=self._file.now_ms(),
                user=user,
                host=host,
                type=type.value,
            )
            self._file.run("insert_min_history", txn_id=txn_id, min_open=min_open)
            return txn_id

    def heartbeat(self, txn_id: TxnId) -> None:
        with self._file.writing():
            self._require_open(txn_id)
            self._file.run("heartbeat", txn_id=txn_id, now_ms=self._file.now_ms())

    def commit_txn(self, txn_id: TxnId) -> None:
        with self._file.writing():
            conflict = self._commit(txn_id)
        # Raised outside, so that the abort it tells of is kept.
        if conflict is not None:
            raise conflict.error()

    def _commit(self, txn_id: TxnId) -> Conflict | None:
        known = self._txn(txn_id)
        if known is not None and known.state is TxnState.COMMITTED:
            return None
        txn = self._require_open(txn_id)
        now_ms = self._file.now_ms()
        if txn.type is TxnType.DEFAULT:
            conflict = self._record_write_set(txn_id)
            if conflict is not None:
                self._abort(txn_id, str(conflict))
                return conflict
            self._file.run("complete_components", txn_id=txn_id, now_ms=now_ms)
        self._file.run("delete_components", txn_id=txn_id)
        self._file.run("commit_txn", txn_id=txn_id, now_ms=now_ms)
        self._release(txn_id)
        return None

    def _record_write_set(self, txn_id: TxnId) -> Conflict | None:
        commit_id = TxnId(self._file.value("next_txn_id") - 1)
        # Several write ids may stand for one place after a drop; the write set knows places.
        own = {
            WriteSetEntry(c.database, c.table, c.partition, txn_id, commit_id, c.operation)
            for c in self._components(txn_id)
            if c.operation in CHANGES
        }
        if not own:
            return None
        conflict = first_conflict(own, self._write_set_since(txn_id))
        for entry in own if conflict is None else ():
            self._file.run(
                "insert_write_set",
                database=entry.database,
                table=entry.table,
                partition=entry.partition,
                txn_id=txn_id,
                commit_id=commit_id,
                operation=entry.operation.value,
            )
        return conflict

    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        with self._file.writing():
            known = self._txn(txn_id)
            if known is not None and known.state is TxnState.ABORTED:
                return
            self._require_open(txn_id)
            self._abort(txn_id, reason)

    def _abort(self, txn_id: TxnId, reason: str) -> None:
        # The components stay, until the cleaner has removed what the transaction wrote.
        self._file.run("abort_txn", txn_id=txn_id, reason=reason)
        self._release(txn_id)

    def _release(self, txn_id: TxnId) -> None:
        self._file.run("delete_locks_of_txn", txn_id=txn_id)
        self._file.run("delete_min_history", txn_id=txn_id)

    def valid_txns(self, txn_id: TxnId | None = None) -> ValidTxnList:
        with self._file.reading():
            newest = TxnId(self._file.value("next_txn_id") - 1)
            mark = newest if txn_id is None else min(txn_id, newest)
            listed = self._file.rows(
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

    def show_txns(self) -> list[Txn]:
        with self._file.reading():
            return [_txn(row) for row in self._file.rows("show_txns")]

    def latest_txn_in_conflict(self, txn_id: TxnId) -> TxnId | None:
        with self._file.reading():
            self._require_open(txn_id)
            return latest_conflict(txn_id, self._components(txn_id), self._write_set_since(txn_id))

    def time_out_txns(self) -> list[TxnId]:
        with self._file.writing():
            oldest_ms = self._file.now_ms() - self._policy.timeout_ms
            late = [TxnId(i) for (i,) in self._file.rows("late_txns", oldest_ms=oldest_ms)]
            for txn_id in late:
                self._abort(txn_id, TIMED_OUT)
            self._file.run("give_back_compactions", oldest_ms=oldest_ms)
            return late

    def trim(self) -> None:
        with self._file.writing():
            least = self._file.value("min_open") or self._file.value("next_txn_id")
            self._file.run("trim_write_set", least=least)
            oldest_ms = self._file.now_ms() - self._policy.retention_ms
            self._file.run("trim_txns", oldest_ms=oldest_ms)
            self._file.run("trim_write_ids", floor=self._file.value("min_needed"))

    # -- write ids ------------------------------------------------------------------------------

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        place = {"database": table.database, "table": table.table}
        with self._file.writing():
            txn = self._require_open(txn_id)
            if txn.type is TxnType.READ_ONLY:
                raise write_id_refused(table)
            known = self._file.value("write_id", txn_id=txn_id, **place)
            if known is not None:
                return WriteId(known)
            write_id = self._next_write_id(table)
            self._file.run("set_next_write_id", next=write_id + 1, **place)
            self._file.run("insert_write_id", txn_id=txn_id, write_id=write_id, **place)
            return write_id

    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        with self._file.writing():
            next_id = max(self._next_write_id(table), highest + 1)
            self._file.run(
                "set_next_write_id", database=table.database, table=table.table, next=next_id
            )

    def seed_txn_id(self, highest: TxnId) -> None:
        with self._file.writing():
            self._file.run("seed_txn_id", next=highest + 1)

    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        with self._file.reading():
            return {
                table: write_id_list(
                    table, txns, self._write_ids(table), self._next_write_id(table)
                )
                for table in tables
            }

    def add_dynamic_partitions(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        with self._file.writing():
            self._require_open(txn_id)
            self._file.run(
                "delete_unknown_partition",
                txn_id=txn_id,
                database=table.database,
                table=table.table,
            )
            for name in partitions:
                self._add_component(
                    TxnComponent(txn_id, table.database, table.table, name, operation, write_id)
                )

    def _next_write_id(self, table: TableName) -> WriteId:
        next_id = self._file.value("next_write_id", database=table.database, table=table.table)
        return WriteId(next_id or 1)

    def _write_ids(self, table: TableName) -> dict[TxnId, WriteId]:
        rows = self._file.rows("write_ids_of_table", database=table.database, table=table.table)
        return {TxnId(txn_id): WriteId(write_id) for txn_id, write_id in rows}

    # -- what several verbs need ----------------------------------------------------------------

    def _txn(self, txn_id: TxnId) -> Txn | None:
        row = self._file.row("txn", txn_id=txn_id)
        return _txn(row) if row is not None else None

    def _require_open(self, txn_id: TxnId) -> Txn:
        txn = self._txn(txn_id)
        require_open(txn_id, txn.state if txn else None, txn.meta_info if txn else "")
        assert txn is not None
        return txn

    def _components(self, txn_id: TxnId) -> list[TxnComponent]:
        return [
            TxnComponent(
                TxnId(txn), database, table, partition, WriteOperation(operation), write_id
            )
            for txn, database, table, partition, operation, write_id in self._file.rows(
                "components", txn_id=txn_id
            )
        ]

    def _add_component(self, component: TxnComponent) -> None:
        self._file.run(
            "insert_component",
            txn_id=component.txn_id,
            database=component.database,
            table=component.table,
            partition=component.partition,
            operation=component.operation.value,
            write_id=component.write_id,
        )

    def _write_set_since(self, txn_id: TxnId) -> list[WriteSetEntry]:
        return [
            WriteSetEntry(
                database, table, partition, TxnId(other), TxnId(commit), WriteOperation(operation)
            )
            for database, table, partition, other, commit, operation in self._file.rows(
                "write_set_since", txn_id=txn_id
            )
        ]


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

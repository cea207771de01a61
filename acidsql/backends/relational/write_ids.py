"""Write ids, and what a transaction writes under them."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.relational.connection import Answer, OverSql, reading, writing
from acidsql.backends.relational.rows import component_of, maybe_txn, place_of, require_txn
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import Txn, TxnType, WriteOperation
from acidsql.txn.state import require_reach, write_id_refused
from acidsql.txn.write_ids import write_id_list


class RelationalWriteIds(OverSql):
    """The verbs of `TxnManager` about write ids, and about the partitions that a write reached."""

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        known = self._allocated(txn_id, table)
        return WriteId(known) if known is not None else self._allocate(txn_id, table)

    @reading(durable=False)
    def _allocated(self, txn_id: TxnId, table: TableName) -> int | None:
        """The write id that an open transaction was given and told earlier, or None."""
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
        """Allocate a write id; the answer is the id after it.

        The counter is raised first. That locks its row, even one that is new.
        """
        place = {"database": table.database, "table": table.table}
        self._sql.run("bump_next_write_id", **place)
        self._sql.run("insert_write_id", txn_id=txn_id, **place)
        return self._sql.ask("next_write_id", **place)

    @writing()
    def allocate_write_ids(self, txn_ids: Sequence[TxnId], table: TableName) -> list[WriteId]:
        place = {"database": table.database, "table": table.table}
        # In the order of their ids, so that two callers cannot wait for each other.
        txns = [(t, self._sql.ask("txn_to_change", txn_id=t)) for t in sorted(set(txn_ids))]
        asked = [(t, self._sql.ask("write_id", txn_id=t, **place)) for t in txn_ids]
        for txn_id, txn in txns:
            if require_txn(txn_id, txn.row()).type is TxnType.READ_ONLY:
                raise write_id_refused(table)
        known = {t: WriteId(w) for t, answer in asked if (w := answer.value()) is not None}
        for txn_id in dict.fromkeys(txn_ids):
            if txn_id not in known:
                # The counter's row stays locked, so no other transaction's id comes in between.
                known[txn_id] = WriteId(self._new_write_id(table, txn_id).value() - 1)
        return [known[txn_id] for txn_id in txn_ids]

    @writing()
    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        self._sql.run("seed_write_id", database=table.database, table=table.table, next=highest + 1)

    @reading()
    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        return {
            table: write_id_list(table, txns, self._write_ids(table, txns), *self._given_out(table))
            for table in tables
        }

    def _given_out(self, table: TableName) -> tuple[WriteId, list[WriteId]]:
        """The table's next write id, and the ones that left a directory in the table itself."""
        rows = self._sql.rows("given_out", database=table.database, table=table.table)
        next_write_id = WriteId(rows[0][0] if rows else 1)
        return next_write_id, [WriteId(written) for _, written in rows if written is not None]

    def _write_ids(self, table: TableName, txns: ValidTxnList) -> dict[TxnId, WriteId]:
        """The write ids that a table's snapshot depends on.

        They are the highest one, and those that the snapshot may hide.
        """
        place = {"database": table.database, "table": table.table}
        mark = txns.high_watermark
        found = [
            self._sql.ask(query, high_watermark=mark, **place)
            for query in ("highest_write_id", "write_ids_above")
        ]
        hidden = txns.open | txns.aborted
        if hidden:
            txn_ids = ",".join(map(str, hidden))
            found.append(self._sql.ask("write_ids_of_txns", txn_ids=txn_ids, **place))
        rows = [row for answer in found for row in answer.rows()]
        return {TxnId(txn_id): WriteId(write_id) for txn_id, write_id in rows}

    @reading()
    def known_write_id(self, txn_id: TxnId, table: TableName) -> WriteId | None:
        place = {"database": table.database, "table": table.table}
        found = self._sql.value("write_id", txn_id=txn_id, **place)
        return None if found is None else WriteId(found)

    @reading()
    def writer_of(self, table: TableName, write_id: WriteId) -> Txn | None:
        place = {"database": table.database, "table": table.table}
        return maybe_txn(self._sql.row("txn_of_write_id", write_id=write_id, **place))

    # -- what a transaction writes --------------------------------------------------------------

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

    def _components(self, txn_id: TxnId) -> list[TxnComponent]:
        return [component_of(row) for row in self._sql.rows("components", txn_id=txn_id)]

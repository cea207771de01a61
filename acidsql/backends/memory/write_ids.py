"""Write ids, and where they were written."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.memory.state import MemoryState
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import Txn, TxnType, WriteOperation, Written
from acidsql.txn.state import require_reach, write_id_refused
from acidsql.txn.write_ids import write_id_list


class MemoryWriteIds(MemoryState):
    """The verbs of `TxnManager` about write ids."""

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        with self.guard:
            txn = self.require_open(txn_id)
            if txn.type is TxnType.READ_ONLY:
                raise write_id_refused(table)
            mapped = self.write_ids.setdefault(table, {})
            if txn_id not in mapped:
                mapped[txn_id] = self.next_write_ids.get(table, WriteId(1))
                self.next_write_ids[table] = WriteId(mapped[txn_id] + 1)
            return mapped[txn_id]

    def allocate_write_ids(self, txn_ids: Sequence[TxnId], table: TableName) -> list[WriteId]:
        with self.guard:
            for txn_id in txn_ids:
                self.require_open(txn_id)
            return [self.allocate_write_id(txn_id, table) for txn_id in txn_ids]

    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        with self.guard:
            known = self.next_write_ids.get(table, WriteId(1))
            self.next_write_ids[table] = WriteId(max(known, highest + 1))

    def seed_txn_id(self, highest: TxnId) -> None:
        with self.guard:
            self.next_txn_id = TxnId(max(self.next_txn_id, highest + 1))

    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        with self.guard:
            return {
                table: write_id_list(
                    table,
                    txns,
                    self.write_ids.get(table, {}),
                    self.next_write_ids.get(table, WriteId(1)),
                    [w.write_id for w in self.committed_writes(table) if w.partition is None],
                )
                for table in tables
            }

    def known_write_id(self, txn_id: TxnId, table: TableName) -> WriteId | None:
        with self.guard:
            return self.write_ids.get(table, {}).get(txn_id)

    def writer_of(self, table: TableName, write_id: WriteId) -> Txn | None:
        with self.guard:
            owners = (t for t, w in self.write_ids.get(table, {}).items() if w == write_id)
            return next((self.txns.get(txn_id) for txn_id in owners), None)

    def add_dynamic_partitions(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        require_reach(operation)
        with self.guard:
            self.require_open(txn_id)
            place = (table.database, table.table)
            for component in self.components_of(txn_id):
                if (component.database, component.table, component.partition) == (*place, None):
                    del self.components[component]
            for partition in partitions:
                reached = TxnComponent(txn_id, *place, partition, operation, write_id)
                self.components[reached] = None

    def committed_writes(self, table: TableName) -> frozenset[Written]:
        with self.guard:
            noted = (place_written(c) for c, is_written in self.completed.items() if is_written)
            return frozenset(w for w in noted if w is not None and w.table == table)

    def trim_write_ids(self, floor: TxnId) -> None:
        """Forget what no snapshot from a transaction on needs."""
        for write_ids in self.write_ids.values():
            _trim(write_ids, floor)


def place_written(c: TxnComponent) -> Written | None:
    if c.write_id is None:
        return None
    return Written(c.write_id, TableName(c.database, c.table), c.partition)


def _trim(write_ids: dict[TxnId, WriteId], floor: TxnId) -> None:
    """Forget mappings below every one that is still needed.

    Write ids are not in the order of transactions. A committed id above a kept one stays, because
    the high watermark of a snapshot is the greatest id that has a mapping.
    """
    needed = [w for t, w in write_ids.items() if t >= floor]
    for txn_id, write_id in list(write_ids.items()):
        if txn_id < floor and write_id < min(needed, default=write_id + 1):
            del write_ids[txn_id]

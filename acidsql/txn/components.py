"""Components: what a transaction writes or may write (Hive TXN_COMPONENTS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, WriteOperation

CHANGES = frozenset({WriteOperation.UPDATE, WriteOperation.DELETE})
"""The operations that can lose a write conflict."""

WRITES = CHANGES | {WriteOperation.INSERT}
"""The operations that add or remove rows. Only lock components with these are recorded."""


@dataclass(frozen=True, slots=True)
class TxnComponent:
    """One row of TXN_COMPONENTS.

    ``partition`` is None for a table without partitions, and while the partitions of a write are
    not known yet.
    """

    txn_id: TxnId
    database: str
    table: str
    partition: str | None
    operation: WriteOperation
    write_id: WriteId | None


def recorded_components(
    txn_id: TxnId, request: Sequence[LockComponent], write_ids: Mapping[TableName, WriteId]
) -> list[TxnComponent]:
    """What the store records of a lock request: one row for each table or partition it writes to.

    The partitions of a dynamic write are not known yet. So one row without a partition stands for
    all dynamic components of a table. It is an update if one of them changes rows, else an insert.
    """
    rows: dict[tuple[str, str, str | None, WriteOperation], TxnComponent] = {}
    dynamic: dict[TableName, WriteOperation] = {}
    for component in request:
        if not component.transactional or component.operation not in WRITES:
            continue
        if component.table is None:
            continue
        table = TableName(component.database, component.table)
        if component.dynamic:
            changes = component.operation in CHANGES
            known = dynamic.get(table, WriteOperation.INSERT)
            dynamic[table] = WriteOperation.UPDATE if changes else known
            continue
        row = _row(txn_id, table, component.partition, component.operation, write_ids)
        rows[(row.database, row.table, row.partition, row.operation)] = row
    unnamed = [_row(txn_id, table, None, op, write_ids) for table, op in dynamic.items()]
    return list(dict.fromkeys([*rows.values(), *unnamed]))


def _row(
    txn_id: TxnId,
    table: TableName,
    partition: str | None,
    operation: WriteOperation,
    write_ids: Mapping[TableName, WriteId],
) -> TxnComponent:
    return TxnComponent(
        txn_id, table.database, table.table, partition, operation, write_ids.get(table)
    )

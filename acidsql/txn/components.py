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
"""The operations that bring or take rows; only these are recorded of a lock."""


@dataclass(frozen=True, slots=True)
class TxnComponent:
    """One row of TXN_COMPONENTS. ``partition`` None: unpartitioned, or not yet known."""

    txn_id: TxnId
    database: str
    table: str
    partition: str | None
    operation: WriteOperation
    write_id: WriteId | None


def recorded_components(
    txn_id: TxnId, request: Sequence[LockComponent], write_ids: Mapping[TableName, WriteId]
) -> list[TxnComponent]:
    """What a lock request says about later writes: one row per table and static partition.

    The partitions of a dynamic write are not known yet, so a table has one row for them, an update
    if any of its dynamic components changes rows.
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
    late = [_row(txn_id, table, None, op, write_ids) for table, op in dynamic.items()]
    return list(dict.fromkeys([*rows.values(), *late]))


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

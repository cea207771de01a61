"""Entities from rows of the transaction tables, and parameters from entities."""

from __future__ import annotations

from acidsql.backends.relational.connection import Row
from acidsql.model.ids import TxnId
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import Txn, TxnState, TxnType, WriteOperation, WriteSetEntry
from acidsql.txn.state import require_open


def txn_of(row: Row) -> Txn:
    """The transaction of a row of TXNS."""
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


def maybe_txn(row: Row | None) -> Txn | None:
    """The transaction of a row of TXNS, or None if there is no row."""
    return txn_of(row) if row is not None else None


def require_txn(txn_id: TxnId, row: Row | None) -> Txn:
    """The open transaction of a row of TXNS, or the error that says why there is none."""
    txn = maybe_txn(row)
    require_open(txn_id, txn.state if txn else None, txn.meta_info if txn else "")
    assert txn is not None
    return txn


def component_of(row: Row) -> TxnComponent:
    """The component of a row of TXN_COMPONENTS."""
    txn_id, database, table, partition, operation, write_id = row
    return TxnComponent(
        TxnId(txn_id), database, table, partition, WriteOperation(operation), write_id
    )


def place_of(component: TxnComponent) -> dict[str, str | None]:
    """The parameters that a statement binds for a component, except its ids."""
    return {
        "database": component.database,
        "table": component.table,
        "partition": component.partition,
        "operation": component.operation.value,
    }


def write_set_entry_of(row: Row) -> WriteSetEntry:
    """The entry of a row of WRITE_SET."""
    database, table, partition, txn_id, commit_id, operation = row
    return WriteSetEntry(
        database, table, partition, TxnId(txn_id), TxnId(commit_id), WriteOperation(operation)
    )

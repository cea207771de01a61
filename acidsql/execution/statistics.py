"""Statistics of tables: whether they are true of a snapshot, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import table_directories
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.model.statistics import Basis, Statistics, Value
from acidsql.model.table import Table, TableKind
from acidsql.plans.query import QueryPlan
from acidsql.ports.engine import PartitionLocation, ReadContext, TableSnapshot
from acidsql.settings import Settings


def basis_of(snapshot: TableSnapshot, settings: Settings) -> Basis:
    """What the rows of the snapshot follow from."""
    directories = [(str(place.name or ""), place.location) for place in snapshot.partitions]
    by_position = settings.positional_evolution
    return Basis.of(snapshot.table, directories, snapshot.write_ids, by_position=by_position)


def known_answer(
    plan: QueryPlan, context: ReadContext, block: TransactionBlock | None, scope: Scope
) -> list[Value | None] | None:
    """The row of a query if statistics give it for certain; else None.

    They do not if rows were written since, if the block has written to the table, or if a missing
    directory counts as an empty one.
    """
    settings = scope.settings
    if not plan.summaries or not settings.uses_statistics or settings.missing_is_empty:
        return None
    [snapshot] = context.tables.values()
    table = snapshot.table
    if block is not None and table.name in block.write_ids:
        return None
    known = scope.store.statistics(table.name)
    if known is None or not all(known.answers(s.function, s.column) for s in plan.summaries):
        return None
    if not are_true(known, snapshot, settings):
        return None
    kinds = {column.name: column.type for column in table.all_columns}
    asked = [(s.function, s.column, kinds.get(s.column or "")) for s in plan.summaries]
    try:
        return [known.answer(*each) for each in asked]
    except ValueError:
        return None


def are_true(known: Statistics, snapshot: TableSnapshot, settings: Settings) -> bool:
    """Whether the statistics are those of the snapshot. Of a plain table that is never certain.

    Its files can change without a write id.
    """
    is_acid = snapshot.table.kind is not TableKind.PLAIN
    return is_acid and known.basis == basis_of(snapshot, settings)


def present_snapshot(
    table: Table,
    scope: Scope,
    block: TransactionBlock | None = None,
    directories: Sequence[PartitionLocation] | None = None,
) -> ReadContext:
    """What a statement would see of the table, or of some directories, if it ran now."""
    txns = scope.store.valid_txns() if block is None else block.txn.valid_txns
    write_ids = scope.store.valid_write_ids([table.name], txns)[table.name]
    places = table_directories(scope.store, table) if directories is None else directories
    return ReadContext(txns, {table.name: TableSnapshot(table, tuple(places), write_ids)})

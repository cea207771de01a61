"""A transaction's view of tables, put together for an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import SnapshotExpiredError
from acidsql.execution.commit import Uncommitted
from acidsql.execution.scope import Scope
from acidsql.model.ids import NO_TXN, NO_WRITE_ID
from acidsql.model.names import DEFAULT_DATABASE, PartitionName, TableName
from acidsql.model.predicate import Predicate, membership
from acidsql.model.prune import prune_partitions
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import Names
from acidsql.plans.plan import ChangePlan, WritePlan, partition_predicates, tables_read
from acidsql.plans.query import QueryPlan
from acidsql.ports.catalog import Catalog, partition_not_found
from acidsql.ports.engine import PartitionLocation, ReadContext, TableSnapshot
from acidsql.txn.transaction import OpenTxn


def read_context(
    catalog: Catalog,
    txn: OpenTxn,
    tables: Sequence[Table],
    arguments: Mapping[str, Any],
    uncommitted: Uncommitted | None = None,
    plan: WritePlan | QueryPlan | None = None,
    database: str = DEFAULT_DATABASE,
) -> ReadContext:
    """The transaction's view of some tables, with the partitions that only it knows.

    If a ``plan`` is given, partitions that it cannot touch may be missing. ``database`` is the
    session's current one.

    SnapshotExpiredError if rows of a table have got new write ids since the transaction began: it
    would see neither them nor the old ones.
    """
    for table in tables:
        _refuse_remade(table, txn)
    write_ids = txn.snapshot([t.name for t in tables])
    snapshots = {}
    for table in tables:
        predicates = partition_predicates(plan, table) if plan else ()
        places = table_directories(catalog, table, predicates)
        if uncommitted is not None:
            known = {place.name for place in places}
            own = uncommitted.new_partitions(table.name)
            places += [place for place in own if place.name not in known]
        snapshots[table.name] = TableSnapshot(
            table, tuple(places), write_ids[table.name], txn.require_open
        )
    return ReadContext(txn.valid_txns, snapshots, arguments, database)


def _refuse_remade(table: Table, txn: OpenTxn) -> None:
    # Of a transaction of another store, which an import by Hive brings along, nothing is known.
    if table.kind is TableKind.PLAIN or not txn.misses(table.remade_by):
        return
    raise SnapshotExpiredError(
        f"transaction {txn.txn_id} began before table {table.name} was made anew",
        detail=f"Transaction {table.remade_by} replaced or converted it, or exchanged partitions."
        " So the old rows are not there any more, and the new ones are not visible.",
        hint="ROLLBACK, and begin again.",
    )


def unread_context(plan: QueryPlan, names: Names, scope: Scope) -> ReadContext:
    """A view without a row of any table: enough to ask for the columns of a query.

    ``names`` gives the tables.
    """
    found = [names.find_table(name) for name in tables_read(plan)]
    snapshots = {
        table.name: TableSnapshot(table, (), ValidWriteIdList(str(table.name), NO_WRITE_ID))
        for table in found
        if table is not None
    }
    return ReadContext(ValidTxnList(NO_TXN), snapshots, scope.arguments, scope.names.database)


def table_directories(
    catalog: Catalog, table: Table, predicates: Sequence[Predicate] = ()
) -> list[PartitionLocation]:
    """The directories that may hold rows of these predicates: partitions, or the table's own."""
    if not table.partition_columns:
        return [PartitionLocation(None, table.location)]
    found = catalog.partitions_for(table, predicates)
    return [PartitionLocation(p.name, p.location) for p in found]


def changed_partition(
    catalog: Catalog,
    plan: WritePlan,
    targets: Mapping[TableName, Table],
    uncommitted: Uncommitted | None = None,
) -> PartitionName | None:
    """The one partition whose rows an UPDATE, DELETE or MERGE can change.

    None if there are several or none, or if the statement does not give each partition column one
    value. The name is the catalog's, since another writer may have spelled it otherwise (``k=01``),
    and a value may belong to no partition.
    """
    if not isinstance(plan, ChangePlan):
        return None
    target = targets[plan.table]
    fixed = {p.column for p in plan.predicates if p.operator in ("=", "in") and len(p.values) == 1}
    if not target.partition_columns or not fixed.issuperset(
        c.name for c in target.partition_columns
    ):
        return None
    own = uncommitted.new_partitions(target.name) if uncommitted is not None else []
    places = [
        *table_directories(catalog, target, plan.predicates),
        *prune_partitions(target, own, plan.predicates),
    ]
    names = {place.name for place in places}
    return names.pop() if len(names) == 1 else None


def partition_directory(
    catalog: Catalog, table: Table, partition: PartitionName | None
) -> PartitionLocation | None:
    """The directory of a partition or, for None, of the table itself; None if there is none."""
    predicates = membership([partition]) if partition else ()
    places = table_directories(catalog, table, predicates)
    return next((place for place in places if place.name == partition), None)


def named_directory(
    catalog: Catalog,
    table: Table,
    partition: PartitionName,
    line: int | None = None,
    column: int | None = None,
) -> PartitionLocation:
    """The directory of a partition that a statement names, at this place.

    PartitionNotFoundError if the table has no such partition.
    """
    found = partition_directory(catalog, table, partition)
    if found is None:
        raise partition_not_found(table.name, partition, line, column)
    return found

"""The locks of a definition by the catalog as it is now, for EXPLAIN LOCKS."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.definitions.create_table import (
    creation_locks,
    drop_locks,
    find_dropped,
    finds_nothing_to_drop,
)
from acidsql.definitions.create_table_as import creation_locks_as, makes_plain
from acidsql.definitions.create_view import view_locks
from acidsql.definitions.database import database_drop_locks
from acidsql.definitions.exchange_partition import exchange_locks, exchanged_tables
from acidsql.definitions.partition import alter_locks, matched_partitions, partition_drop_locks
from acidsql.definitions.properties import property_locks
from acidsql.definitions.rename_table import renaming_locks
from acidsql.definitions.view import alter_view_locks, finds_no_view
from acidsql.execution.scope import Scope
from acidsql.model.table import Table
from acidsql.planner.accesses import query_accesses
from acidsql.planner.names import (
    SeenNames,
    ViewRefusal,
    find_target,
    find_temporary,
    find_view_target,
    new_name,
)
from acidsql.planner.query import plan_query
from acidsql.ports.catalog import is_taken
from acidsql.statements import (
    AddColumns,
    AddConstraint,
    AddPartitions,
    AlterTable,
    AlterView,
    ChangeColumn,
    ChangeNothing,
    CreateDatabase,
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    Definition,
    DropColumnConstraint,
    DropColumns,
    DropConstraint,
    DropDatabase,
    DropMaterializedView,
    DropPartitions,
    DropTable,
    DropView,
    EngineDefinition,
    ExchangePartition,
    RenamePartition,
    RenameTable,
    RepairTable,
    ReplaceColumns,
    SetDatabaseProperties,
    SetFormat,
    SetLocation,
    SetProperties,
    SetRewriting,
    UnsetProperties,
    ViewDefinition,
)
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components


def definition_locks(statement: Definition | EngineDefinition, scope: Scope) -> list[LockComponent]:
    """The locks that the statement would ask for; [] if it would change nothing.

    AnalysisError for an unknown name.
    """
    if isinstance(statement, ViewDefinition | AlterView | DropView):
        return _view_locks(statement, scope)
    match statement:
        case CreateDatabase() | SetDatabaseProperties() | SetRewriting():
            return []
        case DropDatabase():
            return database_drop_locks(statement.name.name.lower())
        case CreateTable() | CreateTableLike():
            if statement.is_temporary:
                return []  # those on the session's own database make nobody wait
            return creation_locks(new_name(statement.target, scope.names))
        case CreateTableAs():
            return _creation_locks_as(statement, scope)
        case ExchangePartition():
            return exchange_locks(*exchanged_tables(statement, scope))
        case DropTable() | DropMaterializedView():
            if finds_nothing_to_drop(statement, scope):
                return []
            return drop_locks(find_dropped(statement, scope).name)
        case _:
            table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
            return _alteration_locks(statement, table, scope)


def _view_locks(
    statement: ViewDefinition | AlterView | DropView, scope: Scope
) -> list[LockComponent]:
    if isinstance(statement, ViewDefinition):
        return view_locks(statement, scope)
    if isinstance(statement, DropView) and (
        find_temporary(statement.target, scope.names) is not None or finds_no_view(statement, scope)
    ):
        return []
    view = find_view_target(statement.target, scope.names)
    if isinstance(statement, DropView):
        return drop_locks(view.name)
    return alter_view_locks(statement, view, scope)


def _creation_locks_as(statement: CreateTableAs, scope: Scope) -> list[LockComponent]:
    name = new_name(statement.table.target, scope.names)
    is_temporary = statement.table.is_temporary
    if statement.table.if_not_exists and not is_temporary and is_taken(scope.store, name):
        return []
    plan = plan_query(statement.query, SeenNames(scope.names), scope.arguments)
    if is_temporary:
        return lock_components(query_accesses(plan))
    return creation_locks_as(name, plan, is_plain=makes_plain(statement, scope))


def _alteration_locks(
    statement: AlterTable | RepairTable, table: Table, scope: Scope
) -> list[LockComponent]:
    match statement:
        case ChangeNothing() | RepairTable(repair=False):
            return []
        case RenameTable():
            return renaming_locks(table.name, new_name(statement.renamed, scope.names))
        case SetProperties() | UnsetProperties():
            return property_locks(statement, table)
        case DropPartitions():
            return partition_drop_locks(table, matched_partitions(statement, table, scope)[0])
        case (
            AddColumns()
            | AddConstraint()
            | ChangeColumn()
            | DropColumnConstraint()
            | DropColumns()
            | DropConstraint()
            | ReplaceColumns()
            | AddPartitions()
            | RenamePartition()
            | RepairTable()
            | SetFormat()
            | SetLocation()
        ):
            return alter_locks(table)
        case _:
            assert_never(statement)

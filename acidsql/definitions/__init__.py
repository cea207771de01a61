"""Statements that change the catalog: one module per noun, one match over all of them."""

from __future__ import annotations

from typing_extensions import assert_never

from acidsql.definitions.columns import add_columns, change_column, drop_columns, replace_columns
from acidsql.definitions.constraints import alter_constraints
from acidsql.definitions.create_table import create_table, drop_table
from acidsql.definitions.create_table_like import create_table_like
from acidsql.definitions.database import (
    create_database,
    drop_database,
    set_database_properties,
)
from acidsql.definitions.materialized_view import set_rewriting
from acidsql.definitions.partition import (
    add_partitions,
    drop_partitions,
    rename_partition,
)
from acidsql.definitions.properties import set_properties, unset_properties
from acidsql.definitions.rename_table import rename_table
from acidsql.definitions.repair import repair_table
from acidsql.definitions.set_format import set_format
from acidsql.definitions.set_location import set_location
from acidsql.definitions.view import alter_view, drop_view
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory
from acidsql.planner.names import ViewRefusal, find_column, find_target
from acidsql.planner.partition import whole_partition
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
)


def define(statement: Definition, scope: Scope) -> Result:
    """Carry the statement out under its locks."""
    match statement:
        case CreateTable():
            return create_table(statement, scope)
        case CreateTableLike():
            return create_table_like(statement, scope)
        case DropTable() | DropMaterializedView():
            return drop_table(statement, scope)
        case CreateDatabase():
            return create_database(statement, scope)
        case DropDatabase():
            return drop_database(statement, scope)
        case SetDatabaseProperties():
            return set_database_properties(statement, scope)
        case RepairTable():
            return repair_table(statement, scope)
        case _ if isinstance(statement, DropView | SetRewriting | AlterView):
            return _of_view(statement, scope)
        case _:
            return _alter(statement, scope)


def _of_view(statement: DropView | SetRewriting | AlterView, scope: Scope) -> Result:
    match statement:
        case DropView():
            return drop_view(statement, scope)
        case SetRewriting():
            return set_rewriting(statement, scope)
        case _:
            return alter_view(statement, scope)


def _alter(statement: AlterTable, scope: Scope) -> Result:
    match statement:
        case AddColumns():
            return add_columns(statement, scope)
        case ChangeColumn():
            return change_column(statement, scope)
        case ReplaceColumns():
            return replace_columns(statement, scope)
        case DropColumns():
            return drop_columns(statement, scope)
        case AddConstraint() | DropConstraint() | DropColumnConstraint():
            return alter_constraints(statement, scope)
        case RenameTable():
            return rename_table(statement, scope)
        case ChangeNothing():
            return _change_nothing(statement, scope)
        case SetFormat() | SetLocation() | SetProperties() | UnsetProperties():
            return _set(statement, scope)
        case _:
            return _alter_partitions(statement, scope)


def _set(
    statement: SetFormat | SetLocation | SetProperties | UnsetProperties, scope: Scope
) -> Result:
    match statement:
        case SetFormat():
            return set_format(statement, scope)
        case SetLocation():
            return set_location(statement, scope)
        case SetProperties():
            return set_properties(statement, scope)
        case UnsetProperties():
            return unset_properties(statement, scope)


def _change_nothing(statement: ChangeNothing, scope: Scope) -> Result:
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    for identifier in statement.columns:
        find_column(table, identifier)
    for items in statement.partitions:
        name = whole_partition(items, table, statement.target, scope.arguments)
        named_directory(scope.store, table, name)
    return Result("alter", message=statement.note)


def _alter_partitions(
    statement: AddPartitions | DropPartitions | RenamePartition, scope: Scope
) -> Result:
    match statement:
        case AddPartitions():
            return add_partitions(statement, scope)
        case DropPartitions():
            return drop_partitions(statement, scope)
        case RenamePartition():
            return rename_partition(statement, scope)
        case _:
            assert_never(statement)

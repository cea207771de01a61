"""The statements that change the catalog."""

from __future__ import annotations

from acidsql.statements.alter_table import (
    AddColumns,
    AddConstraint,
    ChangeColumn,
    ChangeNothing,
    DropColumnConstraint,
    DropColumns,
    DropConstraint,
    ExchangePartition,
    RenameTable,
    ReplaceColumns,
    SetFormat,
    SetLocation,
    SetProperties,
    UnsetProperties,
)
from acidsql.statements.create_table import (
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    DropTable,
)
from acidsql.statements.database import CreateDatabase, DropDatabase, SetDatabaseProperties
from acidsql.statements.partition import (
    AddPartitions,
    DropPartitions,
    RenamePartition,
    RepairTable,
)
from acidsql.statements.view import (
    AlterView,
    DropMaterializedView,
    DropView,
    SetRewriting,
    ViewDefinition,
)

AlterTable = (
    AddColumns
    | ReplaceColumns
    | DropColumns
    | ChangeColumn
    | AddConstraint
    | DropConstraint
    | DropColumnConstraint
    | RenameTable
    | ChangeNothing
    | SetFormat
    | SetLocation
    | SetProperties
    | UnsetProperties
    | AddPartitions
    | DropPartitions
    | RenamePartition
)

Definition = (
    CreateTable
    | CreateTableLike
    | DropTable
    | CreateDatabase
    | DropDatabase
    | SetDatabaseProperties
    | AlterTable
    | RepairTable
    | DropView
    | DropMaterializedView
    | SetRewriting
    | AlterView
)

EngineDefinition = CreateTableAs | ViewDefinition | ExchangePartition
"""Those for which an engine runs a query, or tells its columns."""

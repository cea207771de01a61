"""What the user said: frozen dataclasses over pieces of the statement's text."""

from __future__ import annotations

from acidsql.statements.alter_table import (
    AddColumns,
    ChangeColumn,
    RenameTable,
    ReplaceColumns,
    SetProperties,
    UnsetProperties,
)
from acidsql.statements.check import Check
from acidsql.statements.compact import Compact
from acidsql.statements.create_table import (
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    DropTable,
)
from acidsql.statements.database import CreateDatabase, DropDatabase, Use
from acidsql.statements.delete import Delete
from acidsql.statements.explain import Explain
from acidsql.statements.insert import Insert
from acidsql.statements.load import Load
from acidsql.statements.merge import Merge
from acidsql.statements.partition import (
    AddPartitions,
    DropPartitions,
    RenamePartition,
    RepairTable,
)
from acidsql.statements.query import Query
from acidsql.statements.show import (
    Describe,
    ShowCompactions,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTables,
    ShowTransactions,
)
from acidsql.statements.truncate import Truncate
from acidsql.statements.update import Update

AlterTable = (
    AddColumns
    | ReplaceColumns
    | ChangeColumn
    | RenameTable
    | SetProperties
    | UnsetProperties
    | AddPartitions
    | DropPartitions
    | RenamePartition
)

WriteStatement = Insert | Update | Delete | Merge | Truncate | Load
Statement = (
    WriteStatement
    | Query
    | Explain
    | Check
    | Compact
    | CreateTable
    | CreateTableAs
    | CreateTableLike
    | DropTable
    | CreateDatabase
    | DropDatabase
    | AlterTable
    | RepairTable
    | Use
    | Describe
    | ShowTables
    | ShowDatabases
    | ShowPartitions
    | ShowCreateTable
    | ShowCompactions
    | ShowTransactions
    | ShowLocks
)

__all__ = [
    "AddColumns",
    "AddPartitions",
    "AlterTable",
    "ChangeColumn",
    "Check",
    "Compact",
    "CreateDatabase",
    "CreateTable",
    "CreateTableAs",
    "CreateTableLike",
    "Delete",
    "Describe",
    "DropDatabase",
    "DropPartitions",
    "DropTable",
    "Explain",
    "Insert",
    "Load",
    "Merge",
    "Query",
    "RenamePartition",
    "RenameTable",
    "RepairTable",
    "ReplaceColumns",
    "SetProperties",
    "ShowCompactions",
    "ShowCreateTable",
    "ShowDatabases",
    "ShowLocks",
    "ShowPartitions",
    "ShowTables",
    "ShowTransactions",
    "Statement",
    "Truncate",
    "UnsetProperties",
    "Update",
    "Use",
    "WriteStatement",
]

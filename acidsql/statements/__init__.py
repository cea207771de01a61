"""Statements as the user wrote them: frozen dataclasses with pieces of the statement's text."""

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
from acidsql.statements.analyze import Analyze
from acidsql.statements.cache import Cache
from acidsql.statements.check import Check
from acidsql.statements.compact import AbortCompactions, Compact
from acidsql.statements.configuration import (
    ConfigurationStatement,
    DescribeConfiguration,
    ResetConfiguration,
    SetConfiguration,
    ShowConfiguration,
)
from acidsql.statements.create_table import (
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    DropTable,
)
from acidsql.statements.database import (
    CreateDatabase,
    DropDatabase,
    SetDatabaseProperties,
    Use,
)
from acidsql.statements.definition import AlterTable, Definition, EngineDefinition
from acidsql.statements.delete import Delete
from acidsql.statements.explain import Explain
from acidsql.statements.export_table import ExportTable, ImportTable
from acidsql.statements.insert import Insert
from acidsql.statements.insert_directory import InsertDirectory
from acidsql.statements.load import Load
from acidsql.statements.merge import Merge
from acidsql.statements.multi_insert import MultiInsert
from acidsql.statements.partition import (
    AddPartitions,
    DropPartitions,
    RenamePartition,
    RepairTable,
)
from acidsql.statements.query import Query
from acidsql.statements.show import (
    Describe,
    DescribeDatabase,
    DescribeFunction,
    DescribeQuery,
    EngineAnswer,
    Show,
    ShowColumns,
    ShowCompactions,
    ShowCreateDatabase,
    ShowCreateTable,
    ShowCurrentDatabase,
    ShowDatabases,
    ShowFunctions,
    ShowLocks,
    ShowMaterializedViews,
    ShowPartitions,
    ShowProperties,
    ShowTableExtended,
    ShowTables,
    ShowTransactions,
    ShowViews,
)
from acidsql.statements.transaction import (
    AbortTransactions,
    Begin,
    Commit,
    Rollback,
    SetAutocommit,
    SetTransaction,
)
from acidsql.statements.truncate import Truncate
from acidsql.statements.update import Update
from acidsql.statements.vacuum import Vacuum
from acidsql.statements.view import (
    AlterView,
    AlterViewAs,
    CreateView,
    DropMaterializedView,
    DropView,
    RebuildMaterializedView,
    RenameView,
    SetRewriting,
    SetViewProperties,
    UnsetViewProperties,
    ViewDefinition,
)

TransactionStatement = Begin | Commit | Rollback | SetTransaction | SetAutocommit
WriteStatement = (
    Insert | MultiInsert | Update | Delete | Merge | Truncate | Load | RebuildMaterializedView
)
OtherStatement = (
    WriteStatement
    | Query
    | Explain
    | Check
    | Analyze
    | Vacuum
    | Cache
    | Compact
    | Definition
    | EngineDefinition
    | InsertDirectory
    | ExportTable
    | ImportTable
    | Use
    | Show
    | EngineAnswer
    | AbortTransactions
    | AbortCompactions
)
Statement = TransactionStatement | ConfigurationStatement | OtherStatement

__all__ = [
    "AbortCompactions",
    "AbortTransactions",
    "AddColumns",
    "AddConstraint",
    "AddPartitions",
    "AlterTable",
    "AlterView",
    "AlterViewAs",
    "Analyze",
    "Begin",
    "Cache",
    "ChangeColumn",
    "ChangeNothing",
    "Check",
    "Commit",
    "Compact",
    "ConfigurationStatement",
    "CreateDatabase",
    "CreateTable",
    "CreateTableAs",
    "CreateTableLike",
    "CreateView",
    "Definition",
    "Delete",
    "Describe",
    "DescribeConfiguration",
    "DescribeDatabase",
    "DescribeFunction",
    "DescribeQuery",
    "DropColumnConstraint",
    "DropColumns",
    "DropConstraint",
    "DropDatabase",
    "DropMaterializedView",
    "DropPartitions",
    "DropTable",
    "DropView",
    "EngineAnswer",
    "EngineDefinition",
    "ExchangePartition",
    "Explain",
    "ExportTable",
    "ImportTable",
    "Insert",
    "InsertDirectory",
    "Load",
    "Merge",
    "MultiInsert",
    "OtherStatement",
    "Query",
    "RebuildMaterializedView",
    "RenamePartition",
    "RenameTable",
    "RenameView",
    "RepairTable",
    "ReplaceColumns",
    "ResetConfiguration",
    "Rollback",
    "SetAutocommit",
    "SetConfiguration",
    "SetDatabaseProperties",
    "SetFormat",
    "SetLocation",
    "SetProperties",
    "SetRewriting",
    "SetTransaction",
    "SetViewProperties",
    "Show",
    "ShowColumns",
    "ShowCompactions",
    "ShowConfiguration",
    "ShowCreateDatabase",
    "ShowCreateTable",
    "ShowCurrentDatabase",
    "ShowDatabases",
    "ShowFunctions",
    "ShowLocks",
    "ShowMaterializedViews",
    "ShowPartitions",
    "ShowProperties",
    "ShowTableExtended",
    "ShowTables",
    "ShowTransactions",
    "ShowViews",
    "Statement",
    "TransactionStatement",
    "Truncate",
    "UnsetProperties",
    "UnsetViewProperties",
    "Update",
    "Use",
    "Vacuum",
    "ViewDefinition",
    "WriteStatement",
]

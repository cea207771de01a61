"""What the user said: frozen dataclasses over pieces of the statement's text."""

from __future__ import annotations

from acidsql.statements.check import Check
from acidsql.statements.compact import Compact
from acidsql.statements.create_table import CreateTable, DropTable
from acidsql.statements.database import CreateDatabase, DropDatabase, Use
from acidsql.statements.delete import Delete
from acidsql.statements.explain import Explain
from acidsql.statements.insert import Insert
from acidsql.statements.load import Load
from acidsql.statements.merge import Merge
from acidsql.statements.query import Query
from acidsql.statements.show import (
    Describe,
    ShowCompactions,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTables,
    ShowTransactions,
)
from acidsql.statements.truncate import Truncate
from acidsql.statements.update import Update

WriteStatement = Insert | Update | Delete | Merge | Truncate | Load
Statement = (
    WriteStatement
    | Query
    | Explain
    | Check
    | Compact
    | CreateTable
    | DropTable
    | CreateDatabase
    | DropDatabase
    | Use
    | Describe
    | ShowTables
    | ShowDatabases
    | ShowPartitions
    | ShowCompactions
    | ShowTransactions
    | ShowLocks
)

__all__ = [
    "Check",
    "Compact",
    "CreateDatabase",
    "CreateTable",
    "Delete",
    "Describe",
    "DropDatabase",
    "DropTable",
    "Explain",
    "Insert",
    "Load",
    "Merge",
    "Query",
    "ShowCompactions",
    "ShowDatabases",
    "ShowLocks",
    "ShowPartitions",
    "ShowTables",
    "ShowTransactions",
    "Statement",
    "Truncate",
    "Update",
    "Use",
    "WriteStatement",
]

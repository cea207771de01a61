"""EXPLAIN and EXPLAIN LOCKS of a statement."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.analyze import Analyze
from acidsql.statements.cache import Cache
from acidsql.statements.check import Check
from acidsql.statements.compact import AbortCompactions, Compact
from acidsql.statements.configuration import ConfigurationStatement
from acidsql.statements.database import Use
from acidsql.statements.definition import Definition, EngineDefinition
from acidsql.statements.delete import Delete
from acidsql.statements.export_table import ExportTable, ImportTable
from acidsql.statements.insert import Insert
from acidsql.statements.insert_directory import InsertDirectory
from acidsql.statements.load import Load
from acidsql.statements.merge import Merge
from acidsql.statements.multi_insert import MultiInsert
from acidsql.statements.query import Query
from acidsql.statements.show import EngineAnswer, Show
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
from acidsql.statements.view import RebuildMaterializedView

Planned = (
    Insert
    | MultiInsert
    | Update
    | Delete
    | Merge
    | Truncate
    | Load
    | RebuildMaterializedView
    | Query
)
Explained = (
    Planned
    | Definition
    | EngineDefinition
    | InsertDirectory
    | ExportTable
    | ImportTable
    | Compact
    | Check
    | Analyze
    | Vacuum
    | Cache
    | Use
    | Show
    | EngineAnswer
    | AbortTransactions
    | AbortCompactions
    | Begin
    | Commit
    | Rollback
    | SetTransaction
    | SetAutocommit
    | ConfigurationStatement
)


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [LOCKS] ``statement``. Words such as EXTENDED are ``ignored``."""

    statement: Explained
    locks: bool = False
    ignored: tuple[str, ...] = ()

"""EXPLAIN and EXPLAIN LOCKS of a statement."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.compact import Compact
from acidsql.statements.create_table import CreateTableAs
from acidsql.statements.definition import Definition
from acidsql.statements.delete import Delete
from acidsql.statements.insert import Insert
from acidsql.statements.load import Load
from acidsql.statements.merge import Merge
from acidsql.statements.query import Query
from acidsql.statements.truncate import Truncate
from acidsql.statements.update import Update
from acidsql.statements.view import ViewDefinition

Planned = Insert | Update | Delete | Merge | Truncate | Load | Query
Explained = Planned | Definition | CreateTableAs | ViewDefinition | Compact


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [LOCKS] ``statement``. Only writes and queries have a plan; the others need LOCKS."""

    statement: Explained
    locks: bool = False

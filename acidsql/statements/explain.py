"""EXPLAIN and EXPLAIN LOCKS of a statement."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.delete import Delete
from acidsql.statements.insert import Insert
from acidsql.statements.load import Load
from acidsql.statements.merge import Merge
from acidsql.statements.query import Query
from acidsql.statements.truncate import Truncate
from acidsql.statements.update import Update


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [LOCKS] ``statement``."""

    statement: Insert | Update | Delete | Merge | Truncate | Load | Query
    locks: bool = False

"""SELECT, WITH … SELECT, VALUES, set operations: anything that yields rows."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment


@dataclass(frozen=True, slots=True)
class Query:
    """A query."""

    source: Fragment

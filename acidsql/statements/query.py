"""Queries: SELECT, WITH … SELECT, VALUES, TABLE, FROM and set operations."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Fragment


@dataclass(frozen=True, slots=True)
class Query:
    """A query."""

    source: Fragment

"""Queries: SELECT, VALUES, FROM and TABLE, perhaps after WITH."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import query
from acidsql.statements.query import Query


def parse_query(cursor: Cursor) -> Query:
    """Parse the rest of the cursor as a query."""
    source = query(cursor)
    cursor.at = cursor.end
    return Query(source)

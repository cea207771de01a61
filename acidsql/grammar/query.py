"""SELECT, VALUES, FROM, TABLE and WITH … of these."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import query
from acidsql.statements.query import Query


def parse_query(cursor: Cursor) -> Query:
    """The query that the rest of the text is."""
    source = query(cursor)
    cursor.at = cursor.end
    return Query(source)

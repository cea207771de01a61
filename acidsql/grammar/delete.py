"""DELETE FROM t WHERE …."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.update import parse_where, refuse_clauses
from acidsql.statements.delete import Delete


def parse_delete(cursor: Cursor) -> Delete:
    """Parse a DELETE from the cursor."""
    cursor.expect("DELETE", "FROM")
    target = cursor.table(alias=True)
    refuse_clauses(cursor, "DELETE")
    return Delete(target, parse_where(cursor, target, "DELETE"))

"""DELETE FROM t WHERE …."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.relation import Relations
from acidsql.grammar.update import merge_with, parse_join, parse_where, refuse_clauses
from acidsql.statements.delete import Delete
from acidsql.statements.merge import Merge, MergeDelete


def parse_delete(cursor: Cursor) -> Delete | Merge:
    """Parse a DELETE from the cursor. With one source in USING it mostly is a MERGE."""
    line, column = cursor.source.place(cursor.offset)
    cursor.expect("DELETE")
    cursor.skip_hint()
    cursor.expect("FROM")
    target = cursor.table(alias=True)
    if not cursor.accept("USING"):
        refuse_clauses(cursor, "DELETE")
        return Delete(target, parse_where(cursor, target, "DELETE"))
    source, on = parse_join(cursor, target, "DELETE")
    if isinstance(source, Relations):
        return Delete(target, on, source.items)
    return merge_with(source, target, on, MergeDelete(None, line, column), "DELETE")

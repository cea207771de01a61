"""COMMENT ON TABLE and COMMENT ON COLUMN."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.database import DATABASE_WORDS
from acidsql.statements.alter_table import ChangeColumn, SetProperties, UnsetProperties

_PROPERTY = "comment"
"""Where Hive keeps the comment of a table."""


def parse_comment(cursor: Cursor) -> SetProperties | UnsetProperties | ChangeColumn:
    """Parse ``COMMENT ON TABLE t | COLUMN t.c IS 'comment' | NULL`` from the cursor."""
    start = cursor.offset
    cursor.expect("COMMENT", "ON")
    if cursor.sees_any(*DATABASE_WORDS):
        cursor.source.refuse(
            f"COMMENT ON {cursor.peek().word} is not supported",
            start,
            hint="CREATE DATABASE … COMMENT gives a database its comment, which stays.",
        )
    if cursor.accept("COLUMN"):
        target, column = cursor.table_and_column()
        return ChangeColumn(target, column, column, comment=_comment(cursor) or "")
    if not cursor.accept("TABLE"):
        cursor.unexpected("expected TABLE or COLUMN")
    target = cursor.table()
    comment = _comment(cursor)
    if comment is None:
        return UnsetProperties(target, (_PROPERTY,), if_exists=True)
    return SetProperties(target, ((_PROPERTY, comment),))


def _comment(cursor: Cursor) -> str | None:
    cursor.expect("IS")
    return None if cursor.accept("NULL") else cursor.string("a comment in quotes, or NULL")

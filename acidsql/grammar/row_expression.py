"""Expressions that are asked of one row each, the conditions and values of UPDATE and MERGE."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import expression, value
from acidsql.statements.fragment import Fragment, TableRef, Value
from acidsql.statements.several_rows import of_several_rows


def row_expression(cursor: Cursor, tables: Sequence[TableRef]) -> Fragment:
    """The rest of the cursor as one `expression`. ``tables`` are those it may name."""
    start = cursor.offset
    found = expression(cursor, tables)
    _refuse_several_rows(cursor, found, start)
    return found


def row_value(cursor: Cursor, tables: Sequence[TableRef]) -> Value:
    """The rest of the cursor as the value of a column: a `row_expression`, or DEFAULT."""
    start = cursor.offset
    found = value(cursor, tables)
    if isinstance(found, Fragment):
        _refuse_several_rows(cursor, found, start)
    return found


def _refuse_several_rows(cursor: Cursor, found: Fragment, start: int) -> None:
    what = of_several_rows(found.tree)
    if what is not None:
        cursor.source.analysis_error(
            f"{what} needs a query of its own",
            start,
            detail="The expression is asked of each row alone.",
            hint="Write a subquery: (SELECT … FROM …).",
        )

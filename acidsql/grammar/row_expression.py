"""Expressions that are asked of one row each, the conditions and values of UPDATE and MERGE."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from acidsql.errors import ColumnNotFoundError
from acidsql.grammar.cursor import Cursor
from acidsql.grammar.fragment import expression, value
from acidsql.model.hidden_column import INTERNAL_PREFIX
from acidsql.statements.fragment import Fragment, TableRef, Value
from acidsql.statements.several_rows import of_several_rows


def row_expression(cursor: Cursor, tables: Sequence[TableRef]) -> Fragment:
    """The rest of the cursor as one `expression`. ``tables`` are those it may name."""
    start = cursor.offset
    found = expression(cursor, tables)
    _refuse(cursor, found, start)
    return found


def row_value(cursor: Cursor, tables: Sequence[TableRef]) -> Value:
    """The rest of the cursor as the value of a column: a `row_expression`, or DEFAULT."""
    start = cursor.offset
    found = value(cursor, tables)
    if isinstance(found, Fragment):
        _refuse(cursor, found, start)
    return found


def _refuse(cursor: Cursor, found: Fragment, start: int) -> None:
    """AnalysisError for other rows than the one, ColumnNotFoundError for an internal column."""
    what = of_several_rows(found.tree)
    if what is not None:
        cursor.source.analysis_error(
            f"{what} needs a query of its own",
            start,
            detail="The expression is asked of each row alone.",
            hint="Write a subquery: (SELECT … FROM …).",
        )
    for column in found.tree.find_all(exp.Column):
        if column.name.lower().startswith(INTERNAL_PREFIX):
            place = cursor.source.place(start + int(column.this.meta.get("start", 0)))
            raise ColumnNotFoundError(
                f'column "{column.name}" not found',
                detail=f"Names that begin with {INTERNAL_PREFIX} are reserved.",
                code=10002,
                line=place[0],
                column=place[1],
            )

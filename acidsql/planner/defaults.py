"""What rows have in the columns that they leave out, and where DEFAULT stands for a value."""

from __future__ import annotations

from collections.abc import Collection

from acidsql.errors import UnsupportedStatementError
from acidsql.grammar.called import called
from acidsql.grammar.constraint import constraint_expression
from acidsql.model.constraint import ConstraintKind, checks, default_of
from acidsql.model.table import Column, Table
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.plans.insert import GivenRows
from acidsql.plans.sql_text import SqlText


def left_out(table: Table, columns: Collection[Column]) -> tuple[Column, ...]:
    """The columns that have a DEFAULT and that rows of these ``columns`` leave out."""
    return tuple(
        c
        for c in table.columns
        if c not in columns and default_of(table.constraints, c.name) is not None
    )


def default_value(table: Table, column: Column) -> SqlText:
    """The SQL of what a column has if a row gives no value: its DEFAULT, or else NULL."""
    return SqlText.of(called(default_of(table.constraints, column.name) or "NULL"))


def default_cell(table: Table, column: Column) -> str | None:
    """The canonical text of the same; None is NULL. NotLiteral if Spark has to compute it."""
    text = default_of(table.constraints, column.name)
    if text is None:
        return None
    value = constraint_expression(ConstraintKind.DEFAULT, text)
    return cell_text(value, column.type, {}, column.name)


def given_rows(parameter: str, table: Table, columns: Collection[Column]) -> GivenRows:
    """The rows that a caller gives, which fill these columns.

    UnsupportedStatementError if something about them is left to Spark, which does not see them.
    """
    found = checks(table.constraints)
    if found:
        raise UnsupportedStatementError(
            f'table {table.name} has the CHECK constraint "{found[0].name}", which only Spark'
            " can check",
            hint="Register the rows as a frame, and run INSERT INTO … SELECT.",
        )
    cells = []
    for column in left_out(table, columns):
        try:
            cells.append((column.name, default_cell(table, column)))
        except NotLiteral:
            raise UnsupportedStatementError(
                f'only Spark can compute the DEFAULT of column "{column.name}" of {table.name}',
                hint="Give the column, too, or run INSERT INTO … SELECT.",
            ) from None
    return GivenRows(parameter=parameter, defaults=tuple(cells))

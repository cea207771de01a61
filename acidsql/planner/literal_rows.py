"""Rows of VALUES whose values are all literals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from acidsql.errors import ConstraintViolationError
from acidsql.model.constraint import checks, requirements
from acidsql.model.table import Column, Table
from acidsql.model.types import CharType
from acidsql.planner.defaults import default_cell
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.predicates import Arguments
from acidsql.plans.insert import LiteralRows
from acidsql.statements.fragment import Default
from acidsql.statements.insert import ValueList


def literal_rows(
    values: ValueList,
    table: Table,
    columns: Sequence[Column],
    defaulted: Sequence[Column],
    arguments: Arguments,
) -> LiteralRows:
    """The rows, which fill ``columns`` and then ``defaulted`` with the defaults of the table.

    NotLiteral if Spark has to compute a value, or to check a row. InvalidValueError and
    ConstraintViolationError, with a place, for a value that its column does not take.
    """
    if checks(table.constraints):
        raise NotLiteral
    rest = tuple(default_cell(table, column) for column in defaulted)
    rows = tuple(
        (
            *(
                default_cell(table, column)
                if isinstance(value, Default)
                else cell_text(value, column.type, arguments, column.name)
                for value, column in zip(row, columns, strict=True)
            ),
            *rest,
        )
        for row in values.rows
    )
    _refuse_nulls(values, rows, columns, table)
    return LiteralRows(rows=rows)


def refuse_long_texts(values: ValueList, columns: Sequence[Column], arguments: Arguments) -> None:
    """Refuse texts that are too long, in rows of which Spark has to compute some values.

    Spark would not say which text it is. InvalidValueError, with the text's place.
    """
    for at, column in enumerate(columns):
        if not isinstance(column.type, CharType):
            continue
        for cell in (row[at] for row in values.rows):
            if not isinstance(cell, Default):
                with suppress(NotLiteral):
                    cell_text(cell, column.type, arguments, column.name)


def _refuse_nulls(
    values: ValueList,
    rows: Sequence[Sequence[str | None]],
    columns: Sequence[Column],
    table: Table,
) -> None:
    required = requirements(table.constraints)
    for at, column in enumerate(columns):
        if column.name not in required:
            continue
        for given, cells in zip(values.rows, rows, strict=True):
            if cells[at] is None:
                raise ConstraintViolationError(
                    required[column.name].violated(table.name),
                    line=given[at].line,
                    column=given[at].column,
                )

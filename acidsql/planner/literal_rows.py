"""Rows of VALUES whose values are all literals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.errors import ConstraintViolationError
from acidsql.model.constraint import Constraint, checks, requirements
from acidsql.model.table import Column, Table
from acidsql.planner.defaults import default_cell
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.predicates import Arguments
from acidsql.plans.insert import LiteralRows
from acidsql.statements.fragment import Default, Value
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
    required = requirements(table.constraints)
    rest = tuple(default_cell(table, column) for column in defaulted)
    rows = []
    for row in values.rows:
        cells = [
            _cell(value, column, table, required, arguments)
            for value, column in zip(row, columns, strict=True)
        ]
        rows.append((*cells, *rest))
    return LiteralRows(rows=tuple(rows))


def _cell(
    value: Value,
    column: Column,
    table: Table,
    required: Mapping[str, Constraint],
    arguments: Arguments,
) -> str | None:
    if isinstance(value, Default):
        cell = default_cell(table, column)
    else:
        cell = cell_text(value, column.type, arguments, column.name)
    if cell is None and column.name in required:
        raise ConstraintViolationError(
            required[column.name].violated(table.name), line=value.line, column=value.column
        )
    return cell

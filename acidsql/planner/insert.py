"""INSERT → plan."""

from __future__ import annotations

from acidsql.errors import AnalysisError
from acidsql.model.table import Column, Table
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import Names, ViewRefusal, find_column, find_target
from acidsql.planner.partition import fixed_values
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering
from acidsql.plans.insert import GivenRows, InsertPlan, LiteralRows, wrong_count
from acidsql.plans.sql_text import SqlText
from acidsql.statements.insert import GivenSource, Insert


def plan_insert(statement: Insert, names: Names, arguments: Arguments) -> InsertPlan:
    """The plan of an INSERT: of rows that the caller gives, of literals, else of a query."""
    table = find_target(statement.target, names, ViewRefusal.INSERT)
    static = _static_partition(statement, table, arguments)
    columns = _columns(statement, table, dict(static))
    return InsertPlan(
        table=table.name,
        columns=tuple(c.name for c in columns),
        static_partition=static,
        rows=_rows(statement, columns, names, arguments),
        overwrite=statement.overwrite,
        target=table.kind,
    )


def _static_partition(
    statement: Insert, table: Table, arguments: Arguments
) -> tuple[tuple[str, str | None], ...]:
    named = {item.column.name.lower() for item in statement.partition}
    static = fixed_values(statement.partition, table, arguments)
    missing = [c.name for c in table.partition_columns if c.name not in named]
    # The columns of given rows are known by name, so they may fill the rest.
    if named and missing and not isinstance(statement.source, GivenSource):
        raise AnalysisError(
            f'PARTITION leaves out the partition columns {", ".join(missing)} of "{table.name}"',
            code=10125,
            line=statement.target.line,
            column=statement.target.column,
        )
    return static


def _columns(statement: Insert, table: Table, static: dict[str, str | None]) -> tuple[Column, ...]:
    """The columns that the rows fill, in the order of the rows."""
    open_columns = tuple(c for c in table.all_columns if c.name not in static)
    if statement.columns is None:
        return open_columns
    columns: list[Column] = []
    for identifier in statement.columns:
        column = find_column(table, identifier)
        if column.name in static:
            raise AnalysisError(
                f'column "{column.name}" is given twice',
                line=identifier.line,
                column=identifier.column,
            )
        columns.append(column)
    for column in table.partition_columns:
        if column.name not in static and column not in columns:
            raise AnalysisError(
                f'the column list leaves out the partition column "{column.name}"',
                hint="Name the column in the list, or give its value in PARTITION (…).",
                line=statement.target.line,
                column=statement.target.column,
            )
    return tuple(columns)


def _rows(
    statement: Insert, columns: tuple[Column, ...], names: Names, arguments: Arguments
) -> LiteralRows | GivenRows | SqlText:
    if isinstance(statement.source, GivenSource):
        return GivenRows(parameter=statement.source.parameter)
    for row in statement.rows or ():
        if len(row) != len(columns):
            place = row[0] if row else statement.target
            filled = [c.name for c in columns]
            raise wrong_count(len(row), filled, place.line, place.column)
    if statement.rows is not None:
        try:
            return LiteralRows(
                rows=tuple(
                    tuple(
                        cell_text(cell, column.type, arguments, column.name)
                        for cell, column in zip(row, columns, strict=True)
                    )
                    for row in statement.rows
                )
            )
        except NotLiteral:
            pass
    return Lowering(names, arguments, statement.source.mentions_row_id).text(statement.source)

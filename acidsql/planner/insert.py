"""INSERT → plan."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from acidsql.errors import AnalysisError
from acidsql.model.table import Column, Table
from acidsql.planner.defaults import default_value, given_rows, left_out
from acidsql.planner.literal_rows import literal_rows, refuse_long_texts
from acidsql.planner.literals import NotLiteral
from acidsql.planner.names import Names, ViewRefusal, find_column, find_target
from acidsql.planner.partition import fixed_values, refuse_left_out
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering
from acidsql.plans.insert import GivenRows, InsertPlan, LiteralRows, ValueRows, wrong_count
from acidsql.plans.sql_text import InputSource, SqlText
from acidsql.plans.update import SetColumn
from acidsql.statements.fragment import Fragment, Value
from acidsql.statements.insert import GivenSource, Insert, ValueList
from acidsql.statements.nondeterministic import first_nondeterministic


def plan_insert(
    statement: Insert,
    names: Names,
    arguments: Arguments,
    stand_ins: Mapping[int, InputSource] | None = None,
) -> InsertPlan:
    """The plan of an INSERT: of rows that the caller gives, of literals, else of a query.

    ``stand_ins`` are those of `Lowering`.
    """
    table = find_target(statement.target, names, ViewRefusal.INSERT)
    static = _static_partition(statement, table, arguments)
    columns = _columns(statement, table, dict(static))
    defaulted = left_out(table, () if statement.by_name else columns)
    rows = _rows(statement, table, columns, defaulted, names, arguments, stand_ins or {})
    filled = (*columns, *defaulted) if isinstance(rows, LiteralRows) else columns
    defaults = defaulted if isinstance(rows, SqlText | ValueRows) else ()
    return InsertPlan(
        table=table.name,
        columns=tuple(c.name for c in filled),
        static_partition=static,
        rows=rows,
        defaults=tuple(SetColumn(column=c.name, value=default_value(table, c)) for c in defaults),
        overwrite=statement.overwrite,
        by_name=statement.by_name,
        unless_exists=statement.unless_exists,
        target=table.kind,
    )


def _static_partition(
    statement: Insert, table: Table, arguments: Arguments
) -> tuple[tuple[str, str | None], ...]:
    static = fixed_values(statement.partition, table, arguments)
    # Columns that are known by name may fill the rest.
    if not (statement.by_name or isinstance(statement.source, GivenSource)):
        refuse_left_out(statement.partition, table, statement.target, 10125)
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
    statement: Insert,
    table: Table,
    columns: tuple[Column, ...],
    defaulted: tuple[Column, ...],
    names: Names,
    arguments: Arguments,
    stand_ins: Mapping[int, InputSource],
) -> LiteralRows | GivenRows | ValueRows | SqlText:
    source = statement.source
    if isinstance(source, GivenSource):
        return given_rows(source.parameter, table, columns)
    if isinstance(source, ValueList):
        return _values(source, table, columns, defaulted, names, arguments)
    return Lowering(names, arguments, stand_ins).text(source)


def _values(
    values: ValueList,
    table: Table,
    columns: tuple[Column, ...],
    defaulted: tuple[Column, ...],
    names: Names,
    arguments: Arguments,
) -> LiteralRows | ValueRows | SqlText:
    for row in values.rows:
        if len(row) != len(columns):
            filled = [c.name for c in columns]
            raise wrong_count(len(row), filled, row[0].line, row[0].column)
    try:
        return literal_rows(values, table, columns, defaulted, arguments)
    except NotLiteral:
        refuse_long_texts(values, columns, arguments)
    lowering = Lowering(names, arguments)
    rows = tuple(
        tuple(lowering.value(cell, table, c) for cell, c in zip(row, columns, strict=True))
        for row in values.rows
    )
    in_select = any(_needs_select(cell) for row in values.rows for cell in row)
    if len(rows) > 1 or in_select:
        return ValueRows(rows=rows, in_select=in_select)
    return SqlText.of("VALUES (", SqlText.join(", ", rows[0]), ")")


def _needs_select(cell: Value) -> bool:
    """Whether Spark refuses a value in VALUES that it computes in SELECT."""
    if not isinstance(cell, Fragment):
        return False
    has_subquery = cell.tree.find(exp.Query) is not None
    return has_subquery or first_nondeterministic(cell, [cell.tree]) is not None

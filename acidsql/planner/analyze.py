"""ANALYZE TABLE → plan."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.model.names import quote_identifier
from acidsql.model.statistics import has_range
from acidsql.model.table import Column, Table
from acidsql.model.types import MapType, PrimitiveType, walk_types
from acidsql.planner.names import Names, find_column, find_target
from acidsql.planner.partition import fixed_values, require_partitioned
from acidsql.planner.predicates import Arguments
from acidsql.plans.analyze import AnalyzePlan
from acidsql.plans.query import QueryPlan
from acidsql.plans.sql_text import SqlText, TableSource, day_text
from acidsql.statements.analyze import Analyze


def plan_analyze(statement: Analyze, names: Names, arguments: Arguments) -> AnalyzePlan:
    """The plan to analyse a table of any kind, or some of its partitions."""
    table = find_target(statement.target, names)
    partition = None
    if statement.partition:
        require_partitioned(table, statement.target)
        partition = fixed_values(statement.partition, table, arguments)
    columns = [find_column(table, identifier) for identifier in statement.columns]
    if statement.all_columns:
        columns = list(table.all_columns)
    if statement.noscan:
        return AnalyzePlan(table=table.name, partition=partition)
    ranges = [c for c in columns if has_range(c.type)]
    return AnalyzePlan(
        table=table.name,
        partition=partition,
        columns=tuple(c.name for c in columns),
        ranges=tuple(c.name for c in ranges),
        query=QueryPlan(rows=_query(table, columns, ranges)),
    )


def _query(table: Table, columns: Sequence[Column], ranges: Sequence[Column]) -> SqlText:
    """One aggregate: the rows, two numbers for each column, and two texts for each range."""
    items = ["count(*)"]
    for column in columns:
        name = quote_identifier(column.name)
        items += [f"count({name})", _distinct(name, column)]
    for column in ranges:
        name = quote_identifier(column.name)
        items += [_text(f"{function}({name})", column) for function in ("min", "max")]
    source = TableSource(table=table.name, columns=tuple(c.name for c in columns))
    return SqlText.of("SELECT ", ", ".join(items), " FROM ", source)


def _text(value: str, column: Column) -> str:
    if column.type == PrimitiveType("date"):
        return str(day_text(SqlText.of(value)))
    return f"CAST({value} AS STRING)"


def _distinct(name: str, column: Column) -> str:
    """Spark hashes no map."""
    hashed = not any(isinstance(kind, MapType) for kind in walk_types(column.type))
    return f"approx_count_distinct({name})" if hashed else "CAST(NULL AS BIGINT)"

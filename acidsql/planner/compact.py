"""ALTER TABLE … COMPACT → plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from acidsql.errors import AnalysisError
from acidsql.model.sort_order import SortColumn
from acidsql.model.table import Table, TableKind, pool_of
from acidsql.model.types import ArrayType, MapType, StructType
from acidsql.planner.names import Names, ViewRefusal, find_column, find_target
from acidsql.planner.partition import fixed_values, partition_of
from acidsql.planner.predicates import Arguments
from acidsql.plans.compact import CompactPlan
from acidsql.statements.compact import Compact, SortItem

CODECS = ("none", "zlib", "snappy", "lz4", "zstd")
"""The values of orc.compress, in lower case."""


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """What COMPACT asks for: the plan, and whom.

    ``matching`` has the values of a PARTITION clause that leaves out columns; the plan then names
    no partition. ``pool`` is the pool of workers that the statement names.
    """

    plan: CompactPlan
    matching: tuple[tuple[str, str | None], ...] = ()
    pool: str | None = None


def plan_compact(statement: Compact, names: Names, arguments: Arguments) -> CompactionRequest:
    """The request to compact a table, or one partition of it. The partition may not exist.

    Raises AnalysisError for a plain table, and for an ORDER BY of anything but columns whose values
    have an order.
    """
    table = find_target(statement.target, names, ViewRefusal.COMPACT)
    place: dict[str, Any] = {"line": statement.target.line, "column": statement.target.column}
    if table.kind is TableKind.PLAIN:
        raise AnalysisError(
            f"Compaction is not allowed on non-ACID table {table.name}",
            hint="INSERT OVERWRITE TABLE t SELECT * FROM t writes its rows into fewer files.",
            code=10286,
            **place,
        )
    values = fixed_values(statement.partition, table, arguments)
    is_whole = len(values) == len(table.partition_columns)
    partition = None
    if is_whole:
        partition = partition_of(statement.partition, table, statement.target, arguments)
    plan = CompactPlan(
        table=table.name,
        partition=partition,
        type=cast(Literal["minor", "major", "rebalance"], statement.type),
        buckets=statement.buckets,
        order=tuple(_sort_column(item, table) for item in statement.order),
        properties=statement.properties,
    )
    _require_codec(plan, place)
    pool = None if statement.pool is None else pool_of(statement.pool)
    return CompactionRequest(plan, () if is_whole else values, pool)


def _sort_column(item: SortItem, table: Table) -> SortColumn:
    column = find_column(table, item.column)
    is_key = column in table.partition_columns
    if is_key or isinstance(column.type, ArrayType | MapType | StructType):
        why = (
            "all rows of a partition have the same value" if is_key else "its values have no order"
        )
        raise AnalysisError(
            f'COMPACT … ORDER BY "{column.name}": {why}',
            hint="Sort by columns of numbers, text, dates or times.",
            line=item.column.line,
            column=item.column.column,
        )
    return SortColumn.of(column.name, descending=item.descending, nulls_first=item.nulls_first)


def _require_codec(plan: CompactPlan, place: dict[str, Any]) -> None:
    """AnalysisError for an orc.compress that no file can have."""
    codec = plan.compression
    if codec is not None and codec.lower() not in CODECS:
        raise AnalysisError(
            f'orc.compress: "{codec}" is not a codec', hint=f"Use {', '.join(CODECS)}.", **place
        )

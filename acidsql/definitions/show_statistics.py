"""The rows of DESCRIBE FORMATTED about statistics."""

from __future__ import annotations

from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import partition_directory
from acidsql.execution.statistics import are_true, present_snapshot
from acidsql.model.names import PartitionName
from acidsql.model.statistics import ColumnStatistics, Statistics
from acidsql.model.table import Column, Table, TableKind

Row = tuple[str, str, str]


def statistics_rows(
    table: Table, scope: Scope, partition: PartitionName | None = None
) -> list[Row]:
    """What ANALYZE TABLE found in the table or partition; nothing if it was not analysed."""
    known = scope.store.statistics(table.name, partition)
    if known is None:
        return []
    columns = [("Analyzed Columns:", ", ".join(known.columns), "")] if known.columns else []
    return [
        *_head(),
        ("Rows:", str(known.rows), ""),
        *columns,
        ("Up to Date:", _currency(known, table, scope, partition), ""),
    ]


def column_statistics_rows(
    column: Column, table: Table, scope: Scope, partition: PartitionName | None = None
) -> list[Row]:
    """What ANALYZE TABLE found in a column, under Hive's words; nothing if it was not analysed."""
    known = scope.store.statistics(table.name, partition)
    found = None if known is None else known.columns.get(column.name)
    if known is None or found is None:
        return []
    return [
        *_head(),
        *[(f"{word}:", text, "") for word, text in _values(found) if text is not None],
        ("Up to Date:", _currency(known, table, scope, partition), ""),
    ]


def _head() -> list[Row]:
    return [("", "", ""), ("# Statistics", "", "")]


def _values(found: ColumnStatistics) -> list[tuple[str, str | None]]:
    distinct = None if found.distinct is None else str(found.distinct)
    return [
        ("min", found.low),
        ("max", found.high),
        ("num_nulls", str(found.nulls)),
        ("distinct_count", distinct),
    ]


def _currency(
    known: Statistics, table: Table, scope: Scope, partition: PartitionName | None
) -> str:
    """Whether the statistics are those of the rows that are there now."""
    if table.kind is TableKind.PLAIN:
        return "unknown: the files of a plain table change without notice"
    place = partition_directory(scope.store, table, partition) if partition else None
    context = present_snapshot(table, scope, directories=None if place is None else [place])
    is_true = are_true(known, context.tables[table.name], scope.settings)
    return "yes" if is_true else "no: the table has changed since"

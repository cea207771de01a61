"""ALTER TABLE … COMPACT → plan."""

from __future__ import annotations

from typing import Any, Literal

from acidsql.errors import AnalysisError
from acidsql.model.names import PartitionName
from acidsql.model.table import Table, TableKind
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import Names, find_column, find_target
from acidsql.planner.predicates import Arguments
from acidsql.plans.compact import CompactPlan
from acidsql.statements.compact import Compact


def plan_compact(statement: Compact, names: Names, arguments: Arguments) -> CompactPlan:
    """What to compact: a table, or one partition of it, which need not exist."""
    table = find_target(statement.target, names)
    place: dict[str, Any] = {"line": statement.target.line, "column": statement.target.column}
    if table.kind is TableKind.PLAIN:
        raise AnalysisError(
            f"Compaction is not allowed on non-ACID table {table.name}", code=10286, **place
        )
    partition = _partition(statement, table, arguments)
    if len(partition) != len(table.partition_columns):
        raise AnalysisError(
            f"table {table.name} is partitioned: say which partition to compact",
            hint="ALTER TABLE … PARTITION (…) COMPACT …; SHOW PARTITIONS lists them.",
            code=10283,
            **place,
        )
    kind: Literal["minor", "major"] = "major" if statement.type == "major" else "minor"
    name = PartitionName.of([(c.name, partition[c.name]) for c in table.partition_columns])
    return CompactPlan(table=table.name, partition=name if partition else None, type=kind)


def _partition(statement: Compact, table: Table, arguments: Arguments) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for item in statement.partition:
        column = find_column(table, item.column)
        if column not in table.partition_columns:
            raise AnalysisError(
                f'PARTITION: "{column.name}" is no partition column of "{table.name}"',
                code=10098,
                line=item.column.line,
                column=item.column.column,
            )
        assert item.value is not None
        try:
            values[column.name] = cell_text(item.value, column.type, arguments, column.name)
        except NotLiteral:
            raise AnalysisError(
                f'the value of partition column "{column.name}" must be a literal',
                line=item.value.line,
                column=item.value.column,
            ) from None
    return values

"""PARTITION (…): the values it fixes."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.model.table import Table
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import find_column
from acidsql.planner.predicates import Arguments
from acidsql.statements.insert import PartitionValue


def fixed_values(
    items: Sequence[PartitionValue], table: Table, arguments: Arguments
) -> tuple[tuple[str, str | None], ...]:
    """The partition columns that have a value, with its text, in the table's order."""
    partition_names = [c.name for c in table.partition_columns]
    found: dict[str, str | None] = {}
    named: list[str] = []
    for item in items:
        column = find_column(table, item.column)
        if column.name not in partition_names or column.name in named:
            raise AnalysisError(
                f'PARTITION: "{column.name}" is no partition column of "{table.name}", or twice',
                code=10098,
                line=item.column.line,
                column=item.column.column,
            )
        named.append(column.name)
        if item.value is None:
            continue
        try:
            found[column.name] = cell_text(item.value, column.type, arguments, column.name)
        except NotLiteral:
            raise UnsupportedStatementError(
                f'the value of partition column "{column.name}" must be a literal of its type',
                hint="Leave the value out to make the partition dynamic.",
                line=item.value.line,
                column=item.value.column,
            ) from None
    return tuple((name, found[name]) for name in partition_names if name in found)

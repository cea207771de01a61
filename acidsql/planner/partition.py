"""PARTITION (…): the values it fixes."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.model.names import PartitionName
from acidsql.model.table import Table
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import find_column
from acidsql.planner.predicates import Arguments
from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


def fixed_values(
    items: Sequence[PartitionValue], table: Table, arguments: Arguments
) -> tuple[tuple[str, str | None], ...]:
    """The partition columns that have a value, with its text, in the table's order.

    AnalysisError for a column that is no partition column or named twice,
    UnsupportedStatementError for a value that is no literal.
    """
    partition_names = [c.name for c in table.partition_columns]
    found: dict[str, str | None] = {}
    named: list[str] = []
    for item in items:
        column = find_column(table, item.column)
        if column.name not in partition_names or column.name in named:
            what = (
                "is named twice"
                if column.name in named
                else f'is no partition column of "{table.name}"'
            )
            raise AnalysisError(
                f'PARTITION: "{column.name}" {what}',
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


def partition_of(
    items: Sequence[PartitionValue], table: Table, target: TableRef, arguments: Arguments
) -> PartitionName | None:
    """The partition that is named, which need not exist; None where none is.

    Raises what `fixed_values` does, and AnalysisError if some but not all partition columns are
    named.
    """
    if not items:
        return None
    values = dict(fixed_values(items, table, arguments))
    missing = [c.name for c in table.partition_columns if c.name not in values]
    if missing:
        raise AnalysisError(
            f'PARTITION leaves out "{missing[0]}" of {table.name}',
            hint="Name every partition column; SHOW PARTITIONS lists the partitions.",
            code=10283,
            line=target.line,
            column=target.column,
        )
    return PartitionName.of([(c.name, values[c.name]) for c in table.partition_columns])

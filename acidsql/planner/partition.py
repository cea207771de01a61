"""PARTITION (…) with a value for every partition column → the partition's name."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import AnalysisError
from acidsql.model.names import PartitionName
from acidsql.model.table import Table
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.names import find_column
from acidsql.planner.predicates import Arguments
from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue


def partition_of(
    items: Sequence[PartitionValue], table: Table, target: TableRef, arguments: Arguments
) -> PartitionName | None:
    """The partition that is named, which need not exist; None where none is.

    AnalysisError for a column that is no partition column, a value that is no literal, and if some
    but not all partition columns are named.
    """
    if not items:
        return None
    values = dict(_value(item, table, arguments) for item in items)
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


def _value(item: PartitionValue, table: Table, arguments: Arguments) -> tuple[str, str | None]:
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
        return column.name, cell_text(item.value, column.type, arguments, column.name)
    except NotLiteral:
        raise AnalysisError(
            f'the value of partition column "{column.name}" must be a literal',
            line=item.value.line,
            column=item.value.column,
        ) from None

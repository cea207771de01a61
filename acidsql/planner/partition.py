"""PARTITION (…): values for partition columns, and conditions on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from acidsql.errors import AnalysisError
from acidsql.model.names import DEFAULT_PARTITION_VALUE, PartitionName
from acidsql.model.table import Column, Table
from acidsql.model.types import INTEGER_BITS, ColumnType, DecimalType, PrimitiveType
from acidsql.planner.literals import NotLiteral, canonical_text, cell_text
from acidsql.planner.names import find_column
from acidsql.planner.predicates import Arguments
from acidsql.statements.fragment import Fragment, Identifier, TableRef
from acidsql.statements.insert import PartitionValue
from acidsql.statements.partition import PartitionCondition

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def partition_column(table: Table, identifier: Identifier) -> Column:
    """The partition column that an identifier names. AnalysisError 10098 for another column."""
    column = find_column(table, identifier)
    if column not in table.partition_columns:
        raise AnalysisError(
            f'PARTITION: "{column.name}" is not a partition column of "{table.name}"',
            code=10098,
            line=identifier.line,
            column=identifier.column,
        )
    return column


def fixed_values(
    items: Sequence[PartitionValue], table: Table, arguments: Arguments
) -> tuple[tuple[str, str | None], ...]:
    """The partition columns that have a value, with the text of the value, in the table's order.

    AnalysisError for a column that is not a partition column, and for a value that is not a literal
    of the column's type.
    """
    found: dict[str, str | None] = {}
    for item in items:
        column = partition_column(table, item.column)
        if item.value is not None:
            found[column.name] = _text(item.value, column, arguments)
    return tuple((c.name, found[c.name]) for c in table.partition_columns if c.name in found)


def refuse_left_out(
    items: Sequence[PartitionValue],
    table: Table,
    target: TableRef,
    code: int,
    hint: str | None = None,
) -> None:
    """AnalysisError if PARTITION names some of the partition columns, and not all."""
    named = {item.column.name.lower() for item in items}
    missing = [c.name for c in table.partition_columns if c.name not in named]
    if named and missing:
        raise AnalysisError(
            f'PARTITION leaves out the partition columns {", ".join(missing)} of "{table.name}"',
            hint=hint,
            code=code,
            line=target.line,
            column=target.column,
        )


def partition_of(
    items: Sequence[PartitionValue], table: Table, target: TableRef, arguments: Arguments
) -> PartitionName | None:
    """The partition that a PARTITION clause names; None without a clause. It may not exist.

    Raises the errors of `fixed_values`, and AnalysisError if a partition column has no value.
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


def whole_partition(
    items: Sequence[PartitionValue], table: Table, target: TableRef, arguments: Arguments
) -> PartitionName:
    """The one partition that a PARTITION clause names. It may not exist.

    Raises the errors of `partition_of` and `require_partitioned`.
    """
    require_partitioned(table, target)
    name = partition_of(items, table, target, arguments)
    assert name is not None
    return name


def require_partitioned(table: Table, target: TableRef) -> None:
    """AnalysisError 10241 for a table without partition columns."""
    if not table.partition_columns:
        raise AnalysisError(
            f"table {table.name} is not a partitioned table",
            code=10241,
            line=target.line,
            column=target.column,
        )


def partition_from_directory(name: PartitionName, table: Table) -> PartitionName:
    """The partition that a path of directories stands for, with values in canonical text.

    ValueError, with the reason, for a path that does not fit the partition columns.
    """
    if [key for key, _ in name.items] != [c.name for c in table.partition_columns]:
        raise ValueError(f"the partition columns are {_list(table.partition_columns)}")
    items = []
    for (key, value), column in zip(name.items, table.partition_columns, strict=True):
        text = None if value is None else canonical_text(value, column.type)
        items.append((key, text))
    return PartitionName.of(items)


def matching_partitions(
    partitions: Iterable[PartitionName],
    conditions: Sequence[PartitionCondition],
    table: Table,
    arguments: Arguments,
) -> list[PartitionName]:
    """The partitions that meet all conditions.

    A partition whose value is NULL meets only ``= NULL`` on that column.
    """
    tests = [_test(condition, table, arguments) for condition in conditions]
    return [name for name in partitions if all(test(dict(name.items)) for test in tests)]


def _test(
    condition: PartitionCondition, table: Table, arguments: Arguments
) -> Callable[[Mapping[str, str | None]], bool]:
    column = partition_column(table, condition.column)
    wanted = _text(condition.value, column, arguments)
    if wanted is None:
        if condition.operator != "=":
            raise AnalysisError(
                f"PARTITION cannot compare with NULL by {condition.operator}",
                hint="Write = NULL for the partition of NULL.",
                line=condition.column.line,
                column=condition.column.column,
            )
        return lambda values: values[column.name] is None
    right, compare = _comparable(wanted, column.type), _COMPARE[condition.operator]

    def test(values: Mapping[str, str | None]) -> bool:
        value = values[column.name]
        return value is not None and compare(_comparable(value, column.type), right)

    return test


def _comparable(text: str, kind: ColumnType) -> Decimal | str:
    """A value to compare by. The canonical texts of dates and booleans order like the values."""
    numeric = isinstance(kind, PrimitiveType) and kind.name in INTEGER_BITS
    return Decimal(text) if numeric or isinstance(kind, DecimalType) else text


def _text(value: Fragment, column: Column, arguments: Arguments) -> str | None:
    tree = value.tree.unnest()
    if isinstance(tree, exp.Literal) and tree.is_string and tree.name == DEFAULT_PARTITION_VALUE:
        return None
    try:
        return cell_text(value, column.type, arguments, column.name)
    except NotLiteral:
        raise AnalysisError(
            f'the value of partition column "{column.name}" must be a literal of its type',
            hint=f"Its type is {column.type}. Write NULL for the partition of NULL.",
            line=value.line,
            column=value.column,
        ) from None


def _list(columns: Sequence[Column]) -> str:
    return ", ".join(c.name for c in columns)

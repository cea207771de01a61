"""Partition pruning: which directories can hold rows that satisfy the predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from acidsql.model.names import PartitionName
from acidsql.model.predicate import Predicate
from acidsql.model.table import Table
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, DecimalType, PrimitiveType


class Named(Protocol):
    """A partition; without a name, the directory of the table itself."""

    @property
    def name(self) -> PartitionName | None: ...


_Place = TypeVar("_Place", bound=Named)


def prune_partitions(
    table: Table, partitions: Iterable[_Place], predicates: Sequence[Predicate]
) -> list[_Place]:
    """The directories that may hold such rows. One whose value cannot be compared is kept."""
    may_hold = partition_test(table, predicates)
    return [p for p in partitions if may_hold(p.name)]


def partition_test(
    table: Table, predicates: Sequence[Predicate]
) -> Callable[[PartitionName | None], bool]:
    """Whether a partition can hold rows that satisfy all of the predicates."""
    tests = []
    for index, column in enumerate(table.partition_columns):
        parse = _parser(column.type)
        if parse is not None:
            found = (_test(p, parse) for p in predicates if p.column == column.name)
            tests += [(index, parse, test) for test in found]
    return lambda name: all(_may_hold(name, *test) for test in tests)


def _may_hold(
    name: PartitionName | None,
    index: int,
    parse: Callable[[str], Any],
    test: Callable[[Any], bool],
) -> bool:
    if name is None:
        return True
    text = name.values[index]
    if text is None:
        return False  # no predicate is true of a null
    try:
        return test(parse(text))
    except (ValueError, ArithmeticError):
        return True


def _test(predicate: Predicate, parse: Callable[[str], Any]) -> Callable[[Any], bool]:
    """Whether a predicate is true of a value."""
    try:
        wanted = [parse(value) for value in predicate.values]
    except (ValueError, ArithmeticError):
        return lambda _: True
    first = wanted[0]
    match predicate.operator:
        case "=" | "in":
            return frozenset(wanted).__contains__
        case "<":
            return lambda value: bool(value < first)
        case "<=":
            return lambda value: bool(value <= first)
        case ">":
            return lambda value: bool(value > first)
        case ">=":
            return lambda value: bool(value >= first)


def _parser(kind: ColumnType) -> Callable[[str], Any] | None:
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return int
        case DecimalType():
            return Decimal
        case PrimitiveType("string" | "date") | CharType():
            return str
    return None

"""Partition pruning: which directories can hold rows that satisfy the predicates."""

from __future__ import annotations

import datetime
import re
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


_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Place = TypeVar("_Place", bound=Named)


def prune_partitions(
    table: Table, partitions: Iterable[_Place], predicates: Sequence[Predicate]
) -> list[_Place]:
    """The directories that may hold such rows. One whose value cannot be compared is kept."""
    may_hold = partition_test(table, predicates)
    return [p for p in partitions if may_hold(p.name)]


def whole_partitions(
    table: Table, partitions: Iterable[_Place], predicates: Sequence[Predicate]
) -> list[_Place] | None:
    """The directories in which the predicates are true of all rows; in the others, of none.

    All predicates are about partition columns. None if that is uncertain for a value whose text is
    not the one and only way to write it.
    """
    kept = prune_partitions(table, partitions, predicates)
    compared = {p.column for p in predicates}
    for index, column in enumerate(table.partition_columns):
        if column.name in compared:
            texts = (place.name.values[index] for place in kept if place.name is not None)
            if not all(text is not None and _is_canonical(text, column.type) for text in texts):
                return None
    return kept


def _is_canonical(text: str, kind: ColumnType) -> bool:
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            limit = 1 << (INTEGER_BITS[name] - 1)
            return _INTEGER.fullmatch(text) is not None and -limit <= int(text) < limit
        case PrimitiveType("date"):
            return _is_date(text)
    return kind == PrimitiveType("string")


def _is_date(text: str) -> bool:
    try:
        _date(text)
    except ValueError:
        return False
    return True


def _date(text: str) -> datetime.date:
    """A date, which ISO writes in one way. ValueError for other ways, as in 2020-1-1."""
    if _DATE.fullmatch(text) is None:
        raise ValueError(text)
    return datetime.date.fromisoformat(text)


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
        case PrimitiveType("date"):
            return _date
        case PrimitiveType("string") | CharType():
            return str
    return None

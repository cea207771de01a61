"""Partition pruning: which directories can hold rows that satisfy the predicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from acidsql.model.table import Table
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, DecimalType, PrimitiveType
from acidsql.plans.engine import PartitionLocation
from acidsql.plans.predicate import Predicate


def prune_partitions(
    table: Table, partitions: Sequence[PartitionLocation], predicates: Sequence[Predicate]
) -> list[PartitionLocation]:
    """The directories that are left; what cannot be compared for certain stays."""
    tests = []
    for index, column in enumerate(table.partition_columns):
        parse = _parser(column.type)
        tests += [(index, parse, p) for p in predicates if p.column == column.name and parse]
    return [p for p in partitions if all(_may_hold(p, *test) for test in tests)]


def _may_hold(
    partition: PartitionLocation, index: int, parse: Callable[[str], Any], predicate: Predicate
) -> bool:
    if partition.name is None:
        return True
    text = partition.name.values[index]
    if text is None:
        return False  # a predicate is true of no null
    try:
        value = parse(text)
        wanted = [parse(v) for v in predicate.values]
    except (ValueError, ArithmeticError):
        return True
    match predicate.operator:
        case "=" | "in":
            return value in wanted
        case "<":
            return bool(value < wanted[0])
        case "<=":
            return bool(value <= wanted[0])
        case ">":
            return bool(value > wanted[0])
        case ">=":
            return bool(value >= wanted[0])


def _parser(kind: ColumnType) -> Callable[[str], Any] | None:
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return int
        case DecimalType():
            return Decimal
        case PrimitiveType("string" | "date") | CharType():
            return str
    return None

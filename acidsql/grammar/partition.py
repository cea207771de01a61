"""ALTER TABLE … ADD, DROP and RENAME PARTITION, and MSCK [REPAIR] TABLE."""

from __future__ import annotations

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.insert import constant, parse_fixed_partition
from acidsql.statements.fragment import TableRef
from acidsql.statements.insert import PartitionValue
from acidsql.statements.partition import (
    AddPartitions,
    DropPartitions,
    NewPartition,
    PartitionCondition,
    RenamePartition,
    RepairTable,
)

_OPERATORS = {
    ("=", "="): "=",
    ("!", "="): "!=",
    ("<", ">"): "!=",
    ("<", "="): "<=",
    (">", "="): ">=",
    ("=",): "=",
    ("<",): "<",
    (">",): ">",
}
"""Symbols → operator. Longer operators come first: the lexer gives one symbol at a time."""


def parse_add_partitions(cursor: Cursor, target: TableRef) -> AddPartitions:
    """Parse the rest of ALTER TABLE t: ``ADD [IF NOT EXISTS] PARTITION …``."""
    cursor.expect("ADD")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    partitions: list[NewPartition] = []
    while not partitions or cursor.sees("PARTITION") or cursor.accept(","):
        values = fixed_partition(cursor, "ADD PARTITION")
        location = cursor.string("a location in quotes") if cursor.accept("LOCATION") else None
        partitions.append(NewPartition(values, location))
    return AddPartitions(target, if_not_exists, tuple(partitions))


def parse_drop_partitions(cursor: Cursor, target: TableRef) -> DropPartitions:
    """Parse the rest of ALTER TABLE t: ``DROP [IF EXISTS] PARTITION (…), … [PURGE]``."""
    cursor.expect("DROP")
    if_exists = cursor.accept("IF", "EXISTS")
    partitions = [parse_conditions(cursor)]
    while cursor.accept(","):
        partitions.append(parse_conditions(cursor))
    cursor.accept("PURGE")
    return DropPartitions(target, if_exists, tuple(partitions))


def parse_rename_partition(
    cursor: Cursor, target: TableRef, partition: tuple[PartitionValue, ...]
) -> RenamePartition:
    """Parse the rest of ALTER TABLE t PARTITION (…): ``RENAME TO PARTITION (…)``."""
    cursor.expect("RENAME", "TO")
    return RenamePartition(target, partition, fixed_partition(cursor, "RENAME TO PARTITION"))


def parse_repair(cursor: Cursor) -> RepairTable:
    """Parse MSCK [REPAIR] TABLE, or Spark's REPAIR TABLE, from the cursor."""
    cursor.accept("MSCK")
    repair = cursor.accept("REPAIR")
    cursor.expect("TABLE")
    target = cursor.table()
    if cursor.done:
        return RepairTable(target, add=True, drop=False, repair=repair)
    word = cursor.peek().word
    if word not in ("ADD", "DROP", "SYNC"):
        cursor.unexpected("expected ADD, DROP or SYNC PARTITIONS")
    cursor.step()
    cursor.expect("PARTITIONS")
    if cursor.sees("("):
        cursor.source.refuse(
            "MSCK REPAIR TABLE with a filter is not supported",
            cursor.offset,
            hint="Without the parentheses, it looks at all partitions.",
        )
    add, drop = word in ("ADD", "SYNC"), word in ("DROP", "SYNC")
    return RepairTable(target, add=add, drop=drop, repair=repair)


def parse_recover_partitions(cursor: Cursor, target: TableRef) -> RepairTable:
    """Parse ``RECOVER PARTITIONS`` of Spark's ALTER TABLE: MSCK REPAIR TABLE in other words."""
    cursor.expect("RECOVER", "PARTITIONS")
    return RepairTable(target, add=True, drop=False, repair=True)


def fixed_partition(cursor: Cursor, where: str) -> tuple[PartitionValue, ...]:
    """Parse ``PARTITION (a = 1, …)``, in which every item needs a value."""
    if not cursor.sees("PARTITION"):
        cursor.unexpected("expected PARTITION")
    return parse_fixed_partition(cursor, where)


def parse_conditions(cursor: Cursor) -> tuple[PartitionCondition, ...]:
    """Parse ``PARTITION (a = 1, b > 2, …)`` from the cursor."""
    cursor.expect("PARTITION")
    return tuple(cursor.parenthesised().listed(_condition))


def _condition(inside: Cursor) -> PartitionCondition:
    column = inside.name("a partition column")
    operator = next((o for s, o in _OPERATORS.items() if inside.accept(*s)), None)
    if operator is None:
        inside.unexpected("expected =, !=, <, <=, > or >=")
    return PartitionCondition(column, operator, constant(inside.until(",")))

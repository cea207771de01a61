"""The bucket of a row as an expression of Spark, for keys that Spark can hash as Hive does.

Both compute murmur3 over whole words of four bytes. But Hive hashes the bytes of a number from the
highest to the lowest, and Spark from the lowest to the highest. So the key's bytes are reversed.

The bytes of a text need not be whole words, and Spark hashes the rest in a way of its own. The hash
of other types has no part that Spark computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import by_gateway
from acidsql.engines.spark.java_calls import JavaCalls
from acidsql.engines.spark.parsed import part_name
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Bucketing, Table
from acidsql.model.types import ColumnType, PrimitiveType

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_SEED = 104729
"""What Hive begins a hash with (Murmur3.DEFAULT_SEED)."""

_HASHED = frozenset({"boolean", "tinyint", "int", "date", "bigint"})


def knows_buckets(table: Table) -> bool:
    """Whether Spark can compute the buckets of the table, if its classes can be reached."""
    bucketing = table.bucketing
    if bucketing is None or bucketing.version != 2:
        return False
    types = {column.name: column.type for column in table.columns}
    return all(_is_hashed(types[key]) for key in bucketing.columns)


def _is_hashed(kind: ColumnType) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name in _HASHED


def bucket_number(spark: SparkSession, table: Table, names: Sequence[str]) -> Column | None:
    """The bucket of a row as an int (`layout.bucketing.bucket_numbers`).

    ``names`` are what the table's columns are called. None if only Python can compute it.
    """
    bucketing = table.bucketing
    if bucketing is None or not knows_buckets(table):
        return None
    columns = {
        column.name: (quote(name), column.type)
        for name, column in zip(names, table.columns, strict=True)
    }
    keys = [columns[key] for key in bucketing.columns]
    return by_gateway(
        spark,
        lambda java: _bucket_number(JavaCalls(java, spark), bucketing, keys),
        "rows are brought to their buckets in Python",
    )


def _bucket_number(
    calls: JavaCalls, bucketing: Bucketing, keys: Sequence[tuple[str, ColumnType]]
) -> Column:
    total, hashes = "cast(0 as bigint)", {}
    for index, (name, kind) in enumerate(keys):
        hash_ = part_name(f"hash{index}")
        hashes[hash_] = _hash(calls, name, kind)
        # A bigint, because an int that overflows is an error in ANSI mode.
        hashed = f"case when {name} is null then 0 else {hash_} end"
        total = f"(({total} * 31 + {hashed}) & {0xFFFFFFFF})"
    number = f"cast(({total} & {0x7FFFFFFF}) % {bucketing.count} as int)"
    return calls.column(calls.expression(number, hashes))


def _hash(calls: JavaCalls, name: str, kind: ColumnType) -> Any:
    """Hive's hash of a value that is not NULL, as an int: an expression of Spark."""
    match str(kind):
        case "boolean" | "tinyint":
            return calls.expression(f"cast({name} as int)")
        case "bigint":
            return calls.murmur3(calls.expression(_reversed_long(name)), _SEED)
        case "date":
            return calls.murmur3(calls.expression(_reversed_int(f"unix_date({name})")), _SEED)
        case _:
            return calls.murmur3(calls.expression(_reversed_int(name)), _SEED)


def _reversed_int(value: str) -> str:
    """An int with its bytes in the other order."""
    outer = f"shiftleft({value}, 24) | shiftrightunsigned({value}, 24)"
    inner = f"shiftleft({value} & 65280, 8) | (shiftrightunsigned({value}, 8) & 65280)"
    return f"({outer} | {inner})"


def _reversed_long(value: str) -> str:
    """A bigint with its bytes in the other order: neighbours change places, then pairs, then
    halves.
    """
    for bits, mask in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF)):
        low = f"shiftleft({value} & {mask}, {bits})"
        value = f"({low} | (shiftrightunsigned({value}, {bits}) & {mask}))"
    return f"(shiftleft({value}, 32) | shiftrightunsigned({value}, 32))"

"""The bucket of a row in Spark SQL, for keys that Spark's own hash can hash as Hive does.

Both compute murmur3 over whole words of four bytes. There are two differences:

- Hive begins with 104729 (Murmur3.DEFAULT_SEED), Spark with 42. Spark's ``hash(a, b)`` hashes b
  with the hash of a to begin with. So `_BEGIN`, whose hash is 104729, stands before the key.
- Hive hashes the bytes of a number from the highest to the lowest, Spark from the lowest to the
  highest. So the key's bytes are reversed.

The bytes of a text need not be whole words, and Spark hashes the rest in a way of its own. The hash
of other types than these has no part that Spark computes.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Table
from acidsql.model.types import ColumnType, PrimitiveType

_BEGIN = 1867871456
_MASK = 0xFFFFFFFF
_HASHED_AS = {
    "boolean": "int({0})",
    "tinyint": "int({0})",
    "int": "hash({begin}, {reversed_int})",
    "date": "hash({begin}, {reversed_int})",
    "bigint": "hash({begin}, {reversed_long})",
}


def bucket_number(table: Table, names: Sequence[str]) -> str | None:
    """The bucket of a row as an int (`layout.bucketing.bucket_numbers`).

    ``names`` are what the table's columns are called. None if only Python can compute it.
    """
    bucketing = table.bucketing
    if bucketing is None or bucketing.version != 2:
        return None
    columns = {c.name: (name, c.type) for name, c in zip(names, table.columns, strict=True)}
    total = ""
    for key in bucketing.columns:
        name, kind = columns[key]
        hashed = _hashed(quote(name), kind)
        if hashed is None:
            return None
        # A bigint, because an int that overflows is an error in ANSI mode.
        total = f"((31 * {total} + {hashed}) & {_MASK})" if total else f"bigint({hashed})"
    return f"int(({total} & {0x7FFFFFFF}) % {bucketing.count})"


def _hashed(column: str, kind: ColumnType) -> str | None:
    """Hive's hash of a value as an int, which is 0 for NULL. None for other types."""
    form = _HASHED_AS.get(kind.name) if isinstance(kind, PrimitiveType) else None
    if form is None:
        return None
    whole = f"unix_date({column})" if kind == PrimitiveType("date") else column
    value = form.format(
        column,
        begin=_BEGIN,
        reversed_int=_reversed_int(whole),
        reversed_long=_reversed_long(column),
    )
    return f"if({column} IS NULL, 0, {value})"


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

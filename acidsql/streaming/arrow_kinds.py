"""The kinds of values that Arrow types and column types have: a stream makes none of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from acidsql.layout.arrow import DataType
from acidsql.model.types import (
    INTEGER_BITS,
    VOID,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)

_NUMBER, _TEXT, _BYTES, _DATE = "a number", "a text", "bytes", "a date"
_TRUTH, _WALL_CLOCK, _INSTANT = "true or false", "a time without a zone", "a time with a zone"

_ARROW: Sequence[tuple[str, Callable[[DataType], bool]]] = (
    (_NUMBER, pa.types.is_integer),
    (_NUMBER, pa.types.is_floating),
    (_NUMBER, pa.types.is_decimal),
    (_TRUTH, pa.types.is_boolean),
    (_TEXT, pa.types.is_string),
    (_TEXT, pa.types.is_large_string),
    (_TEXT, pa.types.is_string_view),
    (_BYTES, pa.types.is_binary),
    (_BYTES, pa.types.is_large_binary),
    (_BYTES, pa.types.is_fixed_size_binary),
    (_BYTES, pa.types.is_binary_view),
    (_DATE, pa.types.is_date),
    (_WALL_CLOCK, lambda kind: pa.types.is_timestamp(kind) and kind.tz is None),
    (_INSTANT, lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None),
)
_COLUMN = {
    **dict.fromkeys([*INTEGER_BITS, "float", "double"], _NUMBER),
    "boolean": _TRUTH,
    "string": _TEXT,
    "binary": _BYTES,
    "date": _DATE,
    "timestamp": _WALL_CLOCK,
    "timestamp with local time zone": _INSTANT,
}


def other_kind(given: DataType, kind: ColumnType) -> str | None:
    """Why values of an Arrow type are of another kind than the column's, at any depth, or None.

    None also where the shapes differ, such as a list for a struct.

    >>> other_kind(pa.list_(pa.string()), ArrayType(PrimitiveType("int")))
    'it is a text, not a number'
    """
    if pa.types.is_dictionary(given) or pa.types.is_run_end_encoded(given):
        return other_kind(given.value_type, kind)
    match kind:
        case ArrayType() | MapType() | StructType():
            pairs = _inner_pairs(given, kind)
            return next((why for pair in pairs if (why := other_kind(*pair)) is not None), None)
        case PrimitiveType() if kind == VOID:
            return None
        case _:
            return _other_single_kind(given, kind)


def _other_single_kind(given: DataType, kind: PrimitiveType | CharType | DecimalType) -> str | None:
    found = next((name for name, test in _ARROW if test(given)), None)
    match kind:
        case PrimitiveType(name):
            wanted = _COLUMN[name]
        case CharType():
            wanted = _TEXT
        case DecimalType():
            wanted = _NUMBER
    return None if found in (None, wanted) else f"it is {found}, not {wanted}"


def _inner_pairs(
    given: DataType, kind: ArrayType | MapType | StructType
) -> Sequence[tuple[DataType, ColumnType]]:
    """The types one level inside, each with that of the column it goes to."""
    inside = [given.field(at) for at in range(given.num_fields)]
    match kind:
        case StructType(fields):
            kinds = dict(fields)
            return [(f.type, kinds[f.name.lower()]) for f in inside if f.name.lower() in kinds]
        case ArrayType(element):
            return [(inside[0].type, element)] if len(inside) == 1 else []
        case MapType(key, value) if len(inside) == 1 and inside[0].type.num_fields == 2:
            entries = inside[0].type
            return [(entries.field(0).type, key), (entries.field(1).type, value)]
        case _:
            return []

"""Values to be written into a file: they are cast to the column's type, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import InvalidValueError
from acidsql.layout.arrow import Array, DataType
from acidsql.model.table import Column
from acidsql.model.types import (
    VOID,
    ArrayType,
    CharType,
    ColumnType,
    MapType,
    StructType,
    walk_types,
)
from acidsql.orc.exact import is_exact, is_timestamp, parts_of
from acidsql.orc.nested import children_of, has_leaf, renamed, with_children
from acidsql.orc.nulls import settled
from acidsql.orc.schema import arrow_type


def storable_rows(rows: pa.RecordBatch, columns: Sequence[Column]) -> Array:
    """The rows as the struct a file stores, columns found by name.

    Raises InvalidValueError, naming the column, for a value the column's type or ORC cannot hold.
    """
    stored = [storable(rows.column(c.name), c) for c in columns]
    fields = [pa.field(c.name, s.type) for c, s in zip(columns, stored, strict=True)]
    if not fields:
        raise ValueError("a table without columns cannot be stored")
    return pa.StructArray.from_arrays(stored, fields=fields)


def storable(array: Array, column: Column) -> Array:
    """One column's values as an ORC file can hold them; timestamps in microseconds or EXACT."""
    result = fitting(array, column)
    if any(_is_in_last_second(leaf) for leaf in _leaves(result) if is_timestamp(leaf.type)):
        raise InvalidValueError(
            f'column "{column.name}" cannot hold a fraction of the last second before 1970',
            detail="ORC takes the last second before 1970 for the first one after.",
            hint="Truncate it to seconds, for example with date_trunc('second', …).",
        )
    return result


def fitting(array: Array, column: Column) -> Array:
    """One column's values in the type that files hold. InvalidValueError if one does not fit."""
    if column.type == VOID and array.null_count < len(array):
        raise InvalidValueError(f'column "{column.name}" of type void holds nothing but NULL')
    wanted = arrow_type(column.type, "exact" if has_leaf(array.type, is_exact) else "us")
    try:
        result = array if array.type.equals(wanted) else _cast(array, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidValueError(
            f'a value does not fit column "{column.name}" of type {column.type}',
            detail=f"{str(error).splitlines()[0]}.",
        ) from error
    _refuse_wide_decimals(array, result, column)
    return _bounded(settled(result), column.type, column)


def _is_in_last_second(leaf: Array) -> bool:
    """Whether a timestamp is a millisecond or more after 1969-12-31 23:59:59, but before 1970."""
    if is_exact(leaf.type):
        seconds, nanos = parts_of(leaf)
        return bool(((seconds == -1) & (nanos >= 10**6)).any())
    ticks = np.asarray(leaf.cast(pa.int64()).fill_null(0), np.int64)
    return ticks.min(initial=0) < 0 and bool(((ticks < 0) & (ticks >= -999_000)).any())


def _cast(array: Array, wanted: DataType) -> Array:
    if pa.types.is_decimal(wanted) and pa.types.is_integer(array.type):
        # First cast to a decimal that holds every integer: so the values decide, not their type.
        array = pc.cast(array, pa.decimal256(76, wanted.scale), safe=True)
    return pc.cast(renamed(array, wanted), wanted, safe=True)


def _bounded(array: Array, kind: ColumnType, column: Column) -> Array:
    """The values with every char(n) and varchar(n) in the form in which files store it."""
    if not any(isinstance(inner, CharType) for inner in walk_types(kind)):
        return array
    inside: Sequence[ColumnType] = ()
    match kind:
        case CharType():
            return _text(array, kind, column)
        case ArrayType(element):
            inside = [element]
        case MapType(key, value):
            inside = [key, value]
        case StructType(fields):
            inside = [inner for _, inner in fields]
    pairs = zip(children_of(array), inside, strict=True)
    return with_children(array, [_bounded(child, inner, column) for child, inner in pairs])


def _text(array: Array, kind: CharType, column: Column) -> Array:
    """Texts cut to the length of the type, and those of a char(n) padded with spaces.

    Only trailing spaces may be cut off: InvalidValueError for other texts that are too long. Hive
    stores the padding too, and compares padded values with the statistics of a file.
    """
    trimmed = array
    if _longest(array) > kind.length:
        trimmed = pc.utf8_rtrim(array, " ")
        if _longest(trimmed) > kind.length:
            raise InvalidValueError(
                f'a value does not fit column "{column.name}" of type {column.type}',
                detail=f"It has more than {kind.length} characters.",
            )
        trimmed = pc.utf8_slice_codeunits(array, 0, kind.length)
    return pc.utf8_rpad(trimmed, kind.length, " ") if kind.name == "char" else trimmed


def has_stored_lengths(array: Array, kind: ColumnType) -> bool:
    """Whether files store each of these texts so. Types other than char and varchar take any text.

    >>> has_stored_lengths(pa.array(["ab ", None]), CharType("char", 3))
    True
    >>> has_stored_lengths(pa.array(["abcd", None]), CharType("varchar", 3))
    False
    """
    if not isinstance(kind, CharType):
        return True
    lengths: Array = pc.utf8_length(array)
    ends: Any = pc.min_max(lengths).as_py()
    if ends["max"] is None:
        return True
    return ends["max"] <= kind.length and (kind.name != "char" or ends["min"] == kind.length)


def _longest(array: Array) -> int:
    """The most characters of any value; 0 if there is none."""
    lengths: Array = pc.utf8_length(array)
    return pc.max(lengths).as_py() or 0


def _refuse_wide_decimals(before: Array, after: Array, column: Column) -> None:
    # A cast between equal types checks nothing, so digits beyond the precision would slip through.
    if not before.type.equals(after.type):
        return
    for leaf in _leaves(after):
        if pa.types.is_decimal(leaf.type) and len(leaf):
            limit = 10**leaf.type.precision - 1
            found: Any = pc.min_max(_unscaled(leaf))
            low, high = found["min"].as_py(), found["max"].as_py()
            if low is not None and not -limit <= low <= high <= limit:
                raise InvalidValueError(
                    f'a value does not fit column "{column.name}" of type {column.type}',
                    detail=f"It has more than {leaf.type.precision} digits.",
                )


def _unscaled(array: Array) -> Array:
    # The same bytes taken for a decimal without a fraction.
    kind, at = pa.decimal128(38, 0), array.offset
    return pa.Array.from_buffers(kind, len(array), array.buffers(), offset=at)


def _leaves(array: Array) -> Iterator[Array]:
    """The primitive and EXACT arrays inside an array, without the values beneath a null list."""
    if isinstance(array, pa.MapArray):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        yield from _leaves(array.keys.slice(first, last - first))
        yield from _leaves(array.items.slice(first, last - first))
    elif isinstance(array, pa.ListArray):
        yield from _leaves(array.flatten())
    elif isinstance(array, pa.StructArray) and not is_exact(array.type):
        for child in array.flatten():
            yield from _leaves(child)
    else:
        yield array

"""Values on their way into a file: cast to the column's type, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import InvalidValueError
from acidsql.layout.arrow import Array, DataType
from acidsql.model.table import Column
from acidsql.model.types import CharType, PrimitiveType, walk_types
from acidsql.orc.nulls import settled
from acidsql.orc.schema import TimestampUnit, arrow_type

_PER_SECOND = {"us": 10**6, "ns": 10**9}


def storable_rows(
    rows: pa.RecordBatch, columns: Sequence[Column], timestamp_unit: TimestampUnit = "us"
) -> Array:
    """The rows as the struct a file stores, columns found by name.

    Raises InvalidValueError, naming the column, for a value the column's type cannot hold and for
    a timestamp that cannot be written readably.
    """
    arrays = [storable(rows.column(c.name), c, timestamp_unit) for c in columns]
    fields = [pa.field(c.name, a.type) for c, a in zip(columns, arrays, strict=True)]
    if not fields:
        raise ValueError("a table without columns cannot be stored")
    return pa.StructArray.from_arrays(arrays, fields=fields)


def storable(array: Array, column: Column, timestamp_unit: TimestampUnit = "us") -> Array:
    """One column's values in the type its files hold."""
    wanted = arrow_type(column.type, timestamp_unit)
    try:
        result = array if array.type.equals(wanted) else _cast(array, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidValueError(
            f'a value does not fit column "{column.name}" of type {column.type}',
            detail=f"{str(error).splitlines()[0]}.",
        ) from error
    if any(kind == PrimitiveType("timestamp") for kind in walk_types(column.type)):
        _refuse_fractions_before_epoch(result, column)
    _refuse_wide_decimals(array, result, column)
    return settled(_bounded(result, column))


def _cast(array: Array, wanted: DataType) -> Array:
    if pa.types.is_decimal(wanted) and pa.types.is_integer(array.type):
        # By way of a decimal that holds every integer, so that the values decide, not their type.
        array = pc.cast(array, pa.decimal256(76, wanted.scale), safe=True)
    return pc.cast(array, wanted, safe=True)


def _bounded(array: Array, column: Column) -> Array:
    """A varchar's values; what is too long may only be so by trailing spaces."""
    if not isinstance(column.type, CharType):
        return array
    length = column.type.length
    if _longest(array) <= length:
        return array
    if _longest(pc.utf8_rtrim(array, " ")) > length:
        raise InvalidValueError(
            f'a value does not fit column "{column.name}" of type {column.type}',
            detail=f"It has more than {length} characters.",
        )
    return pc.utf8_slice_codeunits(array, 0, length)


def _longest(array: Array) -> int:
    """The most characters of any value; 0 if there is none."""
    lengths: Array = pc.utf8_length(array)
    return pc.max(lengths).as_py() or 0


def _refuse_fractions_before_epoch(array: Array, column: Column) -> None:
    # pyarrow writes their nanoseconds as a negative number, which ORC's Java readers reject.
    for leaf in _leaves(array):
        if not pa.types.is_timestamp(leaf.type):
            continue
        ticks = np.asarray(leaf.drop_null().cast(pa.int64()))
        if ((ticks < 0) & (ticks % _PER_SECOND[leaf.type.unit] != 0)).any():
            raise InvalidValueError(
                f'column "{column.name}" has a timestamp before 1970 with a fraction of a second',
                detail="The ORC writer at hand writes such values unreadably for Hive and Spark.",
                hint="Truncate it to seconds, for example with date_trunc('second', …).",
            )


def _refuse_wide_decimals(before: Array, after: Array, column: Column) -> None:
    # A cast between equal types checks nothing, so digits beyond the precision would slip through.
    if not before.type.equals(after.type):
        return
    for leaf in _leaves(after):
        if pa.types.is_decimal(leaf.type) and len(leaf):
            limit = pa.scalar(10**leaf.type.precision - 1, pa.decimal256(76, 0))
            unscaled = _unscaled(leaf.drop_null())
            if len(unscaled) and pc.any(pc.greater(pc.abs(unscaled), limit)).as_py():
                raise InvalidValueError(
                    f'a value does not fit column "{column.name}" of type {column.type}',
                    detail=f"It has more than {leaf.type.precision} digits.",
                )


def _unscaled(array: Array) -> Array:
    # The same bytes read as a decimal without a fraction.
    kind = pa.decimal128(38, 0)
    whole = pa.Array.from_buffers(kind, len(array), [None, array.buffers()[1]], offset=array.offset)
    return whole.cast(pa.decimal256(76, 0))


def _leaves(array: Array) -> Iterator[Array]:
    """The primitive arrays inside an array, without what stands beneath nulls of a list or map."""
    if isinstance(array, pa.MapArray):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        yield from _leaves(array.keys.slice(first, last - first))
        yield from _leaves(array.items.slice(first, last - first))
    elif isinstance(array, pa.ListArray):
        yield from _leaves(array.flatten())
    elif isinstance(array, pa.StructArray):
        for child in array.flatten():
            yield from _leaves(child)
    else:
        yield array

"""Hive's bucket hash, versions 1 and 2, over Arrow arrays.

The source is Hive's ObjectInspectorUtils.hashCode and hashCodeMurmur. Version 1 is Java's hashing.
Version 2, of tables made by Hive 3 and later, is murmur3 for most primitive types. In both a null
hashes to 0 and all sums wrap at 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acidsql.layout.arrow import Array
from acidsql.layout.decimal_hash import decimal_hashes
from acidsql.layout.murmur import Bytes, Hashes, Positions, murmur, polynomial, power_of_31
from acidsql.layout.timestamp_hash import timestamp_hashes
from acidsql.model.types import (
    INSTANT,
    INTEGER_BITS,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    walk_types,
)


def is_bucketable(kind: ColumnType, version: int) -> bool:
    """Whether `bucket_hashes` gives Hive's hash for every value of the type.

    Hive's version 2 hashes a binary value together with whatever its buffer holds after it. How
    Hive hashes a timestamp with local time zone is not known well enough.
    """
    unknown = {INSTANT}
    if version == 2:
        unknown.add(PrimitiveType("binary"))
    return unknown.isdisjoint(walk_types(kind))


def bucket_hashes(
    columns: Sequence[Array], types: Sequence[ColumnType], version: int
) -> NDArray[np.int32]:
    """The hash of each row over the columns, in CLUSTERED BY order.

    Raises ValueError for another version than 1 or 2, and for types that are not `is_bucketable`.

    >>> bucket_hashes([pa.array(["Trino rocks", None])], [PrimitiveType("string")], 2).tolist()
    [-399107423, 0]
    """
    if version not in (1, 2):
        raise ValueError(f"bucketing version {version} is not 1 or 2")
    for kind in types:
        if not is_bucketable(kind, version):
            raise ValueError(f"bucketing version {version} of {kind} columns cannot be reproduced")
    result: Hashes = np.zeros(len(columns[0]), np.uint32)
    for column, kind in zip(columns, types, strict=True):
        result = result * np.uint32(31) + _hashes(column, kind, version)
    return result.view(np.int32)


def bucket_numbers(
    columns: Sequence[Array], types: Sequence[ColumnType], count: int, version: int
) -> NDArray[np.int32]:
    """The bucket of each row, from 0 to ``count - 1``.

    >>> bucket_numbers([pa.array(["Trino rocks"])], [PrimitiveType("string")], 4, 1).tolist()
    [2]
    """
    hashes = bucket_hashes(columns, types, version) & np.int32(0x7FFFFFFF)
    return hashes % np.int32(count)


def _hashes(array: Array, kind: ColumnType, version: int) -> Hashes:
    hashes = _value_hashes(array, kind, version)
    if array.null_count:
        nulls = np.asarray(array.is_null())
        hashes = np.where(nulls, np.uint32(0), hashes)
    return hashes


def _value_hashes(array: Array, kind: ColumnType, version: int) -> Hashes:
    """The hash of each value; at a null any number."""
    match kind:
        case PrimitiveType("string" | "binary") | CharType():
            return _text_hashes(array, kind, version)
        case PrimitiveType("timestamp"):
            return timestamp_hashes(array, version)
        case PrimitiveType("float" | "double"):
            return _float_hashes(array, 32 if kind.name == "float" else 64, version)
        case PrimitiveType():
            return _integer_hashes(array, kind.name, version)
        case DecimalType():
            return decimal_hashes(array, kind, version)
        case ArrayType(element):
            starts, ends = _ranges(array)
            return polynomial(_hashes(array.values, element, version), starts, ends)
        case MapType(key, value):
            return _map_hashes(array, key, value, version)
        case StructType(fields):
            result = np.zeros(len(array), np.uint32)
            for child, (_, field) in zip(array.flatten(), fields, strict=True):
                result = result * np.uint32(31) + _hashes(child, field, version)
            return result


def _integer_hashes(array: Array, name: str, version: int) -> Hashes:
    if name == "boolean":
        return _numpy(array.cast(pa.int8()), np.int32).view(np.uint32)
    if name == "date":
        array, bits = array.cast(pa.date32()).cast(pa.int32()), 32
    else:
        bits = INTEGER_BITS[name]
    if version == 2 and bits > 8:
        return _fixed_murmur(_numpy(array, np.dtype(f">i{bits // 8}")))
    if bits == 64:
        return fold_long(_numpy(array, np.int64))
    return _numpy(array, np.int32).view(np.uint32)


def _float_hashes(array: Array, bits: int, version: int) -> Hashes:
    values = _numpy(array, np.dtype(f"f{bits // 8}"))
    canonical = np.where(np.isnan(values), np.asarray(np.nan, values.dtype), values)
    integers = canonical.view(f"i{bits // 8}")
    if version == 2:
        # Hive converts these bits, taken for an integer, to a float again and hashes its bytes.
        return _fixed_murmur(integers.astype(f">f{bits // 8}"))
    return fold_long(integers) if bits == 64 else integers.view(np.uint32)


def _text_hashes(array: Array, kind: PrimitiveType | CharType, version: int) -> Hashes:
    if isinstance(kind, CharType) and kind.name == "char":
        array = pc.utf8_rtrim(array, characters=" ")
    buffer, starts, lengths = _text_bytes(array)
    if version == 2:
        return murmur(buffer, starts, lengths)
    hashes = polynomial(buffer.view(np.int8).astype(np.uint32), starts, starts + lengths)
    # Hive's hash of a string starts from 0, that of other byte sequences from 1.
    return hashes if kind == PrimitiveType("string") else hashes + power_of_31(lengths)


def _map_hashes(array: Array, key: ColumnType, value: ColumnType, version: int) -> Hashes:
    assert isinstance(array, pa.MapArray)
    starts, ends = _ranges(array)
    # Hive hashes the value with version 1 whatever the version is.
    entries = _hashes(array.keys, key, version) ^ _hashes(array.items, value, 1)
    sums = np.zeros(len(entries) + 1, np.uint32)
    np.cumsum(entries, dtype=np.uint32, out=sums[1:])
    return sums[ends] - sums[starts]


def fold_long(values: NDArray[np.int64]) -> Hashes:
    """Java's Long.hashCode.

    >>> fold_long(np.array([300000000000])).view(np.int32).tolist()
    [-647710651]
    """
    return ((values >> 32) ^ values).astype(np.uint32)


def _fixed_murmur(values: NDArray[Any]) -> Hashes:
    width = values.dtype.itemsize
    starts = np.arange(len(values), dtype=np.int64) * width
    return murmur(values.view(np.uint8), starts, np.full(len(values), width, np.int64))


def _numpy(array: Array, dtype: Any) -> NDArray[Any]:
    """The values as a numpy array, 0 at nulls, safely cast."""
    filled = array.fill_null(0) if array.null_count else array
    values: NDArray[Any] = filled.to_numpy(zero_copy_only=False).astype(dtype)
    return values


def _ranges(array: Array) -> tuple[Positions, Positions]:
    """Where each list or map starts and ends among the flattened children."""
    offsets = np.asarray(array.offsets, dtype=np.int64)
    return offsets[:-1], offsets[1:]


def _text_bytes(array: Array) -> tuple[Bytes, Positions, Positions]:
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    dtype = np.dtype(np.int64 if large else np.int32)
    if len(array) == 0:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
    bounds = np.frombuffer(offsets, dtype, len(array) + 1, array.offset * dtype.itemsize)
    first, last = int(bounds[0]), int(bounds[-1])
    buffer = (
        np.zeros(0, np.uint8)
        if data is None or last == first
        else np.frombuffer(data, np.uint8)[first:last]
    )
    starts = bounds[:-1].astype(np.int64) - first
    return buffer, starts, np.diff(bounds).astype(np.int64)

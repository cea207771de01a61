"""A hash of a row's keys that Python computes as Spark does, for rows that the driver holds."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.spark.columns import CHAR_METADATA
from acidsql.model.names import quote_identifier as quote

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

_Words = NDArray[np.uint64]

_PRIMES = [
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
]
"""The primes of XXH64."""

_SEED = 42
"""The seed of Spark's `xxhash64`."""

_LONG_DIGITS = 18
"""Spark hashes decimals of up to so many digits as their unscaled long."""


def hashes_alike(field: StructField) -> bool:
    """Whether equal values of the field have one hash in Spark.

    Not so -0.0 and 0.0, values of char(n), which are padded to be compared, texts with a collation,
    and what is made of several values.
    """
    from pyspark.sql import types  # noqa: PLC0415

    numbers = (types.IntegralType, types.DecimalType, types.BooleanType)
    times = (types.DateType, types.TimestampType, types.TimestampNTZType)
    is_text = field.dataType == types.StringType() and CHAR_METADATA not in field.metadata
    return is_text or isinstance(field.dataType, (*numbers, *times))


def have_one_hash(ours: StructField, theirs: StructField) -> bool:
    """Whether equal values of two fields have one hash. Not so if values must be converted."""
    return ours.dataType == theirs.dataType and hashes_alike(ours) and hashes_alike(theirs)


def can_hash(field: StructField) -> bool:
    """Whether `row_hashes` knows the one hash that equal values of the field have."""
    from pyspark.sql.types import DecimalType  # noqa: PLC0415

    kind = field.dataType
    is_long = isinstance(kind, DecimalType) and kind.precision > _LONG_DIGITS
    return hashes_alike(field) and not is_long


def hash_of(fields: Iterable[StructField]) -> str:
    """The hash of a row that has these fields, all of which `can_hash`. SQL.

    A text counts by its CRC-32, which is all of it that Python's library computes as Spark does.
    """
    from pyspark.sql.types import StringType  # noqa: PLC0415

    keys = (
        f"crc32(cast({quote(f.name)} as binary))"
        if isinstance(f.dataType, StringType)
        else quote(f.name)
        for f in fields
    )
    return f"xxhash64({', '.join(keys)})"


def row_hashes(columns: Sequence[pa.Array[Any]]) -> NDArray[np.int64]:
    """The `hash_of` each row. The columns have no nulls.

    As org.apache.spark.sql.catalyst.expressions.XXH64: the hash of a row's first value is the seed
    of its second.

    >>> row_hashes([pa.array([7, 7], pa.int64()), pa.array([1, 2], pa.int32())])
    array([-4962738677562396749,  3407463166296364114])
    """
    found = np.full(len(columns[0]), _SEED, np.uint64)
    for column in columns:
        values = _numbers(column)
        found = _of_ints(values, found) if values.itemsize <= 4 else _of_longs(values, found)
    return found.view(np.int64)


def _numbers(column: pa.Array[Any]) -> NDArray[Any]:
    """The whole number that is hashed for each value: 4 or 8 bytes of it, as for its type."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.fromiter(map(zlib.crc32, _texts(column)), np.int64, len(column))
    if pa.types.is_boolean(kind):
        return column.to_numpy(zero_copy_only=False).astype(np.int32)
    if pa.types.is_decimal(kind):
        [_, values] = column.buffers()
        words = np.frombuffer(memoryview(values or b""), np.int64)
        return words[2 * column.offset :: 2][: len(column)]
    if pa.types.is_integer(kind):
        return column.to_numpy()
    is_short = pa.types.is_date32(kind)
    numbers: pa.Array[Any] = column.view(pa.int32() if is_short else pa.int64())
    return numbers.to_numpy()


def _texts(column: pa.Array[Any]) -> Iterable[memoryview]:
    """The bytes of each text."""
    [_, ends, values] = column.buffers()
    kind = "i8" if pa.types.is_large_string(column.type) else "i4"
    offsets = np.frombuffer(memoryview(ends or b""), kind)[column.offset :][: len(column) + 1]
    whole = memoryview(values or b"")
    return (whole[start:end] for start, end in pairwise(offsets.tolist()))


def _of_ints(values: NDArray[Any], seeds: _Words) -> _Words:
    p1, p2, p3, _, p5 = _PRIMES
    hashes = seeds + p5 + np.uint64(4)
    hashes ^= values.astype(np.int32).view(np.uint32).astype(np.uint64) * p1
    return _mixed(_rotated(hashes, 23) * p2 + p3)


def _of_longs(values: NDArray[Any], seeds: _Words) -> _Words:
    p1, p2, _, p4, p5 = _PRIMES
    hashes = seeds + p5 + np.uint64(8)
    hashes ^= _rotated(values.astype(np.int64).view(np.uint64) * p2, 31) * p1
    return _mixed(_rotated(hashes, 27) * p1 + p4)


def _rotated(words: _Words, bits: int) -> _Words:
    found: _Words = (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
    return found


def _mixed(words: _Words) -> _Words:
    words ^= words >> np.uint64(33)
    words *= _PRIMES[1]
    words ^= words >> np.uint64(29)
    words *= _PRIMES[2]
    words ^= words >> np.uint64(32)
    return words

"""Hive's bucket hash of timestamps, wall clock taken as UTC (TimestampWritableV2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array
from acidsql.layout.murmur import Hashes, murmur

_Longs = NDArray[np.int64]
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def timestamp_hashes(array: Array, version: int) -> Hashes:
    """The hash of each timestamp; at a null any number.

    ``array`` is of any unit, or a struct of seconds and the nanoseconds after them.
    """
    if isinstance(array, pa.StructArray):
        parts = [np.asarray(part.fill_null(0), dtype=np.int64) for part in array.flatten()]
        return hash_seconds(parts[0], parts[1], version)
    per_second = _UNITS_PER_SECOND[array.type.unit]
    ticks = np.asarray(array.cast(pa.int64()).fill_null(0), dtype=np.int64)
    seconds, rest = np.divmod(ticks, per_second)
    return hash_seconds(seconds, rest * (10**9 // per_second), version)


def hash_seconds(seconds: _Longs, nanos: _Longs, version: int) -> Hashes:
    """The hash of whole seconds since 1970 and the nanoseconds after them.

    >>> hash_seconds(np.array([1]), np.array([0]), 1).tolist()
    [1073741824]
    """
    if version == 1:
        mixed = (seconds << 30) | nanos
        hashes: Hashes = ((mixed >> 32) ^ mixed).astype(np.uint32)
        return hashes
    return _compact_murmur(seconds, nanos)


def _compact_murmur(seconds: _Longs, nanos: _Longs) -> Hashes:
    """Murmur over Hive's compact form.

    Four bytes hold 31 bits of the seconds; nanoseconds and higher bits follow where there are any.
    """
    wide = (seconds < 0) | (seconds > 2**31 - 1)
    reversed_nanos = _reverse_digits(nanos)
    more = (reversed_nanos != 0) | wide
    low = seconds & 0x7FFFFFFF | np.where(more, 1 << 31, 0)
    buffer = np.zeros((len(seconds), 4 + 9 + 9), np.uint8)
    buffer[:, :4] = low.astype(">u4").view(np.uint8).reshape(-1, 4)
    lengths = np.full(len(seconds), 4, np.int64)
    _append(buffer, lengths, np.where(wide, -reversed_nanos - 1, reversed_nanos), more)
    _append(buffer, lengths, seconds >> 31, wide)
    starts = np.arange(len(seconds), dtype=np.int64) * buffer.shape[1]
    return murmur(buffer.reshape(-1), starts, lengths)


def _reverse_digits(nanos: _Longs) -> _Longs:
    """Nine digits read backwards, so that round fractions are short.

    >>> _reverse_digits(np.array([500000000, 1000])).tolist()
    [5, 100000]
    """
    result = np.zeros_like(nanos)
    for _ in range(9):
        nanos, digit = np.divmod(nanos, 10)
        result = result * 10 + digit
    return result


def _append(
    buffer: NDArray[np.uint8], lengths: _Longs, values: _Longs, where: NDArray[np.bool_]
) -> None:
    """Append each value as a Hadoop VLong: one byte, or a byte of sign and length and the bytes."""
    rows = np.flatnonzero(where)
    values = values[rows]
    short = (values >= -112) & (values <= 127)
    magnitude = np.where(values < 0, ~values, values)
    size = np.ones(len(rows), np.int64)
    for byte in range(1, 8):
        size += (magnitude >> (8 * byte)) != 0
    marker = np.where(values < 0, -120, -112) - size
    at = lengths[rows]
    buffer[rows, at] = np.where(short, values, marker).astype(np.int8).view(np.uint8)
    lengths[rows] += np.where(short, 1, 1 + size)
    for byte in range(8):
        long = np.flatnonzero(~short & (size > byte))
        shift = 8 * (size[long] - 1 - byte)
        buffer[rows[long], at[long] + 1 + byte] = (magnitude[long] >> shift & 255).astype(np.uint8)

"""EXACT timestamps: seconds of any year and their nanoseconds, the form that loses nothing.

No Arrow type holds both: 64 bits count nanoseconds from 1677 to 2262 only, and a Hive table may
have nanoseconds in any year. So this form stays, whatever becomes of pyarrow's ORC reader.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array, DataType

Longs = NDArray[np.int64]

EXACT = pa.struct([("__acidsql_seconds", pa.int64()), ("__acidsql_nanos", pa.int64())])
"""Seconds since 1970, rounded down, and the nanoseconds that follow them (0 to 999,999,999)."""


def is_exact(kind: DataType) -> bool:
    """Whether this is the type EXACT."""
    return bool(kind == EXACT)


def is_timestamp(kind: DataType) -> bool:
    """Whether this is EXACT or one of Arrow's timestamp types."""
    return is_exact(kind) or bool(pa.types.is_timestamp(kind))


def exact(seconds: Longs, nanos: Longs, nulls: NDArray[np.bool_]) -> Array:
    """An array of EXACT."""
    parts = [pa.array(seconds), pa.array(nanos)]
    return pa.StructArray.from_arrays(parts, fields=list(EXACT), mask=pa.array(nulls))


def parts_of(array: Array) -> tuple[Longs, Longs]:
    """The seconds and the nanoseconds of EXACT, both 0 at nulls."""
    seconds, nanos = (np.asarray(part.fill_null(0), np.int64) for part in array.flatten())
    return seconds, nanos


def microseconds(ticks: Longs, nulls: NDArray[np.bool_], zone: str | None = None) -> Array:
    """An Arrow array of timestamps from microseconds since 1970."""
    return pa.array(ticks, pa.int64(), mask=nulls).cast(pa.timestamp("us", tz=zone))


def microseconds_of(array: Array) -> Array:
    """EXACT as microseconds, rounded down."""
    seconds, nanos = parts_of(array)
    return microseconds(seconds * 10**6 + nanos // 1000, np.asarray(array.is_null()))


def exact_texts(array: Array) -> list[str]:
    """Each of EXACT as text with nine digits of a fraction; 1970-01-01 at nulls.

    >>> exact_texts(exact(np.array([-1]), np.array([5]), np.array([False])))
    ['1969-12-31 23:59:59.000000005']
    """
    seconds, nanos = parts_of(array)
    whole = np.datetime_as_string(seconds.astype("datetime64[s]")).tolist()
    pairs = zip(whole, nanos.tolist(), strict=True)
    return [f"{text.replace('T', ' ')}.{fraction:09d}" for text, fraction in pairs]


def is_finer_than_micros(array: Array) -> NDArray[np.bool_]:
    """Whether each of EXACT has nanoseconds that a number of microseconds cannot express."""
    _, nanos = parts_of(array)
    result: NDArray[np.bool_] = nanos % 1000 != 0
    return result

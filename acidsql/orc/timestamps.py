"""Timestamps without loss: seconds of any year and their nanoseconds, and how ORC stores the two.

ORC has one stream of seconds since 2015 and one of nanoseconds. Before 1970 it counts the second
towards 1970 where a millisecond or more is left of it (TimestampTreeWriter): so it cannot tell
23:59:59.5 on 1969-12-31 from half a second past midnight.

pyarrow reads nanoseconds of the years 1677 to 2262 alone, and writes a fraction before 1970 as a
negative number, which no Java reader accepts. Hence the pairs here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acidsql.layout.arrow import Array, DataType
from acidsql.orc.calendar import proleptic_days
from acidsql.orc.run_length import Unsigned

Longs = NDArray[np.int64]

EXACT = pa.struct([("__acidsql_seconds", pa.int64()), ("__acidsql_nanos", pa.int64())])
"""Seconds since 1970, rounded down, and the nanoseconds behind them."""

BASE_S = 1_420_070_400
"""2015-01-01, from which ORC counts seconds."""

_MILLISECOND = 10**6
_DAY_S = 86_400
_NO_ZONE = frozenset({"", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z"})


def is_exact(kind: DataType) -> bool:
    """Whether this is the type EXACT."""
    return bool(kind == EXACT)


def exact(seconds: Longs, nanos: Longs, nulls: NDArray[np.bool_]) -> Array:
    """An array of EXACT."""
    parts = [pa.array(seconds), pa.array(nanos)]
    return pa.StructArray.from_arrays(parts, fields=list(EXACT), mask=pa.array(nulls))


def microseconds_of(array: Array) -> Array:
    """EXACT as microseconds, rounded down."""
    seconds, nanos = (np.asarray(part.fill_null(0), np.int64) for part in array.flatten())
    ticks = seconds * 10**6 + nanos // 1000
    return _ticks(ticks, np.asarray(array.is_null()), pa.timestamp("us"))


def exact_texts(array: Array) -> list[str]:
    """Each of EXACT as text with nine digits of a fraction; 1970-01-01 at nulls.

    >>> exact_texts(exact(np.array([-1]), np.array([5]), np.array([False])))
    ['1969-12-31 23:59:59.000000005']
    """
    seconds, nanos = (np.asarray(part.fill_null(0), np.int64) for part in array.flatten())
    whole = np.datetime_as_string(seconds.astype("datetime64[s]")).tolist()
    pairs = zip(whole, nanos.tolist(), strict=True)
    return [f"{text.replace('T', ' ')}.{fraction:09d}" for text, fraction in pairs]


def restored(stored: Array, nanos: Unsigned, zone: str, *, julian: bool) -> Array:
    """EXACT timestamps of the seconds ORC stores and the encoded nanoseconds of those not null.

    ``zone`` is the one whose wall clock the writer meant. ValueError if the two do not go together.
    """
    nulls = np.asarray(stored.is_null())
    if len(nulls) - int(np.count_nonzero(nulls)) != len(nanos):
        raise ValueError("a column has more or fewer seconds than nanoseconds")
    fraction = np.zeros(len(nulls), np.int64)
    fraction[~nulls] = decode_nanos(nanos)
    base = BASE_S if zone in _NO_ZONE else _seconds_at(BASE_S, zone)
    seconds = np.asarray(stored.fill_null(0), np.int64) + base
    seconds -= (seconds < 0) & (fraction >= _MILLISECOND)
    if zone not in _NO_ZONE:
        instants: Array = pa.array(seconds, pa.timestamp("s", tz=zone))
        seconds = np.asarray(pc.local_timestamp(instants).cast(pa.int64()), np.int64)
    if julian:
        days, of_day = np.divmod(seconds, _DAY_S)
        seconds = proleptic_days(days) * _DAY_S + of_day
    return exact(seconds, fraction, nulls)


def is_finer_than_micros(array: Array) -> NDArray[np.bool_]:
    """Whether each of EXACT has nanoseconds that microseconds cannot say."""
    nanos = np.asarray(array.flatten()[1].fill_null(0), np.int64)
    result: NDArray[np.bool_] = nanos % 1000 != 0
    return result


def to_store(leaf: Array) -> tuple[Array, Unsigned | None]:
    """A timestamp leaf as pyarrow may write it, and the encoded nanoseconds that are still to come.

    ``leaf`` is in microseconds or EXACT. The nanoseconds are those of the values that are not
    null; None if pyarrow writes them right itself. ValueError for a value ORC cannot hold.
    """
    kind = pa.timestamp("us", tz=None if is_exact(leaf.type) else leaf.type.tz)
    nulls = np.asarray(leaf.is_null())
    if is_exact(leaf.type):
        seconds, nanos = (np.asarray(part.fill_null(0), np.int64) for part in leaf.flatten())
        if not ((nanos % 1000 != 0) | (seconds < 0) & (nanos != 0)).any():
            return _ticks(seconds * 10**6 + nanos // 1000, nulls, kind), None
    else:
        ticks = np.asarray(leaf.cast(pa.int64()).fill_null(0), np.int64)
        if ticks.min(initial=0) >= 0 or not ((ticks < 0) & (ticks % 10**6 != 0)).any():
            return leaf, None
        seconds, micros = np.divmod(ticks, 10**6)
        nanos = micros * 1000
    towards_1970 = (seconds < 0) & (nanos >= _MILLISECOND)
    if (towards_1970 & (seconds == -1)).any():
        raise ValueError("ORC takes the last second before 1970 for the first one after")
    whole = _ticks((seconds + towards_1970) * 10**6, nulls, kind)
    return whole, encode_nanos(nanos[~nulls])


def encode_nanos(nanos: Longs) -> Unsigned:
    """As ORC stores them: zeros at the end taken off, and counted less one in the low three bits.

    >>> encode_nanos(np.array([0, 1, 1000, 500_000_000])).tolist()
    [0, 8, 10, 47]
    """
    digits, zeros = nanos.copy(), np.zeros(len(nanos), np.int64)
    for _ in range(8):
        even = (digits != 0) & (digits % 10 == 0)
        if not even.any():
            break
        digits[even] //= 10
        zeros[even] += 1
    once = zeros == 1
    digits[once] *= 10
    zeros[once] = 0
    return (digits << 3 | np.maximum(zeros - 1, 0)).astype(np.uint64)


def is_fine(encoded: Unsigned) -> bool:
    """Whether any of the encoded nanoseconds is no whole microsecond."""
    return bool(((encoded != 0) & (encoded & np.uint64(7) < 2)).any())


def decode_nanos(encoded: Unsigned) -> Longs:
    """The nanoseconds of what `encode_nanos` gives."""
    zeros = (encoded & np.uint64(7)).astype(np.int64)
    scale = np.where(zeros == 0, 1, 10 ** (zeros + 1))
    return (encoded >> np.uint64(3)).astype(np.int64) * scale


def _ticks(micros: Longs, nulls: NDArray[np.bool_], kind: DataType) -> Array:
    return pa.array(micros, pa.int64(), mask=nulls).cast(kind)


def _seconds_at(wall_clock: int, zone: str) -> int:
    naive: Any = pa.scalar(wall_clock, pa.timestamp("s"))
    return int(pc.assume_timezone(naive, zone).cast(pa.int64()).as_py())

"""How ORC stores a timestamp: seconds since 2015 in one stream, encoded nanoseconds in another.

Before 1970 the stored second is rounded towards 1970 where the fraction is a millisecond or more
(ORC Java, TimestampTreeWriter and TimestampTreeReader). So ORC cannot tell 1969-12-31 23:59:59.5
from 1970-01-01 00:00:00.5 (ORC-645, ORC-763).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from acidsql.layout.arrow import Array
from acidsql.orc.calendar import proleptic_days
from acidsql.orc.exact import Longs, exact, is_exact, microseconds, parts_of
from acidsql.orc.run_length import Unsigned
from acidsql.orc.zones import clock_seconds, instant_of, is_utc

BASE_S = 1_420_070_400
"""2015-01-01 in seconds since 1970: ORC counts seconds from there."""

_MILLISECOND, _SECOND = 10**6, 10**9
_DAY_S = 86_400


def restored(stored: Array, nanos: Unsigned, zone: str, *, julian: bool) -> Array:
    """EXACT timestamps of the seconds that ORC stores and the encoded nanoseconds.

    ``nanos`` has one number for each second that is not null. ``zone`` is the time zone of the
    writer: the result is the wall-clock time there. ``julian`` says that the file counts days in
    the hybrid calendar. ValueError if there are more or fewer nanoseconds than seconds, or if they
    are no fraction of a second.
    """
    nulls = np.asarray(stored.is_null())
    if len(nulls) - int(np.count_nonzero(nulls)) != len(nanos):
        raise ValueError("a column has more or fewer seconds than nanoseconds")
    fraction = np.zeros(len(nulls), np.int64)
    fraction[~nulls] = decode_nanos(nanos)
    base = BASE_S if is_utc(zone) else instant_of(BASE_S, zone)
    seconds = np.asarray(stored.fill_null(0), np.int64) + base
    seconds -= (seconds < 0) & (fraction >= _MILLISECOND)
    if not is_utc(zone):
        seconds = clock_seconds(seconds, zone)
    if julian:
        days, of_day = np.divmod(seconds, _DAY_S)
        seconds = proleptic_days(days) * _DAY_S + of_day
    return exact(seconds, fraction, nulls)


def to_store(leaf: Array) -> tuple[Array, Unsigned | None]:
    """The timestamps pyarrow writes instead of these, and the encoded nanoseconds to put in later.

    ``leaf`` is in microseconds or EXACT; `orc.values` has refused the fractions that ORC cannot
    hold. There is one number for each value that is not null. None instead of the numbers means
    that pyarrow writes the values right.
    """
    nulls = np.asarray(leaf.is_null())
    if is_exact(leaf.type):
        zone = None
        seconds, nanos = parts_of(leaf)
        if not ((nanos % 1000 != 0) | (seconds < 0) & (nanos != 0)).any():
            return microseconds(seconds * 10**6 + nanos // 1000, nulls), None
    else:
        zone = leaf.type.tz
        ticks = np.asarray(leaf.cast(pa.int64()).fill_null(0), np.int64)
        if ticks.min(initial=0) >= 0 or not ((ticks < 0) & (ticks % 10**6 != 0)).any():
            return leaf, None
        seconds, micros = np.divmod(ticks, 10**6)
        nanos = micros * 1000
    towards_1970 = (seconds < 0) & (nanos >= _MILLISECOND)
    whole = microseconds((seconds + towards_1970) * 10**6, nulls, zone)
    return whole, encode_nanos(nanos[~nulls])


def encode_nanos(nanos: Longs) -> Unsigned:
    """Nanoseconds as ORC stores them.

    Two or more zeros at the end are taken off; their number less one stands in the low three bits.

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


def decode_nanos(encoded: Unsigned) -> Longs:
    """The nanoseconds that `encode_nanos` has encoded.

    ValueError for more than a second has. pyarrow writes such numbers for negative ones, with a
    fraction of a second before 1970, and no reader of Hive or Spark takes them.
    """
    zeros = (encoded & np.uint64(7)).astype(np.int64)
    scale = np.where(zeros == 0, 1, 10 ** (zeros + 1))
    digits = (encoded >> np.uint64(3)).astype(np.int64)
    if (digits > (_SECOND - 1) // scale).any():
        raise ValueError("a timestamp has negative nanoseconds, or more than a second has")
    return digits * scale


def is_fine(encoded: Unsigned) -> bool:
    """Whether any of the encoded nanoseconds is not a whole number of microseconds."""
    return bool(((encoded != 0) & (encoded & np.uint64(7) < 2)).any())

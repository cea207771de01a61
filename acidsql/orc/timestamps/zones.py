"""The clocks of time zones, as Java shows them.

Java writes and reads a timestamp by java.util.TimeZone. pyarrow's zones differ from that: where the
system's files of zones end with 2037, pyarrow knows no summer time afterwards, and before 1900 it
takes a place's mean time. Java takes today's standard time then (sun.util.calendar.ZoneInfoFile).
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from acidsql.orc.exact import Longs

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WEEK_S = 7 * 86_400
_FIRST_S = -2_208_988_800
"""1900-01-01 in UTC, in seconds since 1970."""

_CYCLE_S = 146_097 * 86_400
"""400 years. Then the days of the week are the same again, and with them the rules of a zone."""

_LAST_S = 2_145_916_800
"""2038-01-01 in UTC. From here on, zones keep to their rules."""


def clock_seconds(instants: Longs, zone: str) -> Longs:
    """What clocks in the zone show at instants, both in seconds since 1970.

    ValueError for a zone that nobody knows.
    """
    starts, offsets = _offsets(zone)
    cycles = np.maximum((instants - _LAST_S) // _CYCLE_S, 0)
    found = np.searchsorted(starts, instants - cycles * _CYCLE_S, side="right")
    clocks: Longs = instants + offsets[found]
    return clocks


def instant_of(clock: int, zone: str) -> int:
    """The instant at which clocks in the zone show a time. Errors are those of `clock_seconds`.

    It is a time that they show once.
    """
    guess = clock - int(clock_seconds(np.array([clock]), zone)[0] - clock)
    return clock - int(clock_seconds(np.array([guess]), zone)[0] - guess)


@lru_cache(maxsize=64)
def _offsets(zone: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When the offsets of a zone from UTC start, in ascending order, and the offsets in seconds.

    The first offset is the one before all of the starts, so there is one more of them.
    """
    try:
        known = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f'the time zone "{zone}" is not known') from None
    last_year = range(_LAST_S - 52 * _WEEK_S, _LAST_S, _WEEK_S)
    starts, offsets = [_FIRST_S], [min(_offset(known, week) for week in last_year)]
    offsets.append(_offset(known, _FIRST_S))
    # Zones keep an offset for longer than a week, but for a few in the first half of the century.
    for week in range(_FIRST_S + _WEEK_S, _LAST_S + _CYCLE_S, _WEEK_S):
        offset = _offset(known, week)
        if offset != offsets[-1]:
            starts.append(_start_of(known, offset, week))
            offsets.append(offset)
    return np.array(starts, np.int64), np.array(offsets, np.int64)


def _start_of(zone: ZoneInfo, offset: int, instant: int) -> int:
    """The second in the week before an instant at which its offset starts."""
    low, high = instant - _WEEK_S, instant
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(zone, middle) == offset else (middle, high)
    return high


def _offset(zone: ZoneInfo, instant: int) -> int:
    """How many seconds clocks in the zone are ahead of UTC."""
    ahead = (_EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    assert ahead is not None
    return ahead // timedelta(seconds=1)

"""The clocks of time zones, as Java shows them.

ORC writes and reads a timestamp by java.util.TimeZone. pyarrow's zones differ from that: where the
system's files of zones end with 2037, pyarrow knows no summer time afterwards, and before 1900 it
takes a place's mean time. java.util takes today's standard time then
(sun.util.calendar.ZoneInfoFile), and java.time a place's mean time, too.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from acidsql.orc.exact import Longs

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WEEK_S = 7 * 86_400
_FIRST_S = -2_208_988_800
"""1900-01-01 in UTC, in seconds since 1970."""

_PYTHONS_FIRST_S = -62_135_510_400
"""0001-01-02 in UTC. Each zone has its first offset then, and Python knows no earlier years."""

_CYCLE_S = 146_097 * 86_400
"""400 years. Then the days of the week are the same again, and with them the rules of a zone."""

_LAST_S = 2_145_916_800
"""2038-01-01 in UTC. From here on, zones keep to their rules."""

_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?", re.ASCII)
"""Java's names of zones whose clocks are always as much ahead of UTC (java.time.ZoneId)."""


_UTC = frozenset({"", "UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT"})


def is_utc(zone: str) -> bool:
    """Whether the clocks that a file names show UTC. They do if it names none."""
    return zone in _UTC


def known_zone(zone: str) -> tzinfo:
    """The time zone of a name of Java's. ValueError if nobody knows it."""
    fixed = _FIXED.fullmatch(zone)
    try:
        if fixed is None:
            return ZoneInfo(zone)
        sign, *parts = fixed.groups(default="0")
        hours, minutes, seconds = map(int, parts)
        ahead = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(ahead if sign == "+" else -ahead)
    except (KeyError, ValueError, OSError):
        raise ValueError(f'the time zone "{zone}" is not known') from None


def clock_seconds(instants: Longs, zone: str) -> Longs:
    """What clocks in the zone show at instants, both in seconds since 1970, by java.util.TimeZone.

    ValueError for a zone that nobody knows.
    """
    starts, offsets = _offsets(zone)
    cycles = np.maximum((instants - _LAST_S) // _CYCLE_S, 0)
    found = np.searchsorted(starts, instants - cycles * _CYCLE_S, side="right")
    clocks: Longs = instants + offsets[found]
    return clocks


def mean_clock_seconds(instants: Longs, zone: str) -> Longs:
    """As `clock_seconds` by java.time, which differs before 1900: clocks show a place's mean time.

    Old instants are looked up one by one.
    """
    clocks = clock_seconds(instants, zone)
    old = instants < _FIRST_S
    if old.any():
        known = known_zone(zone)
        found, places = np.unique(instants[old], return_inverse=True)
        years = np.maximum(found, _PYTHONS_FIRST_S)
        offsets = np.array([_offset(known, int(instant)) for instant in years], np.int64)
        clocks[old] = (found + offsets)[places]
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
    known = known_zone(zone)
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


def _start_of(zone: tzinfo, offset: int, instant: int) -> int:
    """The second in the week before an instant at which its offset starts."""
    low, high = instant - _WEEK_S, instant
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(zone, middle) == offset else (middle, high)
    return high


def _offset(zone: tzinfo, instant: int) -> int:
    """How many seconds clocks in the zone are ahead of UTC."""
    ahead = (_EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    assert ahead is not None
    return ahead // timedelta(seconds=1)

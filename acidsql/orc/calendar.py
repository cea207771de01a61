"""Convert old dates from the hybrid calendar, in which Hive 4 stores them, to the proleptic one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array
from acidsql.orc.footer import SWITCH_DAY
from acidsql.orc.nested import map_leaves

_EPOCH = 2440588
_JULIAN_OFFSET = 32082
_GREGORIAN_OFFSET = 32044
_DAYS_OF_FOUR_YEARS = 1461


def proleptic_days(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """The days since 1970-01-01 of the same dates in the proleptic Gregorian calendar.

    A leap day that only the Julian calendar has becomes the first of March.

    >>> proleptic_days(np.array([-719164, -141428, 0])).tolist()
    [-719162, -141438, 0]
    """
    old = days < SWITCH_DAY
    if not old.any():
        return days
    result = days.copy()
    result[old] = _from_julian(days[old])
    return result


def _from_julian(days: NDArray[np.int64]) -> NDArray[np.int64]:
    # Years are counted from March, so that a leap day is the last of its year (Richards).
    since = days + _EPOCH + _JULIAN_OFFSET
    year = (4 * since + 3) // _DAYS_OF_FOUR_YEARS
    day_of_year = since - _DAYS_OF_FOUR_YEARS * year // 4
    leap_days = year // 4 - year // 100 + year // 400
    result: NDArray[np.int64] = 365 * year + leap_days + day_of_year - _GREGORIAN_OFFSET - _EPOCH
    return result


def proleptic(array: Array) -> Array:
    """An array of any type with every date in it converted to the proleptic calendar."""
    return map_leaves(array, pa.types.is_date32, _proleptic_dates)


def _proleptic_dates(dates: Array) -> Array:
    days = np.asarray(dates.cast(pa.int32()).fill_null(0), dtype=np.int64)
    moved = proleptic_days(days)
    if moved is days:
        return dates
    nulls = np.asarray(dates.is_null())
    return pa.array(moved.astype(np.int32), mask=nulls).cast(pa.date32())

"""Convert old dates from the hybrid calendar, in which Hive 4 stores them, to the proleptic one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array, DataType
from acidsql.orc.footer import SWITCH_DAY

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
    kind = array.type
    if pa.types.is_date32(kind):
        days = np.asarray(array.cast(pa.int32()).fill_null(0), dtype=np.int64)
        moved = proleptic_days(days)
        if moved is days:
            return array
        nulls = np.asarray(array.is_null())
        return pa.array(moved.astype(np.int32), mask=nulls).cast(pa.date32())
    mask: Array = array.is_null()
    if isinstance(array, pa.StructArray):
        children = [proleptic(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if isinstance(array, pa.MapArray):
        keys, items = proleptic(array.keys), proleptic(array.items)
        maps: Array = pa.MapArray
        return maps.from_arrays(array.offsets, keys, items, kind, mask=mask)
    if isinstance(array, pa.ListArray):
        values = proleptic(array.values)
        lists: Array = pa.ListArray
        return lists.from_arrays(array.offsets, values, kind, mask=mask)
    return array


def has_dates(kind: DataType) -> bool:
    """Whether a date stands anywhere in the type."""
    if pa.types.is_date32(kind):
        return True
    return any(has_dates(kind.field(at).type) for at in range(kind.num_fields))

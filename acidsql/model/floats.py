"""Numbers → the values of a column of type float, which has 32 bits."""

from __future__ import annotations

import math
import struct
from decimal import Decimal


def nearest_float(number: int | Decimal) -> float:
    """The nearest value that a float holds, rounded once: by way of a double it might be another.

    What is beyond the range of floats stays a double. OverflowError for an int beyond that of
    doubles.

    >>> nearest_float(Decimal("1.000000178813934326171874999"))
    1.0000001192092896
    """
    double = float(number)
    if not math.isfinite(double) or not is_in_float_range(double):
        return double
    single = _rounded(double)
    # The double is half way between two floats if this is one, too: then the number decides.
    other = 2 * double - single
    if other == single or not is_in_float_range(other) or _rounded(other) != other:
        return single
    if number == Decimal(double):
        return single
    return max(single, other) if number > Decimal(double) else min(single, other)


def is_in_float_range(double: float) -> bool:
    """Whether the nearest float is not infinite, or the double itself is."""
    try:
        struct.pack("<f", double)
    except OverflowError:
        return False
    return True


def _rounded(double: float) -> float:
    single: float
    (single,) = struct.unpack("<f", struct.pack("<f", double))
    return single

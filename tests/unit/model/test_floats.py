"""acidsql/model/floats.py"""

from __future__ import annotations

import struct
from decimal import Context, Decimal

from hypothesis import given
from hypothesis import strategies as st

from acidsql.model.floats import is_in_float_range, nearest_float

_WIDE = Context(prec=400)
_GREATEST = 0x7F7FFFFF


def float_of(bits: int) -> float:
    found: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return found


@given(st.integers(0, _GREATEST - 1), st.sampled_from([-1, 0, 1]), st.sampled_from([1, -1]))
def test_around_the_middle_of_two_floats(bits: int, side: int, sign: int) -> None:
    low, high = float_of(bits), float_of(bits + 1)
    middle = Decimal(low / 2 + high / 2)  # exact
    number = _WIDE.add(middle, Decimal(side).scaleb(middle.adjusted() - 250))
    even = low if bits % 2 == 0 else high
    assert nearest_float(number.copy_sign(sign)) == sign * {-1: low, 0: even, 1: high}[side]


@given(st.integers(0, _GREATEST), st.sampled_from([1, -1]))
def test_a_float_is_its_own_nearest(bits: int, sign: int) -> None:
    assert nearest_float(Decimal(sign * float_of(bits))) == sign * float_of(bits)


@given(st.integers(1, 2**128))
def test_integers(number: int) -> None:
    found = nearest_float(number)
    assert found == nearest_float(Decimal(number))
    assert not is_in_float_range(found) or abs(number - int(found)) << 24 <= number


def test_beyond_the_range() -> None:
    assert nearest_float(Decimal("1e39")) == 1e39
    assert nearest_float(Decimal("-1e400")) == -float("inf")
    assert nearest_float(Decimal("1e-99999999")) == 0
    assert is_in_float_range(float("inf"))
    assert not is_in_float_range(-1e39)

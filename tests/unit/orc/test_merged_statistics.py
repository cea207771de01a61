"""acidsql/orc/merged_statistics.py; tests/property/test_appended.py compares it with the rows."""

from __future__ import annotations

import struct

import pytest

from acidsql.orc.merged_statistics import merged_columns
from acidsql.orc.protobuf import (
    bytes_field,
    fields,
    fixed64_field,
    packed_field,
    packed_numbers,
    unsigned,
    varint_field,
)


def column(values: int, kind: int = 0, inner: bytes = b"", has_null: int | None = 0) -> bytes:
    message = varint_field(1, values)
    message += bytes_field(kind, inner) if kind else b""
    return message + (b"" if has_null is None else varint_field(10, has_null))


def integers(low: int, high: int, total: int | None) -> bytes:
    message = varint_field(1, unsigned(low)) + varint_field(2, unsigned(high))
    return message + (b"" if total is None else varint_field(3, unsigned(total)))


def inner(message: bytes, kind: int) -> dict:
    found = dict(fields(message)).get(kind)
    return {} if found is None else dict(fields(found))


def test_integers() -> None:
    both = merged_columns(column(2, 2, integers(-5, 3, -2)), column(1, 2, integers(9, 9, 9), 1))
    assert dict(fields(both))[1] == 3
    assert dict(fields(both))[10] == 1
    assert inner(both, 2) == {1: unsigned(-5), 2: unsigned(9), 3: unsigned(7)}


@pytest.mark.parametrize("totals", [(2**63 - 1, 1), (-(2**63), -1), (None, 1), (1, None)])
def test_a_sum_that_is_unknown_or_too_large_is_left_out(totals: tuple) -> None:
    one, other = (column(1, 2, integers(1, 1, total)) for total in totals)
    assert set(inner(merged_columns(one, other), 2)) == {1, 2}


def test_a_column_without_values_says_nothing_of_bounds() -> None:
    full, empty = column(1, 2, integers(4, 4, 4)), column(0, has_null=1)
    for pair in ((full, empty), (empty, full)):
        assert inner(merged_columns(*pair), 2) == inner(full, 2)
    assert inner(merged_columns(empty, empty), 2) == {}


def test_bounds_that_one_of_them_lacks_are_left_out() -> None:
    assert inner(merged_columns(column(1, 2, integers(4, 4, 4)), column(1)), 2) == {}


def test_unknown_nulls_stay_unknown() -> None:
    assert 10 not in dict(fields(merged_columns(column(1, has_null=None), column(1))))


def doubles(low: float, high: float) -> bytes:
    return b"".join(fixed64_field(n, struct.pack("<d", v)) for n, v in ((1, low), (2, high)))


def test_doubles() -> None:
    both = merged_columns(column(1, 3, doubles(-1.5, 2)), column(1, 3, doubles(-0.5, 7)))
    assert inner(both, 3) == {1: struct.pack("<d", -1.5), 2: struct.pack("<d", 7)}
    nan = merged_columns(column(1, 3, doubles(float("nan"), 1)), column(1, 3, doubles(0, 0)))
    assert set(inner(nan, 3)) == {2}


def test_a_cut_text_makes_the_bound_of_both_a_cut_one() -> None:
    whole = bytes_field(1, b"b") + bytes_field(2, b"c") + varint_field(3, unsigned(2))
    cut = bytes_field(4, b"aaa") + bytes_field(2, b"d") + varint_field(3, unsigned(2000))
    both = inner(merged_columns(column(2, 4, whole), column(2, 4, cut)), 4)
    assert both == {4: b"aaa", 2: b"d", 3: unsigned(2002)}


def test_decimals() -> None:
    def decimals(low: bytes, high: bytes, total: bytes) -> bytes:
        return bytes_field(1, low) + bytes_field(2, high) + bytes_field(3, total)

    one, other = decimals(b"-1.5", b"10", b"8.5"), decimals(b"9", b"9", b"9")
    both = inner(merged_columns(column(2, 6, one), column(1, 6, other)), 6)
    assert both == {1: b"-1.5", 2: b"10", 3: b"17.5"}
    wide = decimals(b"1", b"1", b"9" * 38)
    both = inner(merged_columns(column(1, 6, wide), column(1, 6, wide)), 6)
    assert set(both) == {1, 2}


def test_booleans_are_counted() -> None:
    one, other = packed_field(1, [3]), packed_field(1, [4])
    both = merged_columns(column(5, 5, one), column(6, 5, other))
    assert packed_numbers(inner(both, 5)[1]) == [7]

"""Statistics of stripes, merged. tests/property compares whole files with what pyarrow says."""

import math
import struct
from typing import Any

from acidsql.orc.protobuf import (
    bytes_field,
    fields,
    packed_field,
    packed_numbers,
    unsigned,
    varint_field,
)
from acidsql.orc.statistics_merge import merged_columns


def column(values: int, kind: int = 0, inner: bytes = b"", has_null: int | None = 0) -> bytes:
    message = varint_field(1, values)
    message += bytes_field(kind, inner) if kind else b""
    return message if has_null is None else message + varint_field(10, has_null)


def merged(*columns: bytes) -> dict[int, Any]:
    [message] = merged_columns([[each] for each in columns])
    return {n: dict(fields(v)) if isinstance(v, bytes) else v for n, v in fields(message)}


def integers(low: int, high: int, total: int | None) -> bytes:
    message = varint_field(1, unsigned(low)) + varint_field(2, unsigned(high))
    return message if total is None else message + varint_field(3, unsigned(total))


def doubles(low: float, high: float, total: float) -> bytes:
    pairs = enumerate((low, high, total), 1)
    return b"".join(bytes([number << 3 | 1]) + struct.pack("<d", value) for number, value in pairs)


def test_integers() -> None:
    found = merged(column(2, 2, integers(-5, 3, -2)), column(1, 2, integers(-9, -9, -9), 1))
    assert found == {1: 3, 2: {1: unsigned(-9), 2: unsigned(3), 3: unsigned(-11)}, 10: 1}


def test_a_sum_that_has_no_room_is_left_out() -> None:
    most = 2**63 - 1
    found = merged(column(1, 2, integers(most, most, most)), column(1, 2, integers(1, 1, 1)))
    assert found[2] == {1: unsigned(1), 2: unsigned(most)}


def test_a_bound_stays_only_where_every_stripe_with_values_has_it() -> None:
    known = column(1, 2, integers(1, 1, 1))
    assert merged(known, column(1)) == {1: 2, 10: 0}
    assert merged(known, column(0))[2] == merged(known)[2]
    assert 3 not in merged(known, column(1, 2, integers(1, 1, None)))[2]


def test_a_stripe_that_does_not_tell_of_nulls_may_have_some() -> None:
    assert merged(column(1), column(1, has_null=None))[10] == 1


def test_nothing_is_bounded_by_a_nan() -> None:
    found = merged(
        column(1, 3, doubles(1.0, 1.0, 1.0)), column(1, 3, doubles(math.nan, math.nan, math.nan))
    )
    assert list(found[3]) == [3]
    assert math.isnan(struct.unpack("<d", found[3][3])[0])


def test_a_cut_bound_of_a_long_text_stays_a_cut_one() -> None:
    exact = bytes_field(1, b"b") + bytes_field(2, b"c") + varint_field(3, unsigned(2))
    cut = bytes_field(4, b"a" * 9) + bytes_field(5, b"a" * 8 + b"b") + varint_field(3, unsigned(99))
    found = merged(column(2, 4, exact), column(1, 4, cut))
    assert found[4] == {4: b"a" * 9, 2: b"c", 3: unsigned(101)}
    same = merged(column(1, 4, bytes_field(1, b"a")), column(1, 4, bytes_field(4, b"a")))
    assert same[4] == {4: b"a"}


def test_a_timestamp_without_nanoseconds_is_anywhere_in_its_millisecond() -> None:
    def times(milliseconds: int, nanos: int | None) -> bytes:
        message = b"".join(varint_field(n, unsigned(milliseconds)) for n in (3, 4))
        if nanos is not None:
            message += varint_field(5, nanos + 1) + varint_field(6, nanos + 1)
        return message

    known = column(1, 9, times(7, 500))
    assert merged(known, column(1, 9, times(7, 100)))[9] == {3: 14, 4: 14, 5: 101, 6: 501}
    assert merged(known, column(1, 9, times(7, None)))[9] == {3: 14, 4: 14}
    assert merged(known, column(1, 9, times(8, None)))[9] == {3: 14, 4: 16, 5: 501}


def test_decimals_are_compared_as_numbers_and_summed_exactly() -> None:
    def numbers(low: str, high: str, total: str) -> bytes:
        return b"".join(bytes_field(n, t.encode()) for n, t in enumerate((low, high, total), 1))

    found = merged(
        column(2, 6, numbers("9", "10", "19")), column(1, 6, numbers("-0.5", "-0.5", "-0.5"))
    )
    assert found[6] == {1: b"-0.5", 2: b"10", 3: b"18.5"}
    most = "9" * 38
    assert (
        3 not in merged(column(1, 6, numbers(most, most, most)), column(1, 6, numbers(*"111")))[6]
    )


def test_booleans_are_counted() -> None:
    found = merged(column(5, 5, packed_field(1, [3])), column(6, 5, packed_field(1, [4])))
    assert packed_numbers(found[5][1]) == [7]

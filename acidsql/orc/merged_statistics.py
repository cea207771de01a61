"""The statistics of two ORC files together, from the messages in their footers.

A bound or sum that cannot be told exactly is left out: readers then skip nothing by it (ORC
specification, Column Statistics).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

from acidsql.orc.protobuf import (
    as_bytes,
    bytes_field,
    fields,
    fixed64_field,
    number_in,
    packed_field,
    packed_numbers,
    signed,
    unsigned,
    varint_field,
)

_VALUES, _HAS_NULL, _BYTES_ON_DISK = 1, 10, 11
_INTEGER, _DOUBLE, _STRING, _BUCKET, _DECIMAL = 2, 3, 4, 5, 6
_DATE, _BINARY, _TIMESTAMP, _COLLECTION = 7, 8, 9, 12
_KINDS = (
    _INTEGER, _DOUBLE, _STRING, _BUCKET, _DECIMAL, _DATE, _BINARY, _TIMESTAMP, _COLLECTION,
)  # fmt: skip
_DIGITS_MAX = 38
_EXACT = Context(prec=100)

Message = Mapping[int, Any]
"""The fields of a message by number: numbers as they are in the file, or bytes."""


def merged_columns(first: bytes, second: bytes) -> bytes:
    """The ColumnStatistics message of the values that two such messages describe."""
    one, other = dict(fields(first)), dict(fields(second))
    values = [number_in(message, _VALUES) for message in (one, other)]
    result = varint_field(_VALUES, sum(values))
    for kind in _KINDS:
        # A column without values has no bounds, so those of the other one stand for both.
        said = [m.get(kind) for m, count in zip((one, other), values, strict=True) if count]
        if said and None not in said:
            parts = [dict(_grouped(as_bytes(part))) for part in said if part is not None]
            both = parts[0] if len(parts) == 1 else _MERGES[kind](parts[0], parts[1])
            result += bytes_field(kind, _encoded(kind, both))
    # Absent means that nothing is known of nulls.
    if _HAS_NULL in one and _HAS_NULL in other:
        has_null = number_in(one, _HAS_NULL) | number_in(other, _HAS_NULL)
        result += varint_field(_HAS_NULL, has_null)
    if _BYTES_ON_DISK in one and _BYTES_ON_DISK in other:
        on_disk = number_in(one, _BYTES_ON_DISK) + number_in(other, _BYTES_ON_DISK)
        result += varint_field(_BYTES_ON_DISK, on_disk)
    return result


def _grouped(message: bytes) -> dict[int, Any]:
    """The fields of a message; of a repeated one all values together."""
    found: dict[int, Any] = {}
    for number, value in fields(message):
        found[number] = value if number not in found else as_bytes(found[number]) + as_bytes(value)
    return found


def _signed_ends(one: Message, other: Message, low: int = 1, high: int = 2) -> dict[int, Any]:
    """The lesser of two least values and the greater of two greatest, which are signed."""
    result = {}
    for number, choose in ((low, min), (high, max)):
        if number in one and number in other:
            result[number] = choose(one[number], other[number], key=signed)
    return result


def _signed_sum(one: Message, other: Message, number: int) -> dict[int, Any]:
    if number not in one or number not in other:
        return {}
    total = signed(one[number]) + signed(other[number])
    return {number: unsigned(total)} if -(2**63) <= total < 2**63 else {}


def _integers(one: Message, other: Message) -> dict[int, Any]:
    return {**_signed_ends(one, other), **_signed_sum(one, other, 3)}


def _doubles(one: Message, other: Message) -> dict[int, Any]:
    result = {}
    merges: tuple[tuple[int, Callable[[float, float], float]], ...] = (
        (1, min), (2, max), (3, float.__add__),
    )  # fmt: skip
    for number, merge in merges:
        if number in one and number in other:
            pair = [struct.unpack("<d", message[number])[0] for message in (one, other)]
            # Nothing can be said of the bounds of a column with NaN.
            if pair[0] == pair[0] and pair[1] == pair[1]:
                result[number] = struct.pack("<d", merge(*pair))
    return result


def _strings(one: Message, other: Message) -> dict[int, Any]:
    """Texts: exact bounds (1, 2), or, where one is cut, lower and upper bounds (4, 5)."""
    result: dict[int, Any] = {}
    for exact, cut, choose in ((1, 4, min), (2, 5, max)):
        ends = [m.get(exact, m.get(cut)) for m in (one, other)]
        if None not in ends:
            is_exact = exact in one and exact in other
            result[exact if is_exact else cut] = choose(ends)
    return {**result, **_signed_sum(one, other, 3)}


def _buckets(one: Message, other: Message) -> dict[int, Any]:
    counts = [packed_numbers(m[1]) for m in (one, other) if 1 in m]
    if len(counts) != 2 or len(counts[0]) != len(counts[1]):
        return {}
    return {1: [a + b for a, b in zip(*counts, strict=True)]}


def _decimals(one: Message, other: Message) -> dict[int, Any]:
    result: dict[int, Any] = {}
    for number, choose in ((1, min), (2, max)):
        if number in one and number in other:
            result[number] = choose(one[number], other[number], key=_decimal)
    if 3 in one and 3 in other:
        total = _EXACT.add(_decimal(one[3]), _decimal(other[3]))
        if len(total.as_tuple().digits) <= _DIGITS_MAX:
            result[3] = format(total, "f").encode()
    return result


def _decimal(text: bytes) -> Decimal:
    return Decimal(text.decode())


def _binaries(one: Message, other: Message) -> dict[int, Any]:
    return _signed_sum(one, other, 1)


def _timestamps(one: Message, other: Message) -> dict[int, Any]:
    """Milliseconds, of the writer's zone (1, 2) and of UTC (3, 4).

    The nanoseconds below them (5, 6) are left out. Then they may be any.
    """
    return {**_signed_ends(one, other), **_signed_ends(one, other, 3, 4)}


def _collections(one: Message, other: Message) -> dict[int, Any]:
    result: dict[int, Any] = {}
    merges: tuple[tuple[int, Callable[[int, int], int]], ...] = (
        (1, min), (2, max), (3, int.__add__),
    )  # fmt: skip
    for number, merge in merges:
        if number in one and number in other:
            result[number] = merge(one[number], other[number])
    return result


_MERGES: Mapping[int, Callable[[Message, Message], dict[int, Any]]] = {
    _INTEGER: _integers,
    _DOUBLE: _doubles,
    _STRING: _strings,
    _BUCKET: _buckets,
    _DECIMAL: _decimals,
    _DATE: _signed_ends,
    _BINARY: _binaries,
    _TIMESTAMP: _timestamps,
    _COLLECTION: _collections,
}


def _encoded(kind: int, message: Message) -> bytes:
    result = b""
    for number, value in message.items():
        if kind == _BUCKET:
            counts = value if isinstance(value, list) else packed_numbers(value)
            result += packed_field(number, counts)
        elif isinstance(value, int):
            result += varint_field(number, value)
        elif kind == _DOUBLE:
            result += fixed64_field(number, value)
        else:
            result += bytes_field(number, value)
    return result

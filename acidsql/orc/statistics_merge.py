"""The column statistics of several stripes as those of one file, in the form that files store.

Readers skip files by these statistics, so a bound is kept only where every stripe that has values
says one (ORC specification, Column Statistics; orc_proto.proto).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from functools import reduce

from acidsql.model.types import DECIMAL_DIGITS_MAX
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
_INTEGER, _DOUBLE, _STRING, _BUCKET, _DECIMAL, _DATE, _BINARY, _TIMESTAMP, _COLLECTION = (
    *range(2, 10),
    12,
)
_EXACT = Context(prec=100)

_Message = Mapping[int, int | bytes]


def merged_columns(stripes: Sequence[Sequence[bytes]]) -> list[bytes]:
    """The ColumnStatistics messages of a file, one for each column, from those of its stripes.

    There must be a stripe.
    ValueError if the stripes have different numbers of columns, or a message is malformed.
    """
    return [_merged(column) for column in zip(*stripes, strict=True)]


def _merged(messages: Sequence[bytes]) -> bytes:
    parts = [dict(fields(message)) for message in messages]
    # A stripe without values has no bounds, and says nothing against those of the others.
    filled = [part for part in parts if number_in(part, _VALUES)] or parts
    result = varint_field(_VALUES, sum(number_in(part, _VALUES) for part in parts))
    for kind, merge in _KINDS.items():
        if all(kind in part for part in filled):
            inner = [dict(fields(as_bytes(part[kind]))) for part in filled]
            result += bytes_field(kind, merge(inner))
    if any(_HAS_NULL not in part or part[_HAS_NULL] for part in parts):
        # What does not say whether it has nulls may have some.
        result += varint_field(_HAS_NULL, 1)
    else:
        result += varint_field(_HAS_NULL, 0)
    if all(_BYTES_ON_DISK in part for part in parts):
        size = sum(number_in(part, _BYTES_ON_DISK) for part in parts)
        result += varint_field(_BYTES_ON_DISK, size)
    return result


def _integers(parts: Sequence[_Message]) -> bytes:
    result = _days(parts)
    if all(3 in part for part in parts):
        total = sum(signed(number_in(part, 3)) for part in parts)
        if -(2**63) <= total < 2**63:
            result += varint_field(3, unsigned(total))
    return result


def _days(parts: Sequence[_Message]) -> bytes:
    return _signed_bound(1, parts, min) + _signed_bound(2, parts, max)


def _signed_bound(
    number: int, parts: Sequence[_Message], choose: Callable[[list[int]], int]
) -> bytes:
    if not all(number in part for part in parts):
        return b""
    return varint_field(
        number, unsigned(choose([signed(number_in(part, number)) for part in parts]))
    )


def _doubles(parts: Sequence[_Message]) -> bytes:
    result = b""
    for number, choose in ((1, min), (2, max), (3, sum)):
        if not all(number in part for part in parts):
            continue
        values = [struct.unpack("<d", as_bytes(part[number]))[0] for part in parts]
        # Nothing can be compared with NaN: a bound of it says nothing. A sum of NaN warns readers.
        if number == 3 or not any(map(math.isnan, values)):
            result += fixed64_field(number, struct.pack("<d", choose(values)))
    return result


def _strings(parts: Sequence[_Message]) -> bytes:
    """Bounds of texts: exact ones (1, 2), or cut ones of long texts (4, 5)."""
    result = b""
    for exact, cut, choose in ((1, 4, min), (2, 5, max)):
        if all(exact in part or cut in part for part in parts):
            ends = [(as_bytes(p.get(exact, p.get(cut, b""))), exact in p) for p in parts]
            end = choose(text for text, _ in ends)
            # A cut bound that equals an exact one is still no value of the column.
            is_exact = all(whole for text, whole in ends if text == end)
            result += bytes_field(exact if is_exact else cut, end)
    return result + _lengths(parts, 3)


def _binaries(parts: Sequence[_Message]) -> bytes:
    return _lengths(parts, 1)


def _lengths(parts: Sequence[_Message], number: int) -> bytes:
    if not all(number in part for part in parts):
        return b""
    return varint_field(number, unsigned(sum(signed(number_in(p, number)) for p in parts)))


def _buckets(parts: Sequence[_Message]) -> bytes:
    counts = [packed_numbers(part.get(1, b"")) for part in parts]
    if any(not each for each in counts):
        return b""
    return packed_field(1, [sum(each) for each in zip(*counts, strict=True)])


def _decimals(parts: Sequence[_Message]) -> bytes:
    result = b""
    for number, choose in ((1, min), (2, max)):
        if all(number in part for part in parts):
            texts = [as_bytes(part[number]).decode() for part in parts]
            result += bytes_field(number, choose(texts, key=Decimal).encode())
    if all(3 in part for part in parts):
        total = reduce(_EXACT.add, [Decimal(as_bytes(part[3]).decode()) for part in parts])
        if len(total.as_tuple().digits) <= DECIMAL_DIGITS_MAX:
            result += bytes_field(3, f"{total:f}".encode())
    return result


def _timestamps(parts: Sequence[_Message]) -> bytes:
    """Bounds in milliseconds: of the wall clock (1, 2), in UTC (3, 4), and nanoseconds (5, 6).

    The nanoseconds are those below the millisecond of 3 and 4, plus one. A bound without them
    stands for the least, or the greatest, within its millisecond.
    """
    result = b"".join(
        _signed_bound(number, parts, choose)
        for number, choose in ((1, min), (2, max), (3, min), (4, max))
    )
    for bound, nanos, choose in ((3, 5, min), (4, 6, max)):
        if all(bound in part for part in parts):
            end = choose(signed(number_in(part, bound)) for part in parts)
            ends = [part for part in parts if signed(number_in(part, bound)) == end]
            if all(nanos in part for part in ends):
                result += varint_field(nanos, choose(number_in(part, nanos) for part in ends))
    return result


def _collections(parts: Sequence[_Message]) -> bytes:
    result = b""
    for number, choose in ((1, min), (2, max), (3, sum)):
        if all(number in part for part in parts):
            result += varint_field(number, choose(number_in(part, number) for part in parts))
    return result


_KINDS: Mapping[int, Callable[[Sequence[_Message]], bytes]] = {
    _INTEGER: _integers,
    _DOUBLE: _doubles,
    _STRING: _strings,
    _BUCKET: _buckets,
    _DECIMAL: _decimals,
    _DATE: _days,
    _BINARY: _binaries,
    _TIMESTAMP: _timestamps,
    _COLLECTION: _collections,
}

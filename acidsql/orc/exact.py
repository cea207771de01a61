"""Read an ORC file's timestamps as EXACT, without pyarrow's loss.

pyarrow is shown a file whose timestamps are called bigint: what it decodes are then the stored
seconds. The nanoseconds stand in a stream of their own, which is decoded here.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.layout.arrow import Array
from acidsql.orc.footer import (
    FOOTER_STATISTICS,
    FOOTER_TYPE,
    JULIAN,
    LONG,
    TIMESTAMP,
    TIMESTAMP_INSTANT,
    TYPE_KIND,
    FileTail,
    encode,
    footer_and_postscript,
)
from acidsql.orc.protobuf import bytes_field, fields
from acidsql.orc.run_length import Unsigned, decode_unsigned
from acidsql.orc.stripe import SECONDARY, StripeFooter, read_section, read_stripe_footer
from acidsql.orc.timestamps import is_fine, restored

_KINDS = (TIMESTAMP, TIMESTAMP_INSTANT)


class ExactFile:
    """A file with timestamps; a stripe comes as pyarrow gives it, but for these."""

    def __init__(self, source: BinaryIO, tail: FileTail) -> None:
        self._source, self._tail = source, tail
        self._file: Any = pa_orc.ORCFile(pa.PythonFile(_SecondsView(source, tail), "r"))

    def read_stripe(self, number: int) -> pa.RecordBatch:
        """One stripe, all columns. ValueError if it is malformed."""
        batch = self._file.read_stripe(number)
        footer = read_stripe_footer(self._source, self._tail, self._tail.stripes[number])
        columns = self._tail.types[0].children
        arrays = [self._restored(a, c, footer) for a, c in zip(batch.columns, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    def _restored(self, array: Array, column: int, footer: StripeFooter) -> Array:
        kind = self._tail.types[column]
        if kind.kind in _KINDS:
            zone = footer.zone if kind.kind == TIMESTAMP else ""
            julian = self._tail.calendar == JULIAN
            nanos = _nanos(self._source, self._tail, column, footer)
            return restored(array, nanos, zone, julian=julian)
        if not any(self._has_timestamps(child) for child in kind.children):
            return array
        mask: Array = array.is_null() if array.null_count else None
        if isinstance(array, pa.StructArray):
            pairs = zip(array.flatten(), kind.children, strict=True)
            children = [self._restored(child, at, footer) for child, at in pairs]
            named = [f.with_type(c.type) for f, c in zip(array.type, children, strict=True)]
            return pa.StructArray.from_arrays(children, fields=named, mask=mask)
        if isinstance(array, pa.MapArray):
            keys, items = (
                self._restored(inner, at, footer)
                for inner, at in zip((array.keys, array.items), kind.children, strict=True)
            )
            maps: Array = pa.MapArray
            typed = pa.map_(keys.type, items.type)
            return maps.from_arrays(array.offsets, keys, items, typed, mask=mask)
        assert isinstance(array, pa.ListArray)
        values = self._restored(array.values, kind.children[0], footer)
        lists: Array = pa.ListArray
        inner = array.type.field(0).with_type(values.type)
        return lists.from_arrays(array.offsets, values, pa.list_(inner), mask=mask)

    def _has_timestamps(self, column: int) -> bool:
        kind = self._tail.types[column]
        return kind.kind in _KINDS or any(map(self._has_timestamps, kind.children))


def has_nanoseconds(source: BinaryIO, tail: FileTail, columns: frozenset[str]) -> bool:
    """Whether a file has timestamps finer than microseconds in these columns of its rows.

    In any column, if one of these is not there.
    """
    if not tail.may_be_fine:
        return False
    row = tail.types[tail.types[0].children[-1] if tail.is_acid else 0]
    children = {n.lower(): c for n, c in zip(row.names, row.children, strict=True)}
    there = columns <= children.keys()
    wanted = {
        inner
        for name, child in children.items()
        if not there or name in columns
        for inner in _inside(tail, child)
    }
    for stripe in tail.stripes:
        footer = read_stripe_footer(source, tail, stripe)
        if any(is_fine(_nanos(source, tail, c, footer)) for c in tail.timestamps if c in wanted):
            return True
    return False


def _inside(tail: FileTail, column: int) -> Iterator[int]:
    yield column
    for child in tail.types[column].children:
        yield from _inside(tail, child)


def _nanos(source: BinaryIO, tail: FileTail, column: int, footer: StripeFooter) -> Unsigned:
    stream = footer.find(SECONDARY, column)
    if stream is None:
        return decode_unsigned(b"").values
    if not footer.is_version_2(column):
        raise ValueError("its numbers are encoded as before Hive 0.12")
    return decode_unsigned(read_section(source, tail, stream.offset, stream.length)).values


class _SecondsView(io.RawIOBase):
    """The file, its timestamps declared as bigint."""

    def __init__(self, source: BinaryIO, tail: FileTail) -> None:
        self._source, self._start = source, tail.footer_start
        self._end = footer_and_postscript(tail, _seconds_footer(tail))
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._start + len(self._end)
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._start + len(self._end) if size < 0 else self._at + size
        data = b""
        if self._at < self._start:
            self._source.seek(self._at)
            data = self._source.read(min(end, self._start) - self._at)
        behind = max(self._at, self._start) - self._start
        data += self._end[behind : max(end - self._start, 0)]
        self._at += len(data)
        return data


def _seconds_footer(tail: FileTail) -> bytes:
    footer = bytearray()
    for number, value in fields(tail.footer):
        if number == FOOTER_TYPE and isinstance(value, bytes):
            parts = fields(value)
            bigint = (encode(n, LONG if n == TYPE_KIND and v in _KINDS else v) for n, v in parts)
            footer += bytes_field(number, b"".join(bigint))
        elif number != FOOTER_STATISTICS:  # those of timestamps are none of a bigint
            footer += encode(number, value)
    return bytes(footer)

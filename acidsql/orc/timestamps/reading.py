"""Read an ORC file whose timestamps and old dates pyarrow reads wrongly or not at all.

For EXACT timestamps pyarrow is shown a file whose timestamps are declared as bigint, so that it
gives the stored seconds. The nanoseconds stand in a stream of their own, which is decoded here.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

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
    read_section,
)
from acidsql.orc.nested import children_of, with_children
from acidsql.orc.protobuf import bytes_field, fields
from acidsql.orc.timestamps.calendar import proleptic
from acidsql.orc.timestamps.run_length import Unsigned, decode_unsigned
from acidsql.orc.timestamps.stored import is_fine, restored
from acidsql.orc.timestamps.stripe import SECONDARY, StripeFooter, read_stripe_footer

_KINDS = (TIMESTAMP, TIMESTAMP_INSTANT)


class MendedFile:
    """An opened ORC file, with the methods of pyarrow's ORCFile.

    Dates are those of the proleptic calendar, whatever the file's calendar is. With ``exact``,
    timestamps of whole stripes are EXACT; otherwise they are pyarrow's nanoseconds, and one outside
    the years 1677 to 2262 is an ArrowInvalid. Damaged bytes raise any exception (`orc.damage`).
    """

    def __init__(self, source: BinaryIO, tail: FileTail, *, exact: bool = False) -> None:
        self._source, self._tail = source, tail
        self._file = _opened(source)
        self._seconds = _opened(_SecondsView(source, tail)) if exact and tail.timestamps else None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema as pyarrow gives it, with timestamps in nanoseconds."""
        schema: pa.Schema = self._file.schema
        return schema

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The whole file as pyarrow reads it: an empty table of a file without stripes."""
        table: pa.Table = self._file.read(columns=None if columns is None else list(columns))
        return table

    def read_stripe(self, number: int, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """One stripe, all columns or those named (``row.a`` for one inside ``row``)."""
        if self._seconds is None or columns is not None:
            names = None if columns is None else list(columns)
            return self._dated(self._file.read_stripe(number, columns=names))
        batch = self._seconds.read_stripe(number)
        footer = read_stripe_footer(self._source, self._tail, self._tail.stripes[number])
        numbers = self._tail.types[0].children
        arrays = [self._exact(a, c, footer) for a, c in zip(batch.columns, numbers, strict=True)]
        return self._dated(pa.RecordBatch.from_arrays(arrays, names=batch.schema.names))

    def has_nanoseconds(self, columns: frozenset[str]) -> bool:
        """Whether timestamps in these columns of the rows are finer than microseconds.

        Where the file lacks one of the columns, all its columns count.
        """
        tail = self._tail
        if not tail.may_be_fine:
            return False
        row = tail.types[tail.types[0].children[-1] if tail.is_acid else 0]
        children = {n.lower(): c for n, c in zip(row.names, row.children, strict=True)}
        there = columns <= children.keys()
        wanted = {
            inner
            for name, child in children.items()
            if not there or name in columns
            for inner in self._inside(child)
        }
        for stripe in tail.stripes:
            footer = read_stripe_footer(self._source, tail, stripe)
            if any(is_fine(self._nanos(c, footer)) for c in tail.timestamps if c in wanted):
                return True
        return False

    def _inside(self, column: int) -> Iterator[int]:
        yield column
        for child in self._tail.types[column].children:
            yield from self._inside(child)

    def _dated(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._tail.calendar != JULIAN:
            return batch
        return pa.RecordBatch.from_arrays(
            [proleptic(column) for column in batch.columns], schema=batch.schema
        )

    def _exact(self, array: Array, column: int, footer: StripeFooter) -> Array:
        """The array of a column with its stored seconds made EXACT timestamps."""
        kind = self._tail.types[column]
        if kind.kind in _KINDS:
            zone = footer.zone if kind.kind == TIMESTAMP else ""
            julian = self._tail.calendar == JULIAN
            return restored(array, self._nanos(column, footer), zone, julian=julian)
        if not any(self._has_timestamps(child) for child in kind.children):
            return array
        pairs = zip(children_of(array), kind.children, strict=True)
        return with_children(array, [self._exact(child, at, footer) for child, at in pairs])

    def _has_timestamps(self, column: int) -> bool:
        kind = self._tail.types[column]
        return kind.kind in _KINDS or any(map(self._has_timestamps, kind.children))

    def _nanos(self, column: int, footer: StripeFooter) -> Unsigned:
        """The encoded nanoseconds of a column in one stripe."""
        stream = footer.find(SECONDARY, column)
        if stream is None:
            return decode_unsigned(b"").values
        if not footer.is_version_2(column):
            raise ValueError("the nanoseconds of a column are encoded as before Hive 0.12")
        section = read_section(self._source, self._tail, stream.offset, stream.length)
        return decode_unsigned(section).values


def _opened(source: BinaryIO | io.RawIOBase) -> Any:
    return pa_orc.ORCFile(pa.PythonFile(cast("Any", source), "r"))


class _SecondsView(io.RawIOBase):
    """The file with its timestamps declared as bigint."""

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
    """The footer with every timestamp type replaced by bigint, and without statistics."""
    footer = bytearray()
    for number, value in fields(tail.footer):
        if number == FOOTER_TYPE and isinstance(value, bytes):
            parts = fields(value)
            bigint = (encode(n, LONG if n == TYPE_KIND and v in _KINDS else v) for n, v in parts)
            footer += bytes_field(number, b"".join(bigint))
        elif number != FOOTER_STATISTICS:  # a bigint has no statistics of timestamps
            footer += encode(number, value)
    return bytes(footer)

"""Read an ORC file whose timestamps and old dates pyarrow reads wrongly or not at all.

For EXACT timestamps pyarrow is shown a file whose timestamps are declared as bigint, so that it
gives the stored seconds. The nanoseconds stand in a stream of their own, which is decoded here.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.errors import DependencyError
from acidsql.layout.arrow import Array
from acidsql.orc.calendar import proleptic
from acidsql.orc.footer import (
    FOOTER_ROWS,
    FOOTER_STATISTICS,
    FOOTER_STRIPE,
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
    stripe_message,
    with_root_names,
)
from acidsql.orc.nested import children_of, with_children
from acidsql.orc.protobuf import bytes_field, fields, varint_field
from acidsql.orc.run_length import Unsigned, decode_unsigned
from acidsql.orc.stripe import SECONDARY, StripeFooter, read_stripe_footer
from acidsql.orc.timestamps.stored import is_fine, restored

_KINDS = (TIMESTAMP, TIMESTAMP_INSTANT)
_OLDEST = 25
"""The first pyarrow that refuses a timestamp which it cannot read (apache/arrow#50078)."""


class MendedFile:
    """An opened ORC file, with the methods of pyarrow's ORCFile.

    Dates are those of the proleptic calendar, whatever the file's calendar is. With ``exact``,
    timestamps of whole stripes are EXACT; otherwise they are pyarrow's nanoseconds, and one outside
    the years 1677 to 2262 is an ArrowInvalid. Damaged bytes raise any exception (`orc.damage`).
    DependencyError for a pyarrow that would give wrong values.
    """

    def __init__(self, source: BinaryIO, tail: FileTail, *, exact: bool = False) -> None:
        self._source, self._tail = source, tail
        self._file = _opened(_View(source, tail) if tail.by_query else source)
        self._seconds = (
            _opened(_View(source, tail, in_seconds=True)) if exact and tail.timestamps else None
        )

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
        return self._restored(self._seconds.read_stripe(number), self._stripe_nanos(number))

    def read_batches(
        self, number: int, rows: int, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """One stripe, ``rows`` rows at a time. Columns that are named are not EXACT.

        pyarrow's ORCFile has only whole stripes. Its datasets read in batches, in half of the time
        and with a fraction of the memory, but whole files: they are shown a file of one stripe.
        """
        # Imported here: few statements need it, and it takes a tenth of a second.
        import pyarrow.dataset as pa_dataset  # noqa: PLC0415

        is_exact = self._seconds is not None and columns is None
        view = _View(self._source, self._tail, stripe=number, in_seconds=is_exact)
        stream: Any = pa.PythonFile(cast("Any", view), "r")
        # Before the first batch: a thread of pyarrow reads ahead, and two threads would move the
        # source's position under each other.
        nanos = self._stripe_nanos(number) if is_exact else None
        fragment = pa_dataset.OrcFileFormat().make_fragment(stream)
        every = self.schema.names
        names = every if columns is None else list(columns)
        batches = fragment.to_batches(
            columns=[str(every.index(name)) for name in names],
            batch_size=rows,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        )
        for batch in batches:
            read = self._dated(batch) if nanos is None else self._restored(batch, nanos)
            yield pa.RecordBatch.from_arrays(read.columns, names=names)

    def _restored(self, batch: pa.RecordBatch, nanos: _StripeNanos) -> pa.RecordBatch:
        """The next rows of a stripe, read as seconds, with EXACT timestamps."""
        numbers = self._tail.types[0].children
        arrays = [self._exact(a, c, nanos) for a, c in zip(batch.columns, numbers, strict=True)]
        return self._dated(pa.RecordBatch.from_arrays(arrays, names=batch.schema.names))

    def _stripe_nanos(self, number: int) -> _StripeNanos:
        """The nanoseconds of a stripe, read now; of no column if timestamps are not EXACT."""
        footer = read_stripe_footer(self._source, self._tail, self._tail.stripes[number])
        columns = () if self._seconds is None else self._tail.timestamps
        return _StripeNanos(footer.zone, {c: self._nanos(c, footer) for c in columns})

    def has_nanoseconds(self, columns: frozenset[str]) -> bool:
        """Whether timestamps in these columns of the rows are finer than microseconds.

        The names are in lower case.
        """
        tail = self._tail
        if not tail.may_be_fine:
            return False
        row = tail.types[tail.types[0].children[-1] if tail.is_acid else 0]
        children = {n.lower(): c for n, c in zip(row.names, row.children, strict=True)}
        wanted = {
            inner
            for name, child in children.items()
            if name in columns
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

    def _exact(self, array: Array, column: int, nanos: _StripeNanos) -> Array:
        """The array of a column with its stored seconds made EXACT timestamps."""
        kind = self._tail.types[column]
        if kind.kind in _KINDS:
            zone = nanos.zone if kind.kind == TIMESTAMP else ""
            julian = self._tail.calendar == JULIAN
            taken = nanos.take(column, len(array) - array.null_count)
            return restored(array, taken, zone, julian=julian)
        if not any(self._has_timestamps(child) for child in kind.children):
            return array
        pairs = zip(children_of(array), kind.children, strict=True)
        return with_children(array, [self._exact(child, at, nanos) for child, at in pairs])

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


class _StripeNanos:
    """The encoded nanoseconds of the timestamps of one stripe, taken column by column."""

    def __init__(self, zone: str, nanos: Mapping[int, Unsigned]) -> None:
        self.zone = zone
        self._left = dict(nanos)

    def take(self, column: int, count: int) -> Unsigned:
        """Those of the column's next ``count`` values, nulls not counted, as far as they go."""
        left = self._left[column]
        self._left[column] = left[count:]
        return left[:count]


def _opened(source: BinaryIO | io.RawIOBase) -> Any:
    if int(pa.__version__.partition(".")[0]) < _OLDEST:
        raise DependencyError(
            f"pyarrow {pa.__version__} gives wrong values for timestamps before 1677 or after 2262",
            hint=f"Install a newer one: pip install 'pyarrow>={_OLDEST}'.",
        )
    return pa_orc.ORCFile(pa.PythonFile(cast("Any", source), "r"))


class _View(io.RawIOBase):
    """The file with another tail: with other names, of one stripe, or with timestamps as bigint.

    The names are those of the FileTail, which a file by a query does not have.
    """

    def __init__(
        self,
        source: BinaryIO,
        tail: FileTail,
        *,
        stripe: int | None = None,
        in_seconds: bool = False,
    ) -> None:
        self._source, self._start = source, tail.footer_start
        footer = _seconds_footer(tail.footer) if in_seconds else tail.footer
        if stripe is None:
            self._end = footer_and_postscript(tail, footer)
        else:
            # The statistics of the other stripes are left where they are, but not pointed to.
            self._end = footer_and_postscript(tail, _stripe_footer(footer, tail, stripe), 0)
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


def _seconds_footer(message: bytes) -> bytes:
    """The footer with every timestamp type replaced by bigint, and without statistics."""
    footer = bytearray()
    for number, value in fields(message):
        if number == FOOTER_TYPE and isinstance(value, bytes):
            parts = fields(value)
            bigint = (encode(n, LONG if n == TYPE_KIND and v in _KINDS else v) for n, v in parts)
            footer += bytes_field(number, b"".join(bigint))
        elif number != FOOTER_STATISTICS:  # a bigint has no statistics of timestamps
            footer += encode(number, value)
    return bytes(footer)


def _stripe_footer(message: bytes, tail: FileTail, stripe: int) -> bytes:
    """The footer with one of its stripes alone, without statistics, and with numbers for names.

    pyarrow's datasets look for the columns of a file by their names. They take ``a.b`` for a part
    of ``a``, and ``__filename`` is a name of their own.
    """
    left_out = (FOOTER_STRIPE, FOOTER_ROWS, FOOTER_STATISTICS)
    numbered = with_root_names(message, map(str, count()))
    kept = b"".join(encode(n, value) for n, value in fields(numbered) if n not in left_out)
    only = tail.stripes[stripe]
    rows = varint_field(FOOTER_ROWS, only.rows)
    return kept + bytes_field(FOOTER_STRIPE, stripe_message(only)) + rows

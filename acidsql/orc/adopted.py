"""What to change in stripes that another ORC writer has encoded, so that they may be copied.

Java's and C++'s writers encode values alike (ORC specification). Only a column of dates needs a
change. Spark writes dates in the hybrid calendar, and changes those that it lacks. So Spark is
given the days since 1970 as integers, which are encoded as dates are. The index and the statistics
of such a column say that it has integers. Here they become those of a column of dates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from io import BytesIO
from typing import BinaryIO

from acidsql.errors import CorruptFileError
from acidsql.model.table import Column
from acidsql.orc.footer import DATE, INT, FileTail, encode, original_section, read_section
from acidsql.orc.protobuf import as_bytes, bytes_field, fields
from acidsql.orc.rewrite import Change, NewStream, StripeParts
from acidsql.orc.schema import row_schema
from acidsql.orc.sink import OrcSink
from acidsql.orc.stripe import INDEX_STATISTICS, ROW_INDEX, Stream
from acidsql.orc.writer import CODECS

_INTEGER_STATISTICS, _DATE_STATISTICS = 2, 7
_SUM = 3
"""The sum of a column of integers. One of dates has none."""


class Days(Change):
    """Makes columns of dates of columns of integers, which are given by their numbers."""

    def __init__(self, columns: Collection[int]) -> None:
        self._columns = columns

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        def index(stream: Stream | NewStream) -> Stream | NewStream:
            if not (
                isinstance(stream, Stream)
                and stream.kind == ROW_INDEX
                and stream.column in self._columns
            ):
                return stream
            message = read_section(source, tail, stream.offset, stream.length)
            return NewStream(ROW_INDEX, stream.column, original_section(_index(message), tail))

        statistics = enumerate(parts.statistics)
        return replace(
            parts,
            streams=tuple(map(index, parts.streams)),
            statistics=tuple(_dates(s) if n in self._columns else s for n, s in statistics),
        )


def model_file(columns: Sequence[Column], codec: str) -> bytes:
    """A file of no rows, as pyarrow writes it: what its tail says, files of its form say, too."""
    file = BytesIO()
    sink = OrcSink(file, compression=CODECS[codec])
    sink.write(row_schema(columns).empty_table())
    sink.close()
    return file.getvalue()


def days_columns(tail: FileTail, model: FileTail, path: str) -> frozenset[int]:
    """The columns of a file with integers where the model has dates.

    CorruptFileError unless the file is else as one of the model's form: with the same types, and
    compressed so that a reader of such a file can read it.
    """
    found, wanted = tail.types, model.types
    pairs = list(zip(found, wanted, strict=False))
    days = {n for n, (is_, want) in enumerate(pairs) if (is_.kind, want.kind) == (INT, DATE)}
    alike = len(found) == len(wanted) and all(
        replace(is_, names=want.names, kind=want.kind) == want
        and (is_.kind == want.kind or n in days)
        for n, (is_, want) in enumerate(pairs)
    )
    same_form = (tail.compression, tail.row_index_stride) == (
        model.compression,
        model.row_index_stride,
    )
    too_large = tail.compression != "none" and tail.block_size > model.block_size
    if not alike or not same_form or too_large:
        raise CorruptFileError(
            f'file "{path}" is not what Spark was asked to write',
            detail="Its types or its compression are others.",
            hint="Look for settings of ORC, such as orc.compress.size, in Spark's configuration.",
        )
    return frozenset(days)


def _index(message: bytes) -> bytes:
    """The row index of a column of dates, made of one of integers."""
    return b"".join(bytes_field(n, _entry(as_bytes(value))) for n, value in fields(message))


def _entry(message: bytes) -> bytes:
    return b"".join(
        bytes_field(n, _dates(as_bytes(v))) if n == INDEX_STATISTICS else encode(n, v)
        for n, v in fields(message)
    )


def _dates(statistics: bytes) -> bytes:
    """The ColumnStatistics of dates, made of those of integers. The bounds are encoded alike."""
    result = b""
    for number, value in fields(statistics):
        if number == _INTEGER_STATISTICS:
            bounds = (encode(n, v) for n, v in fields(as_bytes(value)) if n != _SUM)
            result += bytes_field(_DATE_STATISTICS, b"".join(bounds))
        else:
            result += encode(number, value)
    return result

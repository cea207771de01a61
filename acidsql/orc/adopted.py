"""What to change in stripes that another ORC writer has encoded, so that they may be copied.

Java's and C++'s writers encode values alike (ORC specification). Only what the index and the
statistics say of them needs a change:

- Spark writes dates in the hybrid calendar, and changes those that it lacks. So Spark is given the
  days since 1970 as integers, which are encoded as dates are. What is said of such integers becomes
  what is said of dates.
- Java cannot say a bound that is not valid UTF-8, nor, for long texts, what comes after the last
  character of Unicode. It says another bound, which would have readers skip rows.
- Java rounds a sum of decimals of more than 38 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import BinaryIO

from acidsql.errors import CorruptFileError
from acidsql.model.table import Column
from acidsql.orc.footer import (
    DATE,
    DECIMAL,
    INT,
    STRING,
    FileTail,
    OrcType,
    encode,
    original_section,
    read_section,
)
from acidsql.orc.protobuf import as_bytes, bytes_field, fields
from acidsql.orc.rewrite import Change, NewStream, StripeParts
from acidsql.orc.schema import file_schema
from acidsql.orc.sink import OrcSink
from acidsql.orc.stripe import INDEX_STATISTICS, ROW_INDEX, Stream
from acidsql.orc.writer import orc_codec

_INTEGER_STATISTICS, _STRING_STATISTICS, _DECIMAL_STATISTICS, _DATE_STATISTICS = 2, 4, 6, 7
_SUM = 3
"""The sum of a column of integers or decimals. One of dates has none."""

_REPLACEMENT = "\ufffd".encode()
"""What Java puts for bytes that are no character of UTF-8."""

Corrections = Mapping[int, Callable[[bytes], bytes]]
"""The numbers of columns, and what makes right ColumnStatistics of those of the other writer."""


class Adopted(Change):
    """Corrects the index and the statistics of columns, which are given by their numbers."""

    def __init__(self, corrections: Corrections) -> None:
        self._corrections = corrections

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        def index(stream: Stream | NewStream) -> Stream | NewStream:
            correct = self._corrections.get(stream.column)
            if correct is None or not isinstance(stream, Stream) or stream.kind != ROW_INDEX:
                return stream
            message = read_section(source, tail, stream.offset, stream.length)
            data = original_section(_index(message, correct), tail)
            return NewStream(ROW_INDEX, stream.column, data)

        statistics = list(parts.statistics)
        for column, correct in self._corrections.items():
            statistics[column] = correct(statistics[column])
        streams = tuple(map(index, parts.streams))
        return replace(parts, streams=streams, statistics=tuple(statistics))


class FirstColumns(Change):
    """Leaves out the columns behind so many of a file's, its root included."""

    def __init__(self, count: int) -> None:
        self._count = count

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        return replace(
            parts,
            streams=tuple(stream for stream in parts.streams if stream.column < self._count),
            encodings=parts.encodings[: self._count],
            statistics=parts.statistics[: self._count],
        )


def model_file(columns: Sequence[Column], codec: str) -> bytes:
    """A file of no rows, as pyarrow writes it: what its tail says, files of its form say, too.

    ConfigError for a codec that pyarrow does not have.
    """
    file = BytesIO()
    sink = OrcSink(file, compression=orc_codec(codec))
    sink.write(file_schema(columns).empty_table())
    sink.close()
    return file.getvalue()


def corrections(tail: FileTail, model: FileTail, path: str, others: int = 0) -> Corrections:
    """What to correct in a file that has integers where the model has dates.

    The file has so many ``others`` columns behind those of the model.
    CorruptFileError if other types differ, or if the file is compressed in a way that a reader of
    the model's form would not understand.
    """
    found, wanted = _without(tail.types, others), model.types
    pairs = list(zip(found, wanted, strict=False))
    alike = len(found) == len(wanted) and all(
        replace(is_, names=want.names, kind=want.kind) == want
        and (is_.kind == want.kind or (is_.kind, want.kind) == (INT, DATE))
        for is_, want in pairs
    )
    same_form = (tail.compression, tail.row_index_stride) == (
        model.compression,
        model.row_index_stride,
    )
    too_large = tail.compression != "none" and tail.block_size > model.block_size
    if not alike or not same_form or too_large:
        raise CorruptFileError(
            f'file "{path}" is not what Spark was asked to write',
            detail="Its types, its compression or the stride of its index are others.",
            hint="Look for settings of ORC, such as orc.compress.size, in Spark's configuration.",
        )
    kinds = ((number, (is_.kind, want.kind)) for number, (is_, want) in enumerate(pairs))
    return {number: _CORRECTIONS[kind] for number, kind in kinds if kind in _CORRECTIONS}


def _without(types: Sequence[OrcType], others: int) -> Sequence[OrcType]:
    """The types of a file without the last columns, whose types have no children."""
    if not others:
        return types
    root, *columns = types[:-others]
    return [replace(root, children=root.children[:-others]), *columns]


def _index(message: bytes, correct: Callable[[bytes], bytes]) -> bytes:
    """The row index of a column with correct statistics."""
    entries = ((number, _entry(as_bytes(value), correct)) for number, value in fields(message))
    return b"".join(bytes_field(number, entry) for number, entry in entries)


def _entry(message: bytes, correct: Callable[[bytes], bytes]) -> bytes:
    return b"".join(
        bytes_field(n, correct(as_bytes(v))) if n == INDEX_STATISTICS else encode(n, v)
        for n, v in fields(message)
    )


def _dates(statistics: bytes) -> bytes:
    """The ColumnStatistics of dates, made of those of integers. The bounds are encoded alike."""
    return _without_sum(statistics, _INTEGER_STATISTICS, _DATE_STATISTICS)


def _decimals(statistics: bytes) -> bytes:
    return _without_sum(statistics, _DECIMAL_STATISTICS, _DECIMAL_STATISTICS)


def _without_sum(statistics: bytes, old: int, new: int) -> bytes:
    """ColumnStatistics whose bounds move from one field to another, and whose sum is left out."""
    result = b""
    for number, value in fields(statistics):
        if number == old:
            bounds = (encode(n, v) for n, v in fields(as_bytes(value)) if n != _SUM)
            result += bytes_field(new, b"".join(bounds))
        else:
            result += encode(number, value)
    return result


def _texts(statistics: bytes) -> bytes:
    """ColumnStatistics of texts, which say nothing of the texts if a bound may not be true.

    With the lengths alone, Java's reader would take all texts for null.
    """
    if _REPLACEMENT not in statistics:
        return statistics
    others = (field for field in fields(statistics) if field[0] != _STRING_STATISTICS)
    return b"".join(encode(*field) for field in others)


_CORRECTIONS = {
    (INT, DATE): _dates,
    (STRING, STRING): _texts,
    (DECIMAL, DECIMAL): _decimals,
}
"""By the kind that a column has in the file, and the kind that it has in the model."""

"""A copy of files of rows, with streams replaced or added.

Each `Change` says which streams. All other streams are copied byte for byte. Each stripe is read
and written once, however many changes there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Protocol

from acidsql.orc.footer import (
    FOOTER_CALENDAR,
    FOOTER_TYPE,
    MAGIC,
    PROLEPTIC,
    FileTail,
    Stripe,
    encode,
    original_section,
    pieces,
)
from acidsql.orc.new_tail import NewTail, stripe_statistics
from acidsql.orc.protobuf import as_bytes, bytes_field, fields, varint_field
from acidsql.orc.stripe import ENCODING, STREAM, Stream, is_index, read_stripe_footer


@dataclass(frozen=True, slots=True)
class NewStream:
    """A stream to be written, as bytes in the file's compression."""

    kind: int
    column: int
    data: bytes

    @property
    def length(self) -> int:
        return len(self.data)

    def of_column(self, column: int) -> NewStream:
        """The same bytes as a stream of another column."""
        return NewStream(self.kind, column, self.data)


@dataclass(frozen=True, slots=True)
class StripeParts:
    """A stripe to be written: its streams in their order, each new or copied from the old file.

    ``encodings`` and ``statistics`` are messages, one for each column. ``others`` are the other
    fields of the stripe's footer.
    """

    rows: int
    streams: tuple[Stream | NewStream, ...]
    encodings: tuple[bytes, ...]
    statistics: tuple[bytes, ...]
    others: bytes

    @property
    def footer(self) -> bytes:
        """The message of the stripe's footer."""
        result = bytearray()
        for stream in self.streams:
            kind, column = varint_field(1, stream.kind), varint_field(2, stream.column)
            result += bytes_field(STREAM, kind + column + varint_field(3, stream.length))
        for encoding in self.encodings:
            result += bytes_field(ENCODING, encoding)
        return bytes(result) + self.others


class Change(Protocol):
    """One change of a file. `stripe` is called for each stripe, in the order of the file."""

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        """The parts of the new stripe. ``source`` is the old file, and ``tail`` is its tail."""
        ...

    def types(self, types: Sequence[bytes]) -> Sequence[bytes]:
        """The messages of the file's types."""
        return types


def rewrite(
    files: Sequence[tuple[BinaryIO, FileTail]],
    target: BinaryIO,
    changes: Sequence[Change],
    metadata: Mapping[str, str],
) -> None:
    """Write one file of these files, with changes and user metadata, to ``target``, which is empty.

    The files have one form (`stripe_copy.Form`). OSError if the disk refuses, ValueError or
    CorruptFileError for a file that is not whole.
    """
    written = RewrittenFile(target, files[0][1], changes)
    for source, tail in files:
        for stripe, statistics in zip(tail.stripes, stripe_statistics(source, tail), strict=True):
            written.add(source, tail, stripe, statistics, changes)
    written.finish(metadata)


class RewrittenFile:
    """A file that is written to ``target``, which is empty, stripe by stripe.

    ``model`` is the tail of a file. The new file has its form, but for the types, which are those
    that ``changes`` make of the model's, and the calendar, which is that of pyarrow.
    """

    def __init__(self, target: BinaryIO, model: FileTail, changes: Sequence[Change] = ()) -> None:
        self._target = target
        self._tail = NewTail(_model(model, changes))
        target.write(MAGIC)

    def add(
        self,
        source: BinaryIO,
        tail: FileTail,
        stripe: Stripe,
        statistics: Sequence[bytes],
        changes: Sequence[Change] = (),
    ) -> None:
        """Write a stripe of another file with these changes.

        ``statistics`` are those of the stripe's columns. OSError and ValueError as from `rewrite`.
        """
        old = read_stripe_footer(source, tail, stripe)
        parts = StripeParts(stripe.rows, old.streams, old.encodings, tuple(statistics), old.others)
        for change in changes:
            parts = change.stripe(parts, source, tail)
        self._tail.add(_written(parts, source, self._target, tail), parts.statistics)

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write the tail, with user metadata."""
        # The length that pyarrow would note: that of the stripes, without the magic before them.
        length = self._target.tell() - len(MAGIC)
        self._target.write(self._tail.encode(length, metadata))


def _written(parts: StripeParts, source: BinaryIO, target: BinaryIO, tail: FileTail) -> Stripe:
    """Write the stripe. Its entry for the footer of the file."""
    offset = target.tell()
    for stream in parts.streams:
        for piece in _bytes_of(stream, source):
            target.write(piece)
    footer = original_section(parts.footer, tail)
    target.write(footer)
    index_length = sum(stream.length for stream in parts.streams if is_index(stream.kind))
    data_length = sum(stream.length for stream in parts.streams) - index_length
    return Stripe(offset, index_length, data_length, len(footer), parts.rows)


def _bytes_of(stream: Stream | NewStream, source: BinaryIO) -> Iterator[bytes]:
    if isinstance(stream, NewStream):
        return iter((stream.data,))
    return pieces(source, stream.offset, stream.length)


def _model(tail: FileTail, changes: Sequence[Change]) -> FileTail:
    """The old file's tail, with the types of the new file and the calendar that pyarrow uses."""
    footer = list(fields(tail.footer))
    types: Sequence[bytes] = [as_bytes(value) for number, value in footer if number == FOOTER_TYPE]
    for change in changes:
        types = change.types(types)
    message = b"".join(bytes_field(FOOTER_TYPE, each) for each in types)
    others = (field for field in footer if field[0] not in (FOOTER_TYPE, FOOTER_CALENDAR))
    message += b"".join(encode(*field) for field in others)
    message += varint_field(FOOTER_CALENDAR, PROLEPTIC)
    return replace(tail, footer=message)

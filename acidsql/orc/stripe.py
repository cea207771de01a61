"""Stripes of an ORC file as streams of bytes (ORC specification, Stripes)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from acidsql.orc.chunks import CHUNK_HEADER, decompress_section
from acidsql.orc.footer import FileTail, Stripe, encode, read_section
from acidsql.orc.protobuf import as_bytes, bytes_field, fields, number_in

SECONDARY, ROW_INDEX = 5, 6
"""Kinds of streams: SECONDARY has a timestamp's nanoseconds, ROW_INDEX where each group of rows
starts in the other streams."""

_INDEX_KINDS = frozenset({ROW_INDEX, 7, 8})
_STREAM, _ENCODING, _ZONE = 1, 2, 3
_DIRECT_V2 = 2


@dataclass(frozen=True, slots=True)
class Stream:
    """Where one stream of a column stands in the file, in bytes."""

    kind: int
    column: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class StripeFooter:
    """The streams of a stripe in their order, and the time zone of the writer."""

    streams: tuple[Stream, ...]
    encodings: tuple[int, ...]
    zone: str
    message: bytes

    def find(self, kind: int, column: int) -> Stream | None:
        """A column's stream of one kind, or None."""
        return next((s for s in self.streams if (s.kind, s.column) == (kind, column)), None)

    def is_version_2(self, column: int) -> bool:
        """Whether the column's numbers are in the second version of run length encoding."""
        return self.encodings[column] == _DIRECT_V2


def read_stripe_footer(source: BinaryIO, tail: FileTail, stripe: Stripe) -> StripeFooter:
    """The footer of a stripe. ValueError if it is malformed."""
    at = stripe.offset + stripe.index_length + stripe.data_length
    message = read_section(source, tail, at, stripe.footer_length)
    streams, encodings, zone = [], [], ""
    offset = stripe.offset
    for number, found in fields(message):
        value = as_bytes(found)
        if number == _STREAM:
            parts = dict(fields(value))
            kind, column, length = (number_in(parts, n) for n in (1, 2, 3))
            streams.append(Stream(kind, column, offset, length))
            offset += length
        elif number == _ENCODING:
            encodings.append(number_in(dict(fields(value)), 1))
        elif number == _ZONE:
            zone = value.decode()
    if offset > at:
        raise ValueError("the streams of a stripe are longer than the stripe")
    return StripeFooter(tuple(streams), tuple(encodings), zone, message)


def chunk_starts(section: bytes, compression: str, block_size: int) -> dict[int, int]:
    """How many decompressed bytes come before each chunk, by where the chunk starts.

    The end of the section counts as the start of one more chunk.
    """
    starts = {0: 0}
    at = before = 0
    while at < len(section):
        size = int.from_bytes(section[at : at + CHUNK_HEADER], "little") >> 1
        chunk = section[at : at + CHUNK_HEADER + size]
        at += len(chunk)
        before += len(decompress_section(chunk, compression, block_size))
        starts[at] = before
    return starts


def with_streams(footer: StripeFooter, lengths: Mapping[tuple[int, int], int]) -> bytes:
    """The footer's message with other lengths for some streams, given by kind and column."""
    streams = iter(footer.streams)
    result = bytearray()
    for number, value in fields(footer.message):
        assert isinstance(value, bytes)
        if number == _STREAM:
            stream = next(streams)
            length = lengths.get((stream.kind, stream.column), stream.length)
            parts = (encode(n, length if n == 3 else v) for n, v in fields(value))
            result += bytes_field(_STREAM, b"".join(parts))
        else:
            result += bytes_field(number, value)
    return bytes(result)


def is_index(stream: Stream) -> bool:
    """Whether the stream belongs to the index, which stands before the data."""
    return stream.kind in _INDEX_KINDS

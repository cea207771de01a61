"""Stripes of an ORC file as streams of bytes (ORC specification, Stripes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from acidsql.orc.chunks import CHUNK_HEADER, decompress_section
from acidsql.orc.footer import FileTail, Stripe, read_section
from acidsql.orc.protobuf import as_bytes, bytes_field, fields, number_in

PRESENT, DATA, SECONDARY, ROW_INDEX = 0, 1, 5, 6
"""Kinds of streams: PRESENT says which values are there, DATA has a column's values, SECONDARY a
timestamp's nanoseconds, ROW_INDEX where each group of rows starts in the other streams."""
INDEX_ENTRY = POSITIONS = 1
"""Fields of a ROW_INDEX and of its entries; an entry has the statistics of its group, too."""
INDEX_STATISTICS = 2
STREAM, ENCODING, _ZONE = 1, 2, 3
"""Fields of a stripe's footer."""
DIRECT_V2 = 2
"""The encoding of numbers by the second version of run length encoding."""

_INDEX_KINDS = frozenset({ROW_INDEX, 7, 8})


@dataclass(frozen=True, slots=True)
class Stream:
    """Where one stream of a column stands in the file, in bytes."""

    kind: int
    column: int
    offset: int
    length: int

    def of_column(self, column: int) -> Stream:
        """The same bytes as a stream of another column."""
        return Stream(self.kind, column, self.offset, self.length)


@dataclass(frozen=True, slots=True)
class StripeFooter:
    """The streams of a stripe in their order, and the time zone of the writer.

    ``encodings`` are messages, one for each column. ``others`` are all fields but streams and
    encodings, as they stand in the footer.
    """

    streams: tuple[Stream, ...]
    encodings: tuple[bytes, ...]
    zone: str
    others: bytes

    def find(self, kind: int, column: int) -> Stream | None:
        """A column's stream of one kind, or None."""
        return next((s for s in self.streams if (s.kind, s.column) == (kind, column)), None)

    def contradiction(self, stripe: Stripe) -> str | None:
        """Why streams may not stand where readers look for them, or None.

        Java's reader looks for the data behind all streams of the index, pyarrow behind all streams
        that stand before it in the footer.
        """
        index = sum(s.length for s in self.streams if is_index(s.kind))
        data = sum(s.length for s in self.streams) - index
        if index != stripe.index_length:
            return f"the streams of the index have {index} bytes, not {stripe.index_length}"
        if data != stripe.data_length:
            return f"the streams of the data have {data} bytes, not {stripe.data_length}"
        return None

    def is_version_2(self, column: int) -> bool:
        """Whether the column's numbers are in the second version of run length encoding."""
        return number_in(dict(fields(self.encodings[column])), 1) == DIRECT_V2


def read_stripe_footer(source: BinaryIO, tail: FileTail, stripe: Stripe) -> StripeFooter:
    """The footer of a stripe. ValueError if it is malformed."""
    at = stripe.offset + stripe.index_length + stripe.data_length
    message = read_section(source, tail, at, stripe.footer_length)
    streams, encodings, zone, others = [], [], "", b""
    offset = stripe.offset
    for number, found in fields(message):
        value = as_bytes(found)
        if number == STREAM:
            parts = dict(fields(value))
            kind, column, length = number_in(parts, 1), number_in(parts, 2), number_in(parts, 3)
            streams.append(Stream(kind, column, offset, length))
            offset += length
        elif number == ENCODING:
            encodings.append(value)
        else:
            others += bytes_field(number, value)
            zone = value.decode() if number == _ZONE else zone
    if offset > at:
        raise ValueError("the streams of a stripe are longer than the stripe")
    return StripeFooter(tuple(streams), tuple(encodings), zone, others)


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


def is_index(kind: int) -> bool:
    """Whether streams of this kind belong to the index, which stands before the data."""
    return kind in _INDEX_KINDS

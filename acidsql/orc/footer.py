"""The tail of an ORC file: read it, and append what pyarrow cannot write.

A file consists of stripes, stripe statistics, footer, postscript, and one byte with the
postscript's length (ORC specification, File Tail). pyarrow writes no user metadata and names no
calendar. Both can be added behind a finished footer, because protobuf messages may be concatenated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import BinaryIO

from acidsql.orc.chunks import (
    CHUNK_HEADER,
    COMPRESSIONS,
    compressed_chunks,
    decompress_section,
    original_chunks,
)
from acidsql.orc.damage import NOT_WHOLE, naming, open_local
from acidsql.orc.protobuf import (
    as_bytes,
    bytes_field,
    fields,
    number_in,
    packed_numbers,
    varint_field,
)
from acidsql.orc.schema import EVENT_COLUMNS

KEY_INDEX = "hive.acid.key.index"
STATS = "hive.acid.stats"
ACID_VERSION = "hive.acid.version"
NANOSECONDS = "acidsql.nanoseconds"
"""acidsql's own key, in files it wrote with timestamps finer than microseconds."""

JULIAN = 1
"""The calendar in a footer that Hive 4 writes: hybrid Julian and Gregorian."""
PROLEPTIC = 2
"""The calendar in which pyarrow counts days, proleptic Gregorian; it does not say so in footers."""
SWITCH_DAY = -141427
"""1582-10-15 in days since 1970: the first day that both calendars count alike."""
SKIPPED_DAYS = 10
"""The days before it that only the proleptic calendar has: 1582-10-05 to 1582-10-14."""

MAGIC = b"ORC"
"""The first bytes of an ORC file; a postscript ends with them, too."""
_TAIL_GUESS = 16 * 1024
_DEFAULT_BLOCK_SIZE = 256 * 1024
_LARGEST_CHUNK = 2**23 - 1
_PIECE = 8 << 20

_POSTSCRIPT_FOOTER, _POSTSCRIPT_COMPRESSION, _POSTSCRIPT_BLOCK, _POSTSCRIPT_METADATA = 1, 2, 3, 5
_POSTSCRIPT_MAGIC = 8000
FOOTER_CONTENT_LENGTH, FOOTER_STRIPE, FOOTER_TYPE, FOOTER_METADATA, FOOTER_ROWS = 2, 3, 4, 5, 6
FOOTER_STATISTICS, FOOTER_STRIDE, FOOTER_WRITER, FOOTER_CALENDAR = 7, 8, 9, 11
_WRITER_CPP = 1
TYPE_KIND, TYPE_CHILDREN, TYPE_NAME = 1, 2, 3
_TYPE_LENGTH, _TYPE_PRECISION, _TYPE_SCALE = 4, 5, 6

INT, LONG, STRING, TIMESTAMP, STRUCT, DECIMAL, DATE, TIMESTAMP_INSTANT = 3, 4, 7, 9, 12, 14, 15, 18
"""Kinds of types (Type.Kind of orc_proto.proto)."""
_EVENT_KINDS = (INT, LONG, INT, LONG, LONG, STRUCT)
_SMALL_EVENT_COLUMNS = tuple(name.lower() for name in EVENT_COLUMNS)


@dataclass(frozen=True, slots=True)
class Stripe:
    """Where a stripe stands in the file, the lengths of its parts in bytes, and its rows."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int

    @property
    def length(self) -> int:
        """The bytes of all three parts."""
        return self.index_length + self.data_length + self.footer_length


@dataclass(frozen=True, slots=True)
class OrcType:
    """One of the types of a file. A file lists its types in pre-order.

    ``children`` are indexes into that list. ``length`` is that of a char or varchar, ``precision``
    and ``scale`` are a decimal's. They are 0 where the file does not say.
    """

    kind: int
    children: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    length: int = 0
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class FileTail:
    """What the postscript and the footer say. ``length`` is that of the file, in bytes.

    ``by_query`` says that a compaction of Hive 4 by a query wrote the file. That query spells the
    event columns in small letters, and writes no key index and no ACID statistics. Here the columns
    have their usual names, in ``footer``, too.
    """

    length: int
    rows: int
    stripes: tuple[Stripe, ...]
    metadata: Mapping[str, str]
    column_names: tuple[str, ...]
    compression: str
    block_size: int
    row_index_stride: int = 0
    calendar: int | None = None
    writer: int = 0
    types: tuple[OrcType, ...] = field(default=(), repr=False)
    footer: bytes = field(default=b"", repr=False)
    footer_length: int = field(default=0, repr=False)
    postscript: bytes = field(default=b"", repr=False)
    by_query: bool = False

    @property
    def footer_start(self) -> int:
        """Where the footer begins, in bytes."""
        return self.length - 1 - len(self.postscript) - self.footer_length

    @property
    def content_length(self) -> int:
        """Where the stripes end and their statistics begin, in bytes."""
        return self.footer_start - number_in(dict(fields(self.postscript)), _POSTSCRIPT_METADATA)

    @property
    def timestamps(self) -> tuple[int, ...]:
        """The indexes of the types that are timestamps, in order."""
        return tuple(
            at for at, kind in enumerate(self.types) if kind.kind in (TIMESTAMP, TIMESTAMP_INSTANT)
        )

    @property
    def may_be_fine(self) -> bool:
        """Whether timestamps may be finer than microseconds.

        Files that acidsql wrote say so in their metadata. They are known by their writer: no other
        program writes ACID files with pyarrow.
        """
        ours = self.is_acid and self.writer == _WRITER_CPP
        return bool(self.timestamps) and (not ours or NANOSECONDS in self.metadata)

    @property
    def is_acid(self) -> bool:
        """Whether the root has Hive's six event columns, which is how Hive 4 knows an ACID file."""
        return tuple(n.lower() for n in self.column_names) == _SMALL_EVENT_COLUMNS


def read_tail(source: BinaryIO | str, path: str = "", length: int | None = None) -> FileTail:
    """The tail of a file, or of its first ``length`` bytes. ``path`` names it in errors.

    Raises MissingFileError, or CorruptFileError when it is not a whole ORC file.
    """
    if isinstance(source, str):
        path = path or source
        with open_local(source, path) as stream:
            return read_tail(stream, path, length)
    with naming(path, NOT_WHOLE):
        end = source.seek(0, os.SEEK_END) if length is None else length
        return _parse_tail(source, end)


def append_metadata(
    path: str, tail: FileTail, metadata: Mapping[str, str], calendar: int | None = PROLEPTIC
) -> FileTail:
    """Append user metadata and the calendar to the footer of a local file, in place. The new tail.

    ``tail`` is that of the file, from `read_tail`. The addition is a chunk of its own, so the
    bytes before it stay as they are.
    """
    items = (metadata_message(*item) for item in metadata.items())
    addition = b"".join(bytes_field(FOOTER_METADATA, item) for item in items)
    if calendar is not None:
        addition += varint_field(FOOTER_CALENDAR, calendar)
    section = original_section(addition, tail)
    footer_length = tail.footer_length + len(section)
    end = postscript(tail, {_POSTSCRIPT_FOOTER: footer_length})
    with open(path, "r+b") as stream:
        stream.seek(tail.length - 1 - len(tail.postscript))
        stream.write(section + end)
        stream.truncate()
        length = stream.tell()
    return replace(
        tail,
        length=length,
        metadata={**tail.metadata, **metadata},
        calendar=calendar or tail.calendar,
        footer=tail.footer + addition,
        footer_length=footer_length,
        postscript=end[:-1],
    )


def metadata_message(name: str, value: str) -> bytes:
    """The footer's message of one item of user metadata."""
    return bytes_field(1, name.encode()) + bytes_field(2, value.encode())


def stripe_message(stripe: Stripe) -> bytes:
    """The footer's message (StripeInformation) of a stripe."""
    values = (
        stripe.offset,
        stripe.index_length,
        stripe.data_length,
        stripe.footer_length,
        stripe.rows,
    )
    return b"".join(varint_field(number, value) for number, value in enumerate(values, 1))


def footer_and_postscript(
    tail: FileTail, footer: bytes, metadata_length: int | None = None
) -> bytes:
    """The footer and postscript of a file like this one but with another footer message."""
    section = original_section(footer, tail)
    lengths = {_POSTSCRIPT_FOOTER: len(section)}
    if metadata_length is not None:
        lengths[_POSTSCRIPT_METADATA] = metadata_length
    return section + postscript(tail, lengths)


def postscript(tail: FileTail, lengths: Mapping[int, int]) -> bytes:
    """The file's postscript with other numbers in these fields, and a byte with its length."""
    message = b"".join(encode(n, lengths.get(n, value)) for n, value in fields(tail.postscript))
    assert len(message) <= 255
    return message + bytes([len(message)])


def read_section(source: BinaryIO, tail: FileTail, offset: int, length: int) -> bytes:
    """The decompressed bytes of a section. ValueError if the section is malformed."""
    return decompress_section(read_bytes(source, offset, length), tail.compression, tail.block_size)


def read_bytes(source: BinaryIO, offset: int, length: int) -> bytes:
    """Bytes of the file as they are. ValueError if the file ends before them."""
    source.seek(offset)
    data = source.read(length)
    if len(data) != length:
        raise ValueError("the file is shorter than its tail says")
    return data


def pieces(source: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    """Bytes of the file, a few megabytes at a time. ValueError if the file ends before them."""
    for start in range(0, length, _PIECE):
        yield read_bytes(source, offset + start, min(_PIECE, length - start))


def original_section(data: bytes, tail: FileTail) -> bytes:
    """The data as a section of the file that is not compressed."""
    return original_chunks(data, tail.compression, _chunk_size(tail))


def compressed_section(data: bytes, tail: FileTail) -> bytes:
    """The data as a section of the file, compressed where that makes it smaller."""
    return compressed_chunks(data, tail.compression, _chunk_size(tail))


def original_place(offset: int, tail: FileTail) -> tuple[int, ...]:
    """Where a byte stands in an `original_section`, as a row index has it.

    That is the offset, or in a compressed file the start of the chunk and the offset in the chunk.
    """
    if tail.compression == "none":
        return (offset,)
    chunk, behind = divmod(offset, _chunk_size(tail))
    return chunk * (_chunk_size(tail) + CHUNK_HEADER), behind


def _chunk_size(tail: FileTail) -> int:
    """The bytes in each chunk of an original section but the last."""
    # A chunk may not be larger than the file's blocks, nor than its header can say.
    return min(tail.block_size, _LARGEST_CHUNK)


def _parse_tail(source: BinaryIO, length: int) -> FileTail:
    end = read_bytes(source, max(0, length - _TAIL_GUESS), min(length, _TAIL_GUESS))
    if len(end) < 2 or end[-1] >= len(end):
        raise ValueError("the file ends too early")
    postscript = end[-1 - end[-1] : -1]
    values = dict(fields(postscript))
    footer_length = number_in(values, _POSTSCRIPT_FOOTER)
    compression = COMPRESSIONS.get(number_in(values, _POSTSCRIPT_COMPRESSION))
    block_size = number_in(values, _POSTSCRIPT_BLOCK) or _DEFAULT_BLOCK_SIZE
    if values.get(_POSTSCRIPT_MAGIC) != MAGIC or compression is None:
        raise ValueError("it has no ORC postscript")
    start = length - 1 - len(postscript) - footer_length
    content = start - number_in(values, _POSTSCRIPT_METADATA)
    if content < 0:
        raise ValueError("the footer is longer than the file")
    section = read_bytes(source, start, footer_length)
    footer = _Footer()
    plain = decompress_section(section, compression, block_size)
    footer.parse(plain, content)
    if by_query := footer.is_by_query:
        plain = with_root_names(plain, EVENT_COLUMNS)
        footer.types[0] = replace(footer.types[0], names=EVENT_COLUMNS)
    return FileTail(
        length,
        number_in(footer.numbers, FOOTER_ROWS),
        tuple(footer.stripes),
        footer.metadata,
        # Types stand in pre-order: the first is the root.
        footer.types[0].names if footer.types else (),
        compression,
        block_size,
        number_in(footer.numbers, FOOTER_STRIDE),
        number_in(footer.numbers, FOOTER_CALENDAR) or None,
        number_in(footer.numbers, FOOTER_WRITER),
        tuple(footer.types),
        plain,
        footer_length,
        postscript,
        by_query,
    )


def with_root_names(footer: bytes, names: Iterable[str]) -> bytes:
    """The footer message with other names of the file's columns."""
    left = iter(names)
    # Types stand in pre-order: the first is the root.
    root = [number for number, _ in fields(footer)].index(FOOTER_TYPE)
    return b"".join(
        encode(number, _renamed(as_bytes(value), left) if at == root else value)
        for at, (number, value) in enumerate(fields(footer))
    )


def _renamed(struct: bytes, names: Iterator[str]) -> bytes:
    """The message of a struct type whose fields take the next names."""
    parts = fields(struct)
    return b"".join(encode(n, next(names).encode() if n == TYPE_NAME else v) for n, v in parts)


@dataclass(slots=True)
class _Footer:
    """The fields of a footer message that we need."""

    numbers: dict[int, int | bytes] = field(default_factory=dict)
    stripes: list[Stripe] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    types: list[OrcType] = field(default_factory=list)

    def parse(self, footer: bytes, content: int) -> None:
        for number, value in fields(footer):
            if number == FOOTER_STRIPE:
                self.stripes.append(_stripe(as_bytes(value), content))
            elif number == FOOTER_METADATA:
                item = dict(fields(as_bytes(value)))
                # Hive and acidsql write texts. Bytes that are no text come from another writer.
                text = as_bytes(item.get(2, b"")).decode(errors="replace")
                self.metadata[_text(item.get(1, b""))] = text
            elif number == FOOTER_TYPE:
                self.types.append(_type(as_bytes(value)))
            elif number in (FOOTER_ROWS, FOOTER_STRIDE, FOOTER_WRITER, FOOTER_CALENDAR):
                self.numbers[number] = value
        if number_in(self.numbers, FOOTER_ROWS) != sum(stripe.rows for stripe in self.stripes):
            raise ValueError("the stripes do not add up to the number of rows")

    @property
    def is_by_query(self) -> bool:
        """Whether the columns are those of an event, but with names in small letters."""
        if not self.types or self.types[0].names != _SMALL_EVENT_COLUMNS:
            return False
        return tuple(self.types[child].kind for child in self.types[0].children) == _EVENT_KINDS


# All files of a table have the same few.
@lru_cache(256)
def _type(message: bytes) -> OrcType:
    parts = list(fields(message))
    children = [c for n, v in parts if n == TYPE_CHILDREN for c in packed_numbers(v)]
    names = tuple(_text(v) for n, v in parts if n == TYPE_NAME)
    wanted = (TYPE_KIND, _TYPE_LENGTH, _TYPE_PRECISION, _TYPE_SCALE)
    values = dict(parts)
    kind, *sizes = (number_in(values, number) for number in wanted)
    return OrcType(kind, tuple(children), names, *sizes)


def _stripe(message: bytes, content: int) -> Stripe:
    values = dict(fields(message))
    offset, index, data, footer, rows = (number_in(values, n) for n in (1, 2, 3, 4, 5))
    if offset + index + data + footer > content:
        raise ValueError("a stripe is longer than the file")
    return Stripe(offset, index, data, footer, rows)


def encode(number: int, value: int | bytes) -> bytes:
    """A protobuf field that holds a number, or bytes."""
    return varint_field(number, value) if isinstance(value, int) else bytes_field(number, value)


def _text(value: int | bytes) -> str:
    return as_bytes(value).decode()

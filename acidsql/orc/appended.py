"""An ORC file that grows: stripes of finished files are appended, each time with a whole footer.

Readers find stripes by the offsets in the last footer. So the footers that stand between the
stripes are bytes that nobody reads, and a reader that knows an earlier length of the file reads the
footer that ended there (as after Hive's OrcRecordUpdater.flush, Writer.writeIntermediateFooter).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from acidsql.errors import CorruptFileError
from acidsql.orc.footer import (
    ACID_VERSION,
    FOOTER_METADATA,
    FOOTER_ROWS,
    FOOTER_STATISTICS,
    FOOTER_STRIPE,
    KEY_INDEX,
    NANOSECONDS,
    STATS,
    FileTail,
    Stripe,
    encode,
    footer_and_postscript,
    original_section,
    read_bytes,
    read_section,
    read_tail,
)
from acidsql.orc.merged_statistics import merged_columns
from acidsql.orc.protobuf import as_bytes, bytes_field, fields, varint_field

_CONTENT_LENGTH = 2
_OFFSET = 1


@dataclass(slots=True)
class AppendedFile:
    """What has to be known of a file to append to it: its parts are ACID files of one schema.

    ``length`` is how many bytes it has, with the last footer.
    """

    length: int
    _tail: FileTail
    _stripes: list[Stripe]
    _stripe_statistics: bytes
    _statistics: list[bytes]
    _keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, source: BinaryIO, path: str, tail: FileTail | None = None) -> AppendedFile:
        """The file that so far is just this part. CorruptFileError if it is not an ACID file.

        ``tail`` saves reading the tail of the part.
        """
        part = _Part.read(source, path, tail)
        return cls(
            part.tail.length,
            part.tail,
            list(part.tail.stripes),
            part.stripe_statistics,
            part.statistics,
            dict(part.tail.metadata),
        )

    def append(self, source: BinaryIO, path: str, tail: FileTail | None = None) -> bytes:
        """The bytes to be added to the file: the stripes of a part and a footer for all stripes.

        ``tail`` saves reading the tail of the part. Row ids must go on rising from part to part.
        CorruptFileError if the part does not fit.
        """
        part = _Part.read(source, path, tail)
        if _schema(part.tail) != _schema(self._tail):
            raise CorruptFileError(
                f'file "{path}" cannot be appended', detail="Its schema or codec is another."
            )
        content = part.content(source)
        start = part.tail.stripes[0].offset if part.tail.stripes else 0
        moved = self.length - start
        self._stripes += [replace(s, offset=s.offset + moved) for s in part.tail.stripes]
        self._stripe_statistics += part.stripe_statistics
        self._statistics = [
            merged_columns(one, other)
            for one, other in zip(self._statistics, part.statistics, strict=True)
        ]
        self._keys = _merged_keys(self._keys, part.tail.metadata)
        statistics = original_section(self._stripe_statistics, self._tail)
        footer = self._footer(self.length + len(content))
        data = content + statistics
        data += footer_and_postscript(self._tail, footer, len(statistics))
        self.length += len(data)
        return data

    def _footer(self, content_length: int) -> bytes:
        """The footer of the first part, with what the other parts add."""
        result = bytearray()
        own = (FOOTER_STRIPE, FOOTER_METADATA, FOOTER_ROWS, FOOTER_STATISTICS, _CONTENT_LENGTH)
        for number, value in fields(self._tail.footer):
            if number not in own:
                result += encode(number, value)
        result += varint_field(_CONTENT_LENGTH, content_length)
        for stripe in self._stripes:
            result += bytes_field(FOOTER_STRIPE, _stripe_message(stripe))
        result += varint_field(FOOTER_ROWS, sum(s.rows for s in self._stripes))
        for name, text in self._keys.items():
            item = bytes_field(1, name.encode()) + bytes_field(2, text.encode())
            result += bytes_field(FOOTER_METADATA, item)
        for column in self._statistics:
            result += bytes_field(FOOTER_STATISTICS, column)
        return bytes(result)


@dataclass(frozen=True, slots=True)
class _Part:
    """A finished file: its tail, and the statistics of its stripes and of the whole."""

    tail: FileTail
    stripe_statistics: bytes
    statistics: list[bytes]

    @classmethod
    def read(cls, source: BinaryIO, path: str, tail: FileTail | None) -> _Part:
        tail = tail or read_tail(source, path)
        if not tail.is_acid or ACID_VERSION not in tail.metadata:
            raise CorruptFileError(f'file "{path}" is not an ACID file')
        length = tail.footer_start - tail.content_length
        stripes = read_section(source, tail, tail.content_length, length)
        whole = [as_bytes(v) for n, v in fields(tail.footer) if n == FOOTER_STATISTICS]
        return cls(tail, stripes, whole)

    def content(self, source: BinaryIO) -> bytes:
        """The bytes of all stripes, which stand one after the other."""
        stripes = self.tail.stripes
        if not stripes:
            return b""
        start = stripes[0].offset
        return read_bytes(source, start, self.tail.content_length - start)


def _schema(tail: FileTail) -> tuple[object, ...]:
    return tail.types, tail.compression, tail.block_size, tail.row_index_stride, tail.calendar


def _merged_keys(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Hive's keys for both parts: the index goes on, the counts are added up."""
    counts = [
        sum(pair)
        for pair in zip(
            map(int, first[STATS].split(",")), map(int, second[STATS].split(",")), strict=True
        )
    ]
    both = {
        **first,
        KEY_INDEX: first[KEY_INDEX] + second[KEY_INDEX],
        STATS: ",".join(map(str, counts)),
    }
    if NANOSECONDS in second:
        both[NANOSECONDS] = second[NANOSECONDS]
    return both


def _stripe_message(stripe: Stripe) -> bytes:
    numbers = (
        stripe.offset,
        stripe.index_length,
        stripe.data_length,
        stripe.footer_length,
        stripe.rows,
    )
    return b"".join(varint_field(at, number) for at, number in enumerate(numbers, _OFFSET))

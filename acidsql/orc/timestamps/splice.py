"""Put the nanoseconds into a file that pyarrow wrote without them.

The streams of nanoseconds are replaced and the positions after them changed; the rest is copied.
The least and greatest values of these columns are dropped from the statistics: they lack the
fractions, and a reader would skip rows by them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from acidsql.orc.chunks import CHUNK_HEADER, decompress_section
from acidsql.orc.footer import (
    FOOTER_CONTENT_LENGTH,
    FOOTER_STATISTICS,
    FOOTER_STRIPE,
    MAGIC,
    FileTail,
    Stripe,
    chunk_size,
    encode,
    footer_and_postscript,
    original_section,
    read_bytes,
    read_section,
)
from acidsql.orc.protobuf import bytes_field, fields, packed_field, packed_numbers
from acidsql.orc.stripe import (
    ROW_INDEX,
    SECONDARY,
    Stream,
    chunk_starts,
    is_index,
    read_stripe_footer,
    with_streams,
)
from acidsql.orc.timestamps.run_length import (
    RUN_MAX,
    Runs,
    Unsigned,
    decode_unsigned,
    encode_unsigned,
)

_TIMESTAMP_STATISTICS = 9
_ENTRY, _POSITIONS, _STATISTICS = 1, 1, 2


@dataclass(slots=True)
class Nanos:
    """Encoded nanoseconds to be put into one column.

    ``parts`` are the numbers of first values and the nanoseconds from there on; ``seen`` is how
    many values were written. Only values that are not null are counted.
    """

    parts: list[tuple[int, Unsigned]] = field(default_factory=list)
    seen: int = 0

    def add(self, count: int, nanos: Unsigned | None) -> None:
        """Count the next values that are not null, and keep their nanoseconds if there are any."""
        if nanos is not None:
            assert len(nanos) == count
            self.parts.append((self.seen, nanos))
        self.seen += count

    def put_into(self, values: Unsigned, first: int) -> Unsigned:
        """These encoded nanoseconds, the first of value number ``first``, with ours put in."""
        result = values.copy()
        for start, nanos in self.parts:
            begin, end = max(start, first), min(start + len(nanos), first + len(values))
            if begin < end:
                result[begin - first : end - first] = nanos[begin - start : end - start]
        return result


def splice(path: str, tail: FileTail, columns: Mapping[int, Nanos]) -> None:
    """Put the nanoseconds of these columns into a local file. OSError if that fails."""
    mended = f"{path}.mended"
    try:
        with open(path, "rb") as source, open(mended, "wb") as target:
            _Splice(source, target, tail, columns).run()
        os.replace(mended, path)
    except BaseException:
        if os.path.exists(mended):
            os.remove(mended)
        raise


class _Splice:
    def __init__(
        self, source: BinaryIO, target: BinaryIO, tail: FileTail, columns: Mapping[int, Nanos]
    ) -> None:
        self._source, self._target, self._tail = source, target, tail
        self._columns = columns
        self._done = dict.fromkeys(columns, 0)

    def run(self) -> None:
        tail = self._tail
        start = tail.stripes[0].offset if tail.stripes else tail.content_length
        self._target.write(read_bytes(self._source, 0, start))
        stripes = [self._stripe(stripe) for stripe in tail.stripes]
        # As pyarrow counts it: the stripes without the magic before them.
        content_length = self._target.tell() - len(MAGIC)
        statistics = read_section(
            self._source, tail, tail.content_length, tail.footer_start - tail.content_length
        )
        section = original_section(_each(statistics, self._without_statistics), tail)
        self._target.write(section)
        footer = self._footer(stripes, content_length)
        self._target.write(footer_and_postscript(tail, footer, len(section)))

    def _stripe(self, stripe: Stripe) -> Stripe:
        footer = read_stripe_footer(self._source, self._tail, stripe)
        replaced: dict[tuple[int, int], bytes] = {}
        for column in self._columns:
            stream, index = footer.find(SECONDARY, column), footer.find(ROW_INDEX, column)
            if stream is not None:
                places, replaced[SECONDARY, column] = self._nanos(column, stream)
                if index is not None:
                    message = read_section(self._source, self._tail, index.offset, index.length)
                    moved = _moved(message, places)
                    replaced[ROW_INDEX, column] = original_section(moved, self._tail)
        offset = self._target.tell()
        index_length = data_length = 0
        for stream in footer.streams:
            data = replaced.get((stream.kind, stream.column))
            if data is None:
                data = read_bytes(self._source, stream.offset, stream.length)
            self._target.write(data)
            index_length += len(data) if is_index(stream) else 0
            data_length += 0 if is_index(stream) else len(data)
        lengths = {key: len(data) for key, data in replaced.items()}
        message = original_section(with_streams(footer, lengths), self._tail)
        self._target.write(message)
        return Stripe(offset, index_length, data_length, len(message), stripe.rows)

    def _nanos(self, column: int, stream: Stream) -> tuple[_Places, bytes]:
        """How places in the old stream become places in the new one, and the new stream."""
        section = read_bytes(self._source, stream.offset, stream.length)
        compression, block_size = self._tail.compression, self._tail.block_size
        runs = decode_unsigned(decompress_section(section, compression, block_size))
        values = self._columns[column].put_into(runs.values, self._done[column])
        self._done[column] += len(values)
        data, run_bytes = encode_unsigned(values)
        chunks = None if compression == "none" else chunk_starts(section, compression, block_size)
        places = _Places(runs, chunks, run_bytes, chunk_size(self._tail))
        return places, original_section(data, self._tail)

    def _without_statistics(self, statistics: bytes) -> bytes:
        """Statistics of all columns in turn, without bounds for the columns put in."""
        column = -1
        result = bytearray()
        for number, value in fields(statistics):
            assert isinstance(value, bytes)
            column += 1
            result += bytes_field(number, _bare(value) if column in self._columns else value)
        return bytes(result)

    def _footer(self, stripes: Sequence[Stripe], content_length: int) -> bytes:
        left = iter(stripes)
        column = -1
        result = bytearray()
        for number, value in fields(self._tail.footer):
            if number == FOOTER_STRIPE and isinstance(value, bytes):
                result += bytes_field(number, _stripe_message(value, next(left)))
            elif number == FOOTER_STATISTICS and isinstance(value, bytes):
                column += 1
                result += bytes_field(number, _bare(value) if column in self._columns else value)
            else:
                result += encode(
                    number, content_length if number == FOOTER_CONTENT_LENGTH else value
                )
        return bytes(result)


@dataclass(frozen=True, slots=True)
class _Places:
    """Translates places in the old stream of nanoseconds into places in the new one.

    ``chunks`` is what `chunk_starts` gives; None if the file is not compressed.
    """

    runs: Runs
    chunks: Mapping[int, int] | None
    run_bytes: int
    chunk_size: int

    @property
    def width(self) -> int:
        """How many numbers the index has for the place of a value."""
        return 2 if self.chunks is None else 3

    def moved(self, place: Sequence[int]) -> tuple[int, ...]:
        """The new place of a value. ValueError if no run starts at the old place."""
        if self.chunks is None:
            offset, inside = place
        else:
            chunk, behind, inside = place
            offset = self.chunks[chunk] + behind
        run, inside = divmod(self.runs.index(offset, inside), RUN_MAX)
        offset = run * self.run_bytes
        if self.chunks is None:
            return offset, inside
        chunk, behind = divmod(offset, self.chunk_size)
        return chunk * (self.chunk_size + CHUNK_HEADER), behind, inside


def _moved(index: bytes, places: _Places) -> bytes:
    """A column's row index with new places of its nanoseconds, and without bounds."""

    def entry(message: bytes) -> bytes:
        positions: list[int] = []
        result = bytearray()
        for number, value in fields(message):
            if number == _POSITIONS:
                positions += packed_numbers(value)
            elif number == _STATISTICS and isinstance(value, bytes):
                result += bytes_field(number, _bare(value))
        kept, place = positions[: -places.width], positions[-places.width :]
        return packed_field(_POSITIONS, [*kept, *places.moved(place)]) + bytes(result)

    return _each(index, entry)


def _each(message: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A message that consists of messages, with each of these changed."""
    return b"".join(
        bytes_field(number, change(value))
        for number, value in fields(message)
        if isinstance(value, bytes)
    )


def _bare(statistics: bytes) -> bytes:
    """A column's statistics without its least and greatest timestamp."""
    parts = (encode(n, v) for n, v in fields(statistics) if n != _TIMESTAMP_STATISTICS)
    return b"".join(parts)


def _stripe_message(message: bytes, stripe: Stripe) -> bytes:
    new = {1: stripe.offset, 2: stripe.index_length, 3: stripe.data_length, 4: stripe.footer_length}
    return b"".join(encode(n, new.get(n, v)) for n, v in fields(message))

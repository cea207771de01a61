"""Put the nanoseconds into a file that pyarrow wrote without them.

The streams of nanoseconds are replaced and the positions in the index changed. The least and
greatest values of these columns are moved by a second in the statistics: they lack the fractions,
and a reader would skip rows by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from acidsql.orc.chunks import decompress_section
from acidsql.orc.footer import (
    FileTail,
    encode,
    original_place,
    original_section,
    read_bytes,
    read_section,
)
from acidsql.orc.protobuf import (
    as_bytes,
    bytes_field,
    fields,
    packed_field,
    packed_numbers,
    signed,
    unsigned,
    varint_field,
)
from acidsql.orc.rewrite import Change, NewStream, StripeParts
from acidsql.orc.run_length import (
    RUN_MAX,
    Runs,
    Unsigned,
    decode_unsigned,
    encode_unsigned,
)
from acidsql.orc.stripe import (
    INDEX_STATISTICS,
    POSITIONS,
    ROW_INDEX,
    SECONDARY,
    Stream,
    chunk_starts,
)

_TIMESTAMP_STATISTICS, _LAST_BOUND = 9, 4
_SECOND_MS = 1000


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


class Splice(Change):
    """Puts nanoseconds into columns, which are given by their numbers in the file."""

    def __init__(self, columns: Mapping[int, Nanos]) -> None:
        self._columns = columns
        self._done = dict.fromkeys(columns, 0)

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        found = {(s.kind, s.column): s for s in parts.streams if isinstance(s, Stream)}
        replaced: dict[tuple[int, int], NewStream] = {}
        for column in self._columns:
            stream, index = found.get((SECONDARY, column)), found.get((ROW_INDEX, column))
            if stream is None:
                continue
            places, data = self._nanos(stream, source, tail)
            replaced[SECONDARY, column] = NewStream(SECONDARY, column, data)
            if index is not None:
                message = read_section(source, tail, index.offset, index.length)
                data = original_section(_moved(message, places), tail)
                replaced[ROW_INDEX, column] = NewStream(ROW_INDEX, column, data)
        return replace(
            parts,
            streams=tuple(replaced.get((s.kind, s.column), s) for s in parts.streams),
            statistics=tuple(
                _loosened(message) if column in self._columns else message
                for column, message in enumerate(parts.statistics)
            ),
        )

    def _nanos(self, stream: Stream, source: BinaryIO, tail: FileTail) -> tuple[_Places, bytes]:
        """How places in the old stream become places in the new one, and the new stream."""
        column = stream.column
        section = read_bytes(source, stream.offset, stream.length)
        compression, block_size = tail.compression, tail.block_size
        runs = decode_unsigned(decompress_section(section, compression, block_size))
        values = self._columns[column].put_into(runs.values, self._done[column])
        self._done[column] += len(values)
        data, run_bytes = encode_unsigned(values)
        chunks = None if compression == "none" else chunk_starts(section, compression, block_size)
        return _Places(runs, chunks, run_bytes, tail), original_section(data, tail)


@dataclass(frozen=True, slots=True)
class _Places:
    """Translates places in the old stream of nanoseconds into places in the new one.

    ``chunks`` is what `chunk_starts` gives; None if the file is not compressed.
    """

    runs: Runs
    chunks: Mapping[int, int] | None
    run_bytes: int
    tail: FileTail

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
        return *original_place(run * self.run_bytes, self.tail), inside


def _moved(index: bytes, places: _Places) -> bytes:
    """A column's row index with new places of its nanoseconds, and looser bounds."""

    def entry(message: bytes) -> bytes:
        positions: list[int] = []
        result = bytearray()
        for number, value in fields(message):
            if number == POSITIONS:
                positions += packed_numbers(value)
            elif number == INDEX_STATISTICS and isinstance(value, bytes):
                result += bytes_field(number, _loosened(value))
        kept, place = positions[: -places.width], positions[-places.width :]
        return packed_field(POSITIONS, [*kept, *places.moved(place)]) + bytes(result)

    return _each(index, entry)


def _each(message: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A message that consists of messages, with each of these changed."""
    return b"".join(
        bytes_field(number, change(value))
        for number, value in fields(message)
        if isinstance(value, bytes)
    )


def _loosened(statistics: bytes) -> bytes:
    """A column's statistics, whose bounds hold for the fractions, too.

    ORC's bounds are in milliseconds (TimestampStatistics): 1 and 3 are least ones, 2 and 4 greatest
    ones, of the wall clock and in UTC. 5 and 6, what is finer, are left out.
    """
    result = b""
    for number, value in fields(statistics):
        if number == _TIMESTAMP_STATISTICS:
            bounds = (
                varint_field(n, unsigned(signed(bound) + _SECOND_MS * (-1 if n % 2 else 1)))
                for n, bound in fields(as_bytes(value))
                if isinstance(bound, int) and n <= _LAST_BOUND
            )
            result += bytes_field(number, b"".join(bounds))
        else:
            result += encode(number, value)
    return result

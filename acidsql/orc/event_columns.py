"""Event columns that need not be encoded number by number, put around a file of the others.

For narrow rows, pyarrow spends a third of its time on the event columns, and for deletes nearly all
of it. But the row ids of new rows are a few stretches of consecutive numbers, and all other event
columns are constant. Of deletes, the write ids, buckets and operations are constant for many
events. So they are encoded here, in a few bytes for every 512 events (ORC specification, Run Length
Encoding).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import BinaryIO

import pyarrow as pa

from acidsql.model.ids import WriteId
from acidsql.orc.footer import (
    INT,
    LONG,
    TYPE_CHILDREN,
    TYPE_KIND,
    TYPE_NAME,
    FileTail,
    encode,
    original_place,
    original_section,
)
from acidsql.orc.keys import KeyTrack
from acidsql.orc.protobuf import (
    bytes_field,
    fields,
    number_in,
    packed_field,
    packed_numbers,
    unsigned,
    varint_field,
)
from acidsql.orc.rewrite import Change, NewStream, StripeParts
from acidsql.orc.run_length import encode_progression
from acidsql.orc.schema import (
    CURRENT_TRANSACTION,
    DELETE,
    EVENT_COLUMNS,
    INSERT,
    KEY_FIELDS,
    ROW,
    ROW_ID,
)
from acidsql.orc.stripe import (
    DATA,
    DIRECT_V2,
    INDEX_ENTRY,
    INDEX_STATISTICS,
    POSITIONS,
    ROW_INDEX,
    is_index,
)

Progressions = tuple[tuple[int, int, int], ...]
"""Numbers that rise evenly, stretch by stretch: the first one, the step, how many there are."""

_KINDS = (INT, LONG, INT, LONG, LONG)
"""The types of the event columns, which have the numbers 1 to 5. ``row`` has 6."""
_ROW = len(EVENT_COLUMNS)
_NUMBERED = tuple(enumerate(EVENT_COLUMNS, 1))
_ENCODING = varint_field(1, DIRECT_V2) + varint_field(2, 0)


@dataclass(frozen=True, slots=True)
class EventStreams:
    """The event columns of one stripe: their streams, and a message for each column."""

    streams: tuple[NewStream, ...]
    encodings: tuple[bytes, ...]
    statistics: tuple[bytes, ...]


class EventColumns(Change):
    """Makes an ACID file of a file of rows, all of which are inserts.

    The root of the file becomes the column ``row``. ``track`` has the row ids of all rows of the
    file, in their order.
    """

    def __init__(self, track: KeyTrack) -> None:
        self._track = track
        self._rows = 0

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        start, self._rows = self._rows, self._rows + parts.rows
        ours = event_streams(self._track, start, self._rows, tail)
        root = [stream for stream in parts.streams if stream.column == 0]
        rows = [stream.of_column(stream.column + _ROW) for stream in parts.streams]
        # The index stands before the data. Apart from that the streams stay in their order.
        streams = sorted([*root, *ours.streams, *rows], key=lambda s: not is_index(s.kind))
        return StripeParts(
            parts.rows,
            tuple(streams),
            (parts.encodings[0], *ours.encodings, *parts.encodings),
            (parts.statistics[0], *ours.statistics, *parts.statistics),
            parts.others,
        )

    def types(self, types: Sequence[bytes]) -> Sequence[bytes]:
        return _event_types(tuple(types))


class DeleteColumns(Change):
    """Adds event columns to a file of delete events that has the others, see `deletes_schema`.

    ``track`` has the row ids of all events, in their order. ``write_id`` is that of all events; it
    is None if the file says which event has which.
    """

    def __init__(self, track: KeyTrack, write_id: WriteId | None) -> None:
        self._track, self._write_id = track, write_id
        self._rows = 0
        there = deletes_schema(write_id).names
        self._there = [0, *(n for n, name in _NUMBERED if name in there)]
        self._added = [n for n, name in _NUMBERED if name not in there]

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        start, self._rows = self._rows, self._rows + parts.rows
        ours = _streams(self._added, self._values, start, self._rows, tail)
        theirs = [stream.of_column(self._there[stream.column]) for stream in parts.streams]
        streams = sorted([*ours.streams, *theirs], key=lambda s: (not is_index(s.kind), s.column))
        return StripeParts(
            parts.rows,
            tuple(streams),
            self._by_column(parts.encodings, ours.encodings),
            self._by_column(parts.statistics, ours.statistics),
            parts.others,
        )

    def _by_column(self, theirs: Sequence[bytes], ours: Sequence[bytes]) -> tuple[bytes, ...]:
        """Messages of all columns, in the order of the columns."""
        pairs = zip([*self._there, *self._added], [*theirs, *ours], strict=True)
        return tuple(message for _, message in sorted(pairs))

    def _values(self, start: int, end: int) -> Sequence[Progressions]:
        """The values that each added column has in these events."""
        keys = list(self._keys(start, end))
        write_ids = tuple((write_id, 0, count) for (write_id, _), count in keys)
        buckets = tuple((bucket, 0, count) for (_, bucket), count in keys)
        current = () if self._write_id is None else (((self._write_id, 0, end - start),),)
        return ((DELETE, 0, end - start),), write_ids, buckets, *current

    def _keys(self, start: int, end: int) -> Iterator[tuple[tuple[int, int], int]]:
        """The write ids and bucket properties of these events, with the number of events."""
        at = bisect_right(self._groups, start, key=lambda group: group[0])
        while start < end:
            stop = min(end, self._groups[at][0]) if at < len(self._groups) else end
            yield self._groups[at - 1][1], stop - start
            start, at = stop, at + 1

    @cached_property
    def _groups(self) -> list[tuple[int, tuple[int, int]]]:
        # All events have been written when the first stripe is asked for.
        return list(self._track.groups())


def deletes_schema(write_id: WriteId | None) -> pa.Schema:
    """The columns of delete events in a file to which `DeleteColumns` adds the others.

    ``row`` has no columns yet. Without the ``write_id`` of all events, the file has that of each.
    """
    names = (ROW_ID, *((CURRENT_TRANSACTION,) if write_id is None else ()))
    return pa.schema([*(f for f in KEY_FIELDS if f.name in names), pa.field(ROW, pa.struct([]))])


def event_streams(track: KeyTrack, start: int, end: int, tail: FileTail) -> EventStreams:
    """The event columns of a stripe, which has the rows ``start`` to before ``end`` of the track.

    All events are inserts. ``tail`` is that of a file of the same form.
    """
    return _streams(range(1, _ROW), partial(_values, track), start, end, tail)


def _streams(
    numbers: Sequence[int],
    values: Callable[[int, int], Sequence[Progressions]],
    start: int,
    end: int,
    tail: FileTail,
) -> EventStreams:
    """The event columns with these ``numbers``, whose ``values`` are asked for row by row."""
    columns = [_Column(number, tail) for number in numbers]
    for at in range(start, end, tail.row_index_stride):
        group = values(at, min(at + tail.row_index_stride, end))
        for column, progressions in zip(columns, group, strict=True):
            column.add_group(progressions)
    return EventStreams(
        tuple(stream for column in columns for stream in column.streams()),
        (_ENCODING,) * len(columns),
        tuple(map(_statistics, values(start, end))),
    )


def _values(track: KeyTrack, start: int, end: int) -> Sequence[Progressions]:
    """The values that each event column has in these rows of the track."""
    stretches = list(track.stretches(start, end))
    operations = ((INSERT, 0, end - start),)
    write_ids = tuple((first.write_id, 0, count) for first, count in stretches)
    buckets = tuple((first.bucket_property, 0, count) for first, count in stretches)
    row_numbers = tuple((first.row_number, 1, count) for first, count in stretches)
    return operations, write_ids, buckets, row_numbers, write_ids


@dataclass(slots=True)
class _Column:
    """An event column of one stripe."""

    number: int
    tail: FileTail
    data: bytearray = field(default_factory=bytearray)
    index: bytearray = field(default_factory=bytearray)

    def add_group(self, values: Progressions) -> None:
        """Add the values of a row group, and the group's entry in the index.

        Each group begins a run of its own, so a reader that skips to it passes over no value.
        """
        runs, statistics = _group(values)
        place = [*original_place(len(self.data), self.tail), 0]  # no value of the run is skipped
        entry = packed_field(POSITIONS, place) + bytes_field(INDEX_STATISTICS, statistics)
        self.index += bytes_field(INDEX_ENTRY, entry)
        self.data += runs

    def streams(self) -> Iterator[NewStream]:
        """The streams of the column as the file has them."""
        for kind, data in ((ROW_INDEX, self.index), (DATA, self.data)):
            yield NewStream(kind, self.number, original_section(bytes(data), self.tail))


# Most groups have the same numbers as the group before, except for the row numbers.
@lru_cache(64)
def _group(values: Progressions) -> tuple[bytes, bytes]:
    """The numbers as runs, and their statistics."""
    return b"".join(encode_progression(*each) for each in values), _statistics(values)


def _statistics(values: Progressions) -> bytes:
    """The ColumnStatistics message of a column of integers without nulls, as pyarrow writes it."""
    ends = [end for first, step, count in values for end in (first, first + step * (count - 1))]
    total = sum(first * count + step * (count * (count - 1) // 2) for first, step, count in values)
    bounds = varint_field(1, unsigned(min(ends))) + varint_field(2, unsigned(max(ends)))
    if total < 2**63:  # pyarrow gives no sum that 64 bits do not hold
        bounds += varint_field(3, unsigned(total))
    count = sum(count for _, _, count in values)
    return varint_field(1, count) + bytes_field(2, bounds) + varint_field(10, 0)  # has no null


# All files of a table have the same types.
@lru_cache(64)
def _event_types(types: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The types of an ACID file, whose rows have these types."""
    root = dict(fields(types[0]))
    kind = varint_field(TYPE_KIND, number_in(root, TYPE_KIND))
    names = b"".join(bytes_field(TYPE_NAME, name.encode()) for name in EVENT_COLUMNS)
    # Lengths and digits, which are 0.
    rest = b"".join(encode(n, v) for n, v in root.items() if n > TYPE_NAME)
    events = [varint_field(TYPE_KIND, kind) + rest for kind in _KINDS]
    children = packed_field(TYPE_CHILDREN, range(1, _ROW + 1))
    return (kind + children + names + rest, *events, *map(_moved_type, types))


def _moved_type(message: bytes) -> bytes:
    """A type of the file of rows with the numbers that its children have in the ACID file."""
    return b"".join(
        packed_field(n, [child + _ROW for child in packed_numbers(v)])
        if n == TYPE_CHILDREN
        else encode(n, v)
        for n, v in fields(message)
    )

"""Row ids as numpy arrays: order, the last row id of each stripe, and lookup of deleted rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array
from acidsql.model.ids import WriteId
from acidsql.model.row_id import BUCKET_ID_MAX, RowId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.schema import ROW_ID_COLUMNS

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class UnsortedEventsError(AssertionError):
    """Events were about to be written twice or not in row id order: readers would lose deletes."""


@dataclass(frozen=True, slots=True)
class RowIds:
    """Many row ids, one array per part."""

    write_ids: Longs
    bucket_properties: Longs
    row_numbers: Longs

    @classmethod
    def of(cls, events: pa.RecordBatch | pa.Table) -> RowIds:
        """The row ids in the columns with ORC's names."""
        return cls(*(longs(events.column(name)) for name in ROW_ID_COLUMNS))

    @classmethod
    def consecutive(cls, first: RowId, count: int) -> RowIds:
        """``count`` row ids from ``first`` on, whose row numbers rise by one."""
        return cls(
            np.full(count, first.write_id, np.int64),
            np.full(count, first.bucket_property, np.int64),
            np.arange(first.row_number, first.row_number + count, dtype=np.int64),
        )

    @classmethod
    def together(cls, parts: Sequence[RowIds]) -> RowIds:
        """The row ids of all parts, one part after the other."""
        empty = np.zeros(0, np.int64)
        return cls(
            np.concatenate([empty, *(p.write_ids for p in parts)]),
            np.concatenate([empty, *(p.bucket_properties for p in parts)]),
            np.concatenate([empty, *(p.row_numbers for p in parts)]),
        )

    def __len__(self) -> int:
        return len(self.write_ids)

    def __getitem__(self, at: int) -> RowId:
        numbers = (self.write_ids[at], self.bucket_properties[at], self.row_numbers[at])
        write_id, bucket_property, row_number = map(int, numbers)
        return RowId(WriteId(write_id), bucket_property, row_number)

    def where(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> RowIds:
        """The row ids that a mask selects, or at some positions."""
        return RowIds(self.write_ids[rows], self.bucket_properties[rows], self.row_numbers[rows])

    def order(self, among_equals: Longs | None = None) -> NDArray[np.intp]:
        """The positions that sort the row ids.

        Equal row ids are sorted by these numbers, one for each row id. Without numbers they stay in
        their order.
        """
        parts = (self.row_numbers, self.bucket_properties, self.write_ids)
        return np.lexsort(parts if among_equals is None else (among_equals, *parts))

    def first_of_each(self, among_equals: Longs) -> NDArray[np.intp]:
        """The positions of the row ids, sorted; of equal row ids the first by ``among_equals``."""
        order = self.order(among_equals)
        is_new = np.concatenate(
            [np.ones(min(1, len(order)), np.bool_), self.where(order).ascends()]
        )
        result: NDArray[np.intp] = order[is_new]
        return result

    def ascends(self) -> Flags:
        """Whether each row id but the first is greater than the one before."""
        w, b, r = self.write_ids, self.bucket_properties, self.row_numbers
        later_bucket = (b[:-1] < b[1:]) | ((b[:-1] == b[1:]) & (r[:-1] < r[1:]))
        result: Flags = (w[:-1] < w[1:]) | ((w[:-1] == w[1:]) & later_bucket)
        return result

    def breaks(self) -> Flags:
        """Whether each row id but the first is other than its predecessor plus one row."""
        w, b, r = self.write_ids, self.bucket_properties, self.row_numbers
        result: Flags = (r[:-1] + 1 != r[1:]) | (b[:-1] != b[1:]) | (w[:-1] != w[1:])
        return result

    def groups(self) -> Iterator[tuple[tuple[int, int], int, int]]:
        """Each run of rows with one write id and bucket property: these two, its start, its end."""
        w, b = self.write_ids, self.bucket_properties
        bounds = np.flatnonzero((w[:-1] != w[1:]) | (b[:-1] != b[1:])) + 1
        edges = [0, *bounds.tolist(), len(self)] if len(self) else [0]
        for start, end in pairwise(edges):
            yield (int(w[start]), int(b[start])), start, end


def longs(column: Array) -> Longs:
    """A column of whole numbers without nulls as a numpy array of 64-bit numbers.

    It may be the column's own memory, which cannot be written to.
    """
    return np.asarray(
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    ).astype(np.int64, copy=False)


def bucket_ids(bucket_properties: Longs) -> Longs:
    """`model.row_id.decode_bucket` for an array of bucket properties."""
    version_1 = bucket_properties >> 29 == 1
    ids: Longs = np.where(version_1, bucket_properties >> 16 & BUCKET_ID_MAX, bucket_properties)
    return ids


def valid_events(current: Longs, valid_write_ids: ValidWriteIdList) -> Flags:
    """Whether the snapshot sees the event of each current write id.

    >>> valid_events(np.array([1, 3, 9]), ValidWriteIdList.parse("db.t:8:5:5:3")).tolist()
    [True, False, False]
    """
    exceptions = np.array(valid_write_ids.exceptions, np.int64)
    return (current <= valid_write_ids.high_watermark) & ~np.isin(current, exceptions)


@dataclass(slots=True)
class KeyTrack:
    """The row ids written so far, as stretches of consecutive row numbers.

    An insert file is one stretch per write id, so that a large file takes little memory.
    """

    rows: int = 0
    last: RowId | None = None
    _starts: list[int] = field(default_factory=list)
    _stretches: list[tuple[Longs, RowIds]] = field(default_factory=list)

    def add(self, row_ids: RowIds) -> None:
        """Add a batch. UnsortedEventsError unless each row id is greater than the one before."""
        if not len(row_ids):
            return
        ascends = row_ids.ascends()
        if not ascends.all():
            at = int(np.argmin(ascends))
            raise UnsortedEventsError(f"{row_ids[at + 1]} follows {row_ids[at]}")
        self._check_first(row_ids[0])
        starts = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(row_ids.breaks()) + 1])
        self._note(starts, row_ids.where(starts), len(row_ids), row_ids[len(row_ids) - 1])

    def add_stretch(self, first: RowId, count: int) -> None:
        """Add ``count`` rows whose row numbers rise by one."""
        if not count:
            return
        self._check_first(first)
        last = RowId(first.write_id, first.bucket_property, first.row_number + count - 1)
        if self.rows and self.last == replace(first, row_number=first.row_number - 1):
            self.rows, self.last = self.rows + count, last
            return
        self._note(np.zeros(1, np.int64), RowIds.consecutive(first, 1), count, last)

    def at(self, row: int) -> RowId:
        """The row id of a row of the file, counted from 0."""
        return self._stretch_from(row)[0]

    def stretches(self, start: int, end: int) -> Iterator[tuple[RowId, int]]:
        """The rows from ``start`` to before ``end``, as first row ids and numbers of rows.

        >>> track = KeyTrack()
        >>> track.add_stretch(RowId(WriteId(1), 536870912, 0), 100)
        >>> list(track.stretches(20, 70))
        [(RowId(write_id=1, bucket_property=536870912, row_number=20), 50)]
        """
        while start < end:
            first, count = self._stretch_from(start)
            yield first, min(count, end - start)
            start += count

    def groups(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Where the rows of each write id and bucket property begin: a row, and these two.

        >>> track = KeyTrack()
        >>> track.add(RowIds(*np.array([[1, 1, 2], [0, 0, 0], [3, 5, 4]])))
        >>> list(track.groups())
        [(0, (1, 0)), (2, (2, 0))]
        """
        for row, (starts, firsts) in zip(self._starts, self._stretches, strict=True):
            for key, at, _ in firsts.groups():
                yield row + int(starts[at]), key

    def _stretch_from(self, row: int) -> tuple[RowId, int]:
        """The row id of a row, and how many rows of its stretch are left from there on."""
        batch = bisect_right(self._starts, row) - 1
        starts, firsts = self._stretches[batch]
        inside = row - self._starts[batch]
        stretch = int(np.searchsorted(starts, inside, side="right")) - 1
        if stretch + 1 < len(starts):
            end = self._starts[batch] + int(starts[stretch + 1])
        else:
            end = self._starts[batch + 1] if batch + 1 < len(self._starts) else self.rows
        first = firsts[stretch]
        number = first.row_number + inside - int(starts[stretch])
        return RowId(first.write_id, first.bucket_property, number), end - row

    def _check_first(self, first: RowId) -> None:
        if self.last is not None and first <= self.last:
            raise UnsortedEventsError(f"{first} follows {self.last}")

    def _note(self, starts: Longs, firsts: RowIds, count: int, last: RowId) -> None:
        self._starts.append(self.rows)
        self._stretches.append((starts, firsts))
        self.rows += count
        self.last = last


def key_index(track: KeyTrack, stripe_rows: Sequence[int]) -> str:
    """The text of ``hive.acid.key.index``, which has the last row id of each stripe.

    The form is that of Hive's OrcRecordUpdater.KeyIndexBuilder.

    >>> track = KeyTrack()
    >>> track.add_stretch(RowId(WriteId(1), 536870912, 0), 15000)
    >>> key_index(track, [10000, 5000])
    '1,536870912,9999;1,536870912,14999;'
    """
    entries = []
    end = 0
    for rows in stripe_rows:
        end += rows
        entries.append(row_id_text(track.at(end - 1)))
    assert end == track.rows
    return "".join(entries)


def row_id_text(row_id: RowId) -> str:
    """An entry of ``hive.acid.key.index``.

    >>> row_id_text(RowId(WriteId(1), 536870912, 9999))
    '1,536870912,9999;'
    """
    return f"{row_id.write_id},{row_id.bucket_property},{row_id.row_number};"


class DeletedRows:
    """A set of row ids: sorted row numbers for each write id and bucket property."""

    def __init__(self, row_ids: RowIds) -> None:
        row_ids = row_ids.where(row_ids.order())
        numbers = row_ids.row_numbers
        self._numbers = {key: numbers[start:end] for key, start, end in row_ids.groups()}

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def __contains__(self, row_id: RowId) -> bool:
        return bool(self.find(RowIds.consecutive(row_id, 1))[0])

    def find(self, row_ids: RowIds) -> Flags:
        """Whether each of these row ids is in the set."""
        found = np.zeros(len(row_ids), np.bool_)
        if not self._numbers:
            return found
        for key, start, end in row_ids.groups():
            numbers = self._numbers.get(key)
            if numbers is not None:
                wanted = row_ids.row_numbers[start:end]
                at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
                found[start:end] = numbers[at] == wanted
        return found


class RowPositions:
    """Where each of some row ids, which are all different, stands among them."""

    def __init__(self, row_ids: RowIds) -> None:
        places = np.arange(len(row_ids))
        if not row_ids.ascends().all():
            places = row_ids.order()
            row_ids = row_ids.where(places)
        self._found = {
            key: (row_ids.row_numbers[start:end], places[start:end])
            for key, start, end in row_ids.groups()
        }

    def of(self, row_ids: RowIds) -> NDArray[np.intp]:
        """The position of each of these row ids, from 0 on; -1 for one that is not there.

        >>> there = RowIds.consecutive(RowId(WriteId(1), 536870912, 5), 3)
        >>> RowPositions(there).of(there.where(np.array([2, 0]))).tolist()
        [2, 0]
        """
        found = np.full(len(row_ids), -1, np.intp)
        for key, start, end in row_ids.groups():
            if key in self._found:
                numbers, places = self._found[key]
                wanted = row_ids.row_numbers[start:end]
                at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
                found[start:end] = np.where(numbers[at] == wanted, places[at], -1)
        return found

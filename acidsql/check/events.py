"""Checks one ACID file by itself: footer, statistics, and the order of its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from acidsql.errors import CorruptFileError
from acidsql.layout.arrow import Array
from acidsql.model.problem import ProblemKind
from acidsql.model.row_id import RowId
from acidsql.orc.damage import naming
from acidsql.orc.footer import ACID_VERSION, JULIAN, KEY_INDEX, STATS
from acidsql.orc.keys import Flags, Longs, RowIds, longs
from acidsql.orc.reader import OrcInput, require_acid
from acidsql.orc.row_index import group_statistics
from acidsql.orc.schema import CURRENT_TRANSACTION, DELETE, INSERT, KEY_COLUMNS, OPERATION, ROW
from acidsql.orc.statistics import (
    ColumnStatistics,
    FileStatistics,
    actual_statistics,
    contradiction,
    contradictions,
    merged,
    read_statistics,
)
from acidsql.orc.stripe import read_stripe_footer
from acidsql.orc.writer import ACID_FORMAT_VERSION

_NamedStatistics = tuple[str, ColumnStatistics | None]
"""A column's name and its true statistics, or None where they are not compared."""


@dataclass(slots=True)
class Findings:
    """The problems of one file: each problem once, with the number of events and the first one."""

    _found: dict[tuple[ProblemKind, str], tuple[int, RowId | None]] = field(default_factory=dict)

    def add(self, kind: ProblemKind, what: str) -> None:
        """Note a problem of the whole file."""
        self._found.setdefault((kind, what), (0, None))

    def add_events(self, kind: ProblemKind, what: str, wrong: Flags, row_ids: RowIds) -> None:
        """Note a problem of some events: those for which ``wrong`` is True."""
        count = int(np.count_nonzero(wrong))
        if count:
            before, first = self._found.get((kind, what), (0, None))
            first = row_ids[int(np.argmax(wrong))] if first is None else first
            self._found[kind, what] = (before + count, first)

    def __iter__(self) -> Iterator[tuple[ProblemKind, str]]:
        for (kind, what), (count, first) in self._found.items():
            if first is None:
                yield kind, what
            else:
                events = "1 event" if count == 1 else f"{count} events"
                yield kind, f"{what}: {events}, first {row_id_text(first)}"


def row_id_text(row_id: RowId) -> str:
    """A row id in the form of the key index in a footer.

    >>> row_id_text(RowId(1, 536870912, 7))
    '1,536870912,7'
    """
    return f"{row_id.write_id},{row_id.bucket_property},{row_id.row_number}"


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one stripe."""

    operations: Longs
    row_ids: RowIds
    current: Longs
    rows: Array


def checked_events(opened: OrcInput, source: BinaryIO, found: Findings) -> Iterator[Events]:
    """The events of a file, stripe by stripe. The problems of the file go into ``found``.

    The footer is checked after the last stripe. CorruptFileError if the file cannot be read.
    """
    tail = opened.tail
    if not tail.is_acid and tail.rows == 0:
        return  # Hive's INSERT OVERWRITE without rows writes a file without event columns
    require_acid(opened)
    check = _FileCheck(opened, source, read_statistics(source, tail, opened.path), found)
    for number in range(len(tail.stripes)):
        yield check.stripe(number)
    check.footer()


@dataclass(slots=True)
class _FileCheck:
    opened: OrcInput
    source: BinaryIO
    statistics: FileStatistics
    found: Findings
    counts: dict[int, int] = field(default_factory=dict)
    last: RowId | None = None
    keys: list[str] = field(default_factory=list)
    actual: list[_NamedStatistics] = field(default_factory=list)

    def stripe(self, number: int) -> Events:
        """Check one stripe. Returns its events."""
        batch = self.opened.unverified_stripe(number)
        if batch.num_rows != self.opened.tail.stripes[number].rows:
            raise CorruptFileError(
                f'stripe {number} of file "{self.opened.path}" has {batch.num_rows} rows, not '
                f"{self.opened.tail.stripes[number].rows}"
            )
        self._compare_streams(number)
        self._compare_statistics(number, batch)
        events = self._events(batch)
        self._order(events.row_ids)
        for operation, count in zip(*np.unique(events.operations, return_counts=True), strict=True):
            self.counts[int(operation)] = self.counts.get(int(operation), 0) + int(count)
        self.keys.append("" if self.last is None else f"{row_id_text(self.last)};")
        return events

    def footer(self) -> None:
        """Check the three keys of the footer, and the statistics of the whole file."""
        metadata = self.opened.tail.metadata
        stats = f"{self.counts.get(INSERT, 0)},{self.counts.get(1, 0)},{self.counts.get(DELETE, 0)}"
        expected = {KEY_INDEX: "".join(self.keys), STATS: stats, ACID_VERSION: ACID_FORMAT_VERSION}
        if self.opened.tail.rows == 0:
            del expected[ACID_VERSION]  # missing in Hive 4's empty overwrites; Trino ignores it
        if self.opened.tail.by_query:
            del expected[KEY_INDEX], expected[STATS]  # Hive 4 writes none, and needs none
        for key, value in expected.items():
            if key not in metadata:
                self.found.add(ProblemKind.WRONG_FOOTER, f"{key} is missing")
            elif metadata[key] != value:
                self.found.add(ProblemKind.WRONG_FOOTER, _difference(key, metadata[key], value))
        if self.actual and self._has_statistics:
            rows = self.opened.tail.rows
            for reason in contradictions(self.statistics.file, self.actual, rows):
                self.found.add(ProblemKind.WRONG_STATISTICS, f"of the file, {reason}")

    @property
    def _has_statistics(self) -> bool:
        # With a row index stride of 0, Hive 3 writes no statistics, and its readers need none.
        return self.opened.tail.row_index_stride > 0

    def _events(self, batch: pa.RecordBatch) -> Events:
        keys = {name: batch.column(name) for name in KEY_COLUMNS}
        if any(column.null_count for column in keys.values()):
            raise CorruptFileError(f'file "{self.opened.path}" has a null in an event column')
        return Events(
            longs(keys[OPERATION]),
            RowIds.of(batch),
            longs(keys[CURRENT_TRANSACTION]),
            batch.column(ROW),
        )

    def _order(self, row_ids: RowIds) -> None:
        if not len(row_ids):
            return
        wrong = np.concatenate([np.zeros(1, np.bool_), ~row_ids.ascends()])
        wrong[0] = self.last is not None and row_ids[0] <= self.last
        self.found.add_events(
            ProblemKind.UNSORTED, "a row id does not exceed the one before", wrong, row_ids
        )
        self.last = row_ids[len(row_ids) - 1]

    def _compare_streams(self, number: int) -> None:
        tail = self.opened.tail
        stripe = tail.stripes[number]
        with naming(self.opened.path):
            reason = read_stripe_footer(self.source, tail, stripe).contradiction(stripe)
        if reason is not None:
            self.found.add(ProblemKind.WRONG_FOOTER, f"of stripe {number}, {reason}")

    def _compare_statistics(self, number: int, batch: pa.RecordBatch) -> None:
        tail = self.opened.tail
        if not self._has_statistics:
            return
        actual = actual_statistics(batch, times=tail.calendar != JULIAN)
        if number >= len(self.statistics.stripes):
            self.found.add(ProblemKind.WRONG_STATISTICS, f"stripe {number} has none")
        else:
            said = self.statistics.stripes[number]
            for reason in contradictions(said, actual, batch.num_rows):
                self.found.add(ProblemKind.WRONG_STATISTICS, f"of stripe {number}, {reason}")
        self._compare_index(number, batch, actual)
        if number == 0:
            self.actual = actual
        elif len(self.actual) == len(actual):
            self.actual = [
                (name, None if a is None or b is None else merged(a, b))
                for (name, a), (_, b) in zip(self.actual, actual, strict=True)
            ]

    def _compare_index(
        self, number: int, batch: pa.RecordBatch, of_stripe: Sequence[_NamedStatistics]
    ) -> None:
        """Compare the row index of a stripe with its rows. Of each column one group is named."""
        tail = self.opened.tail
        index = group_statistics(self.source, tail, number, self.opened.path)
        if not batch.num_rows or len(index) != len(of_stripe) + 1:
            return  # no group; or the statistics of the stripe are of other columns, too
        stride = tail.row_index_stride
        groups = [of_stripe]
        if batch.num_rows > stride:
            slices = (batch.slice(start, stride) for start in range(0, batch.num_rows, stride))
            groups = [actual_statistics(s, times=tail.calendar != JULIAN) for s in slices]
        for said, column in zip(index[1:], zip(*groups, strict=True), strict=True):
            reason = None if said is None else _contradicted_group(said, column)
            if reason is not None:
                what = f"of stripe {number}, {column[0][0]}: {reason}"
                self.found.add(ProblemKind.WRONG_STATISTICS, what)


def _contradicted_group(
    said: Sequence[ColumnStatistics], actual: Sequence[_NamedStatistics]
) -> str | None:
    """The fault of the first row group whose statistics contradict the rows; None without one."""
    if len(said) != len(actual):
        return f"the row index has {len(said)} groups, not {len(actual)}"
    for group, (one, (_, found)) in enumerate(zip(said, actual, strict=True)):
        reason = None if found is None else contradiction(one, found)
        if reason is not None:
            return f"in row group {group}, {reason}"
    return None


def _difference(key: str, said: str, actual: str) -> str:
    if key != KEY_INDEX:
        return f'{key} is "{said}", not "{actual}"'
    said_keys, keys = said.rstrip(";").split(";"), actual.rstrip(";").split(";")
    if not said or not actual or len(said_keys) != len(keys):
        count = len(said_keys) if said else 0
        return f"{key} has {count} entries for {len(keys) if actual else 0} stripes"
    pairs = enumerate(zip(said_keys, keys, strict=True))
    at = next((n for n, (one, other) in pairs if one != other), 0)
    return f'{key} says "{said_keys[at]}" of stripe {at}, which ends with {keys[at]}'

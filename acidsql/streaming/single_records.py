"""Records that are written one by one: kept as Python values until there are many of them.

An Arrow table for each record would cost a hundred times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pyarrow as pa

from acidsql.model.naming import is_text
from acidsql.model.table import Column
from acidsql.model.types import ColumnType
from acidsql.orc.schema import arrow_type
from acidsql.orc.values import storable
from acidsql.streaming.plain_values import UNSURE, Plain, of_json, of_python, of_text
from acidsql.streaming.values import NULL_TEXT
from acidsql.streaming.writers import (
    JSON_DECODER,
    ArrowRecordWriter,
    RecordWriter,
    StrictDelimitedInputWriter,
    StrictJsonWriter,
    StrictRegexWriter,
    TextRecordWriter,
)

Row = Sequence[Any]
"""The values of a record, in the order of the columns."""
_RowOf = Callable[[Any], Row | None]
"""Gives the row that a record writer makes of a record; None if that is not sure."""

_ROWS_MAX = 8192
_BYTES_MAX = 8 << 20
_PARTITIONS_MAX = 10_000


class SingleRecords:
    """Rows of single records, in their order, that are in no Arrow table yet.

    Takes only records of which its record writer rejects nothing. ``partitioned`` tells how many of
    the columns, at the end, are partition columns. The columns ``required`` may have no null.
    """

    def __init__(
        self,
        writer: RecordWriter,
        columns: Sequence[Column],
        partitioned: int = 0,
        required: Collection[str] = (),
    ) -> None:
        self._row_of = row_of(writer, columns)
        self._columns, self._first = columns, len(columns) - partitioned
        self._partitioned = partitioned
        self._required = [at for at, column in enumerate(columns) if column.name in required]
        self._partitions: set[tuple[Any, ...]] = set()
        self._rows: list[Row] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows for an Arrow table."""
        return len(self._rows) >= _ROWS_MAX or self._bytes >= _BYTES_MAX

    def take(self, record: Any) -> bool:
        """Take a record; False if it has to go the long way."""
        row = self._row_of(record)
        if row is None or (self._partitioned and tuple(row[self._first :]) not in self._partitions):
            return False
        if self._required and any(row[at] is None for at in self._required):
            return False
        self._rows.append(row)
        self._bytes += sum(len(v) for v in row if type(v) is str or type(v) is bytes)
        return True

    def accepted(self, record: Any) -> None:
        """The long way has taken a record: so its partition is good for others, too."""
        if not self._partitioned:
            return
        row = self._row_of(record)
        if row is not None and len(self._partitions) < _PARTITIONS_MAX:
            self._partitions.add(tuple(row[self._first :]))

    def drain(self) -> pa.Table | None:
        """All rows, which are gone from here afterwards; None if there are none."""
        if not self._rows:
            return None
        rows, self._rows, self._bytes = self._rows, [], 0
        arrays = [
            storable(pa.array(values, arrow_type(column.type)), column)
            for values, column in zip(zip(*rows, strict=True), self._columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=[c.name for c in self._columns])

    def clear(self) -> None:
        """Forget the rows."""
        self._rows, self._bytes = [], 0


def row_of(writer: RecordWriter, columns: Sequence[Column]) -> _RowOf:
    """The short way of a record writer for one record. There is none for classes that are not ours.

    >>> from acidsql.model.types import PrimitiveType
    >>> row_of(StrictDelimitedInputWriter(), [Column("a", PrimitiveType("int"))])(b"7")
    [7]
    """
    # A class derived from ours may have another `encode`: so the very type counts.
    kind = type(writer)
    if kind is ArrowRecordWriter:
        members = _members(columns, of_python)
        return lambda record: members(record) if type(record) is dict else None
    if isinstance(writer, StrictDelimitedInputWriter) and kind is StrictDelimitedInputWriter:
        return _of_line(writer, _delimited(writer, columns))
    if isinstance(writer, StrictRegexWriter) and kind is StrictRegexWriter:
        return _of_line(writer, _groups(writer, columns))
    if isinstance(writer, StrictJsonWriter) and kind is StrictJsonWriter:
        return _of_line(writer, _object(columns))
    return lambda record: None


def _of_line(writer: TextRecordWriter, row: Callable[[str], Row | None]) -> _RowOf:
    delimiter = writer.line_delimiter

    def of_record(record: Any) -> Row | None:
        if type(record) is bytes:
            try:
                line = record.decode()
            except UnicodeDecodeError:
                return None
        elif type(record) is str and is_text(record):
            line = record
        else:
            return None
        line = line.removesuffix(delimiter)
        return row(line) if line and delimiter not in line else None

    return of_record


def _delimited(
    writer: StrictDelimitedInputWriter, columns: Sequence[Column]
) -> Callable[[str], Row | None]:
    row, delimiter = _values([of_text(c.type) for c in columns]), writer.field_delimiter

    def of_line(line: str) -> Row | None:
        return row([None if f == NULL_TEXT else f for f in line.split(delimiter)])

    return of_line


def _groups(writer: StrictRegexWriter, columns: Sequence[Column]) -> Callable[[str], Row | None]:
    row, matched = _values([of_text(c.type) for c in columns]), writer.regex.fullmatch

    def of_line(line: str) -> Row | None:
        match = matched(line)
        return None if match is None else row(match.groups())

    return of_line


def _object(columns: Sequence[Column]) -> Callable[[str], Row | None]:
    members = _members(columns, of_json)

    def of_line(line: str) -> Row | None:
        try:
            record = JSON_DECODER.decode(line)
        except (ValueError, RecursionError):
            return None
        return members(record) if type(record) is dict else None

    return of_line


def _values(kinds: Sequence[Plain]) -> Callable[[Sequence[Any]], Row | None]:
    """What makes a row of values in the order of the columns."""
    count = len(kinds)

    def of_values(values: Sequence[Any]) -> Row | None:
        if len(values) != count:
            return None
        row = [
            None if value is None else plain(value)
            for plain, value in zip(kinds, values, strict=True)
        ]
        return None if any(value is UNSURE for value in row) else row

    return of_values


def _members(
    columns: Sequence[Column], plain: Callable[[ColumnType], Plain]
) -> Callable[[dict[Any, Any]], Row | None]:
    """What makes a row of a dict with the very names of the columns."""
    row, names = _values([plain(c.type) for c in columns]), [c.name for c in columns]

    def of_dict(record: dict[Any, Any]) -> Row | None:
        if len(record) != len(names):
            return None
        try:
            return row([record[name] for name in names])
        except KeyError:
            return None

    return of_dict

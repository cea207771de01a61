"""Read ACID ORC files with pyarrow: events, row ids, stripe by stripe."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa

from acidsql.errors import CorruptFileError
from acidsql.orc.belonging import require_kind
from acidsql.orc.damage import naming, open_local
from acidsql.orc.footer import FileTail, read_tail
from acidsql.orc.schema import (
    CURRENT_TRANSACTION,
    EVENT_COLUMNS,
    KEY_COLUMNS,
    KEY_FIELDS,
    ROW,
    ROW_ID_COLUMNS,
)
from acidsql.orc.statistics import (
    ColumnStatistics,
    FileStatistics,
    actual_statistics,
    contradiction,
    merged,
    read_statistics,
)
from acidsql.orc.timestamps import MendedFile

Source = BinaryIO | str
"""A seekable stream, or a path in the local file system."""


@dataclass(frozen=True, slots=True)
class OrcInput:
    """An opened ORC file: its tail and its reader. ``path`` names the file in errors.

    ``statistics`` are those of an ACID file's event columns. None stands for a file that has none,
    or is not an ACID file.
    """

    path: str
    tail: FileTail
    file: MendedFile
    statistics: FileStatistics | None = None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the whole file."""
        with naming(self.path):
            return self.file.schema

    def stripes(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Each stripe, all columns or those named (``row.a`` for column ``a`` of ``row``)."""
        for number in range(len(self.tail.stripes)):
            yield self.stripe(number, names)

    def stripe(self, number: int, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """One stripe. CorruptFileError if its event columns contradict its statistics."""
        batch = self.unverified_stripe(number, names)
        self._verify(number, batch)
        return batch

    def unverified_stripe(self, number: int, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """One stripe, without a look at its statistics."""
        with naming(self.path):
            return self.file.read_stripe(number, names)

    def batches(self, number: int, rows: int) -> Iterator[pa.RecordBatch]:
        """One stripe with all columns, ``rows`` rows at a time, without a look at its statistics.

        They are of the whole stripe: `stripe` compares the event columns with them.
        """
        with naming(self.path):
            yield from self.file.read_batches(number, rows)

    def key_batches(self, number: int, rows: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Event columns of one stripe, ``rows`` rows at a time.

        CorruptFileError, behind the last batch, if they contradict the stripe's statistics.
        """
        found: dict[str, ColumnStatistics] = {}
        with naming(self.path):
            for batch in self.file.read_batches(number, rows, names):
                for name, part in self._statistics_of(batch).items():
                    found[name] = merged(found[name], part) if name in found else part
                yield batch
        self._compare_all(number, found)

    def _verify(self, number: int, batch: pa.RecordBatch) -> None:
        """CorruptFileError if the event columns contradict the stripe's statistics.

        ORC has no checksums, but each column has a sum, a least and a greatest value. They are
        compared because a wrong row id would delete another row.
        """
        if self.statistics is not None:
            self._compare_all(number, self._statistics_of(batch))

    def _statistics_of(self, batch: pa.RecordBatch) -> dict[str, ColumnStatistics]:
        """The true statistics of the event columns."""
        keys = [name for name in self.tail.column_names[:-1] if name in batch.schema.names]
        with naming(self.path):
            found = actual_statistics(batch.select(keys))
        return {name: statistics for name, statistics in found if statistics is not None}

    def _compare_all(self, number: int, actual: Mapping[str, ColumnStatistics]) -> None:
        if self.statistics is None:
            return
        said = [self.statistics.stripes[number]] if number < len(self.statistics.stripes) else []
        if len(self.tail.stripes) == 1:
            # The file's statistics say the same of its only stripe. Damage may hide those of the
            # stripe, or a part of them.
            said.append(self.statistics.file)
        for columns in said:
            for name, column in zip(self.tail.column_names[:-1], columns[1:], strict=False):
                if name in actual:
                    self._compare(number, name, column, actual[name])

    def _compare(
        self, number: int, name: str, said: ColumnStatistics | None, found: ColumnStatistics
    ) -> None:
        if said is None:
            return
        with naming(self.path):
            reason = contradiction(said, found)
        if reason is not None:
            raise CorruptFileError(
                f'file "{self.path}" contradicts its own statistics',
                detail=f"Stripe {number}, {name}: {reason}.",
            )

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """All stripes as one table."""
        batches = list(self.stripes(names))
        if batches:
            return pa.Table.from_batches(batches)
        with naming(self.path):
            return self.file.read(names)

    def names(self, columns: Sequence[str] | None) -> list[str] | None:
        """The names of the event columns, and of the given columns as far as ``row`` has them."""
        if columns is None:
            return None
        with naming(self.path):
            row = self.schema.field(ROW).type
            there = {row.field(at).name for at in range(row.num_fields)}
        return [*KEY_COLUMNS, *(f"{ROW}.{name}" for name in columns if name in there)]


class Beginning(io.RawIOBase):
    """The first ``length`` bytes of a stream, as a stream of their own.

    >>> Beginning(io.BytesIO(b"abcdef"), 4).read()
    b'abcd'
    """

    def __init__(self, source: BinaryIO, length: int) -> None:
        super().__init__()
        self._source, self._length, self._at = source, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), max(0, self._length - self._at))
        self._source.seek(self._at)
        data = self._source.read(wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@contextmanager
def open_orc(
    source: Source, path: str = "", length: int | None = None, *, exact: bool = False
) -> Iterator[OrcInput]:
    """The opened file; a local one is closed at the end.

    ``length`` is how many bytes are valid of a file that a streaming writer has open. ``exact``
    gives timestamps as EXACT. Raises MissingFileError or CorruptFileError, as `read_tail` does.
    """
    if isinstance(source, str):
        path = path or source
    with opened_source(source, path) as stream:
        yield _opened(stream, path, length, exact=exact)


def _opened(source: BinaryIO, path: str, length: int | None, *, exact: bool) -> OrcInput:
    tail = read_tail(source, path, length)
    with naming(path):
        source.seek(0)
        if length is not None:
            source = cast(BinaryIO, Beginning(source, length))
        file = MendedFile(source, tail, exact=exact)
    statistics = None
    # Hive 3 writes no statistics into files without a row index.
    if tail.is_acid and tail.row_index_stride > 0:
        statistics = read_statistics(source, tail, path, len(EVENT_COLUMNS))
    return OrcInput(path, tail, file, statistics)


@contextmanager
def opened_source(source: Source, path: str = "") -> Iterator[BinaryIO]:
    """The bytes of a source; a local file is closed at the end. MissingFileError if it is gone."""
    if isinstance(source, str):
        with open_local(source, path or source) as stream:
            yield stream
    else:
        yield source


def read_events(
    source: Source,
    path: str = "",
    columns: Sequence[str] | None = None,
    *,
    length: int | None = None,
    exact: bool = False,
) -> pa.Table:
    """The events of an ACID file: five event columns and ``row``, all of it or these columns.

    Columns that the file lacks are left out. Timestamps are in nanoseconds; with ``exact`` and all
    columns they are EXACT. Dates are in the proleptic calendar, whatever the file's calendar is.
    CorruptFileError if it is not an ACID file.
    """
    with open_orc(source, path, length, exact=exact) as opened:
        require_acid(opened)
        return opened.read(opened.names(columns))


DELETE_COLUMNS = (*ROW_ID_COLUMNS, CURRENT_TRANSACTION)
"""All that a delete event says."""


def read_row_ids(source: Source, path: str = "", *, length: int | None = None) -> pa.Table:
    """The row ids and currentTransaction, which is all that a delete file holds."""
    with open_orc(source, path, length) as opened:
        require_acid(opened)
        return opened.read(DELETE_COLUMNS)


@contextmanager
def open_deletes(
    source: Source, path: str = "", *, length: int | None = None
) -> Iterator[OrcInput]:
    """The opened file of deletes. CorruptFileError if it holds inserts."""
    with open_orc(source, path, length) as opened:
        require_acid(opened)
        require_kind(opened.tail, opened.path, is_delete=True)
        yield opened


def read_deletes(source: Source, path: str = "", *, length: int | None = None) -> pa.Table:
    """`read_row_ids` of a file of deletes. CorruptFileError if it holds inserts."""
    with open_deletes(source, path, length=length) as opened:
        return opened.read(DELETE_COLUMNS)


def iter_stripes(
    source: Source,
    path: str = "",
    columns: Sequence[str] | None = None,
    *,
    length: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The events of an ACID file, one stripe at a time."""
    with open_orc(source, path, length) as opened:
        require_acid(opened)
        yield from opened.stripes(opened.names(columns))


def is_acid_file(source: Source, path: str = "", *, length: int | None = None) -> bool:
    """Whether the file has Hive's six event columns."""
    return read_tail(source, path, length).is_acid


def require_acid(opened: OrcInput) -> None:
    """CorruptFileError unless the file has the six event columns, with Hive's types."""
    if opened.tail.column_names != EVENT_COLUMNS:
        raise CorruptFileError(
            f'file "{opened.path}" is not an ACID file',
            detail=f"Its columns are {', '.join(opened.tail.column_names) or 'none'}, "
            f"not {', '.join(EVENT_COLUMNS)}.",
        )
    for found, wanted in zip(opened.schema, KEY_FIELDS, strict=False):
        if not found.type.equals(wanted.type):
            raise CorruptFileError(
                f'file "{opened.path}" is not an ACID file',
                detail=f"Its column {found.name} is {found.type}, not {wanted.type}.",
            )


def valid_length(side_file: bytes, path: str = "") -> int:
    """How many bytes of a streamed file are valid: the last 64-bit number of its side file.

    A number that its writer has not finished does not count.

    >>> valid_length(bytes(7) + b"*" + bytes(3))
    42
    """
    whole = len(side_file) // 8
    if whole == 0:
        raise CorruptFileError(f'side file "{path}" holds no length')
    return int(struct.unpack(">q", side_file[8 * whole - 8 : 8 * whole])[0])

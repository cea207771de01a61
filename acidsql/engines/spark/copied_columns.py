"""New versions of all rows of a table, of which only the columns that an UPDATE sets are encoded.

One job computes the row ids and the new values, and Spark's own writer encodes them. All other
columns are copied, as they are compressed, from the files of the old versions (`orc.set_columns`).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.output import OutputFile, Target
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.selection import SelectedFile, Selection, source_of
from acidsql.engines.spark.encoded_changes import EncodedVersions, encoded_versions
from acidsql.engines.spark.encoding import can_encode
from acidsql.engines.spark.parts import files_of_places, opened_path, written_file
from acidsql.errors import ExecutionError
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.names import quote_identifier as quote
from acidsql.model.row_id import RowId
from acidsql.model.table import Column, Table
from acidsql.orc.footer import FileTail, read_tail
from acidsql.orc.keys import Flags, RowIds, RowPositions
from acidsql.orc.reader import open_orc, opened_source
from acidsql.orc.schema import ROW_ID_COLUMNS, row_schema
from acidsql.orc.set_columns import NewVersions, can_set_columns, set_columns
from acidsql.orc.statistics import file_statistics, least_bytes
from acidsql.orc.writer import WrittenFile
from acidsql.ports.storage import Storage
from acidsql.process.threads import STORAGE_THREADS, in_threads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART_BYTES_MAX = 512 << 20
"""A part of Spark's may take so many bytes of memory."""

_PARTS_HELD = 2
"""Rows that follow each other in a file are in one part, or in two."""

_HELD_BYTES_MAX = 1 << 30
"""So many bytes of parts are held by all threads of the driver."""


@dataclass(frozen=True, slots=True)
class ColumnCopies:
    """An UPDATE of all rows of a table without partitions, which sets the columns called ``names``.

    ``files`` have the old versions.
    """

    table: Table
    target: Target
    names: Sequence[str]
    files: Sequence[SelectedFile]

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        table: Table,
        target: Target,
        names: Sequence[str],
        selection: Selection,
    ) -> ColumnCopies | None:
        """None if the columns of the files cannot be copied, or if it would not be faster.

        What is set is encoded twice, and read in between: by Spark, and by pyarrow in stripes of as
        many rows as the old ones have.
        """
        found = cls(table, target, names, selection.inserts)
        if table.partition_columns or 2 * len(names) > len(table.columns):
            return None
        if not can_encode(rows, found._narrow, target):
            return None
        if any(f.first or f.length is not None or f.bucket_id is None for f in found.files):
            return None
        paths = [file.path for file in found.files]
        tails = in_threads(lambda path: _tail(path, target.storage), paths, STORAGE_THREADS)
        alike = can_set_columns(tails, table.columns, target.format.compression)
        return found if alike else None

    @property
    def _narrow(self) -> Table:
        """The table with no other columns than those that are set."""
        columns = tuple(c for c in self.table.columns if c.name in self.names)
        return replace(self.table, columns=columns, bucketing=None)

    def write(self, rows: DataFrame, statement_id: StatementId) -> CopiedVersions | None:
        """Write the new versions.

        None if they take too much memory, or if Spark's writer cannot encode one of the texts. Then
        nothing is written.
        """
        named = rows.select(*map(quote, self.names), *CHANGED_ROW_ID)
        old = encoded_versions(named, self._narrow, self.target, [statement_id], 1)
        if old is None:
            return None
        storage = self.target.storage
        parts = in_threads(lambda path: _part(path, storage), old.paths, STORAGE_THREADS)
        if any(part.bytes > _PART_BYTES_MAX for part in parts):
            old.remove(with_delta=True)
            return None
        files = self._files(rows.sparkSession, parts, old.home, statement_id)
        found = sum(file.rows for file in files)
        if found != old.old_rows:
            raise ExecutionError(
                f"{found} of {old.old_rows} rows to update were found in the files of the table",
                detail="Two rows may have one row id, or a file has changed.",
                hint=f"CHECK TABLE {self.table.name} tells.",
            )
        return CopiedVersions(old, files)

    def _files(
        self, spark: SparkSession, parts: Sequence[_Part], home: str, statement_id: StatementId
    ) -> list[OutputFile]:
        """The event files, one for each bucket that has rows."""
        paths: dict[BucketId, list[str]] = defaultdict(list)
        for file in self.files:
            assert file.bucket_id is not None
            paths[file.bucket_id].append(file.path)
        places = [
            _Place(self.target.new_file(home, bucket_id, statement_id), some)
            for bucket_id, some in paths.items()
        ]
        copying = _Copying(self.target, self.table.columns, self._narrow.columns, parts)
        largest = max((part.bytes for part in parts), default=1)
        threads = max(1, _HELD_BYTES_MAX // (_PARTS_HELD * largest))
        return files_of_places(spark, places, copying.file, threads=threads)


@dataclass(frozen=True, slots=True)
class CopiedVersions:
    """The event files of the new versions, not yet published, and the ids of the old ones."""

    old: EncodedVersions
    files: list[OutputFile]


@dataclass(frozen=True, slots=True)
class _Place:
    """A file to be written, which has no name yet, and those that have the old versions."""

    file: OutputFile
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """One of Spark's files: the bytes that it takes in memory, and the bounds of its row ids."""

    path: str
    bytes: int
    low: tuple[int, ...]
    high: tuple[int, ...]

    def may_have(self, row_ids: RowIds) -> bool:
        """Whether some of the row ids may be in the part."""
        if not len(row_ids):
            return False
        columns = (row_ids.write_ids, row_ids.bucket_properties, row_ids.row_numbers)
        bounds = zip(self.low, self.high, columns, strict=True)
        return all(low <= found.max() and found.min() <= high for low, high, found in bounds)


def _part(path: str, storage: Storage) -> _Part:
    tail = _tail(path, storage)
    said = file_statistics(tail, path)
    ids = said[-len(CHANGED_ROW_ID) :]
    size = least_bytes(tail, said) + 8 * tail.rows * len(said)
    return _Part(path, size, tuple(s.low for s in ids), tuple(s.high for s in ids))


@dataclass(frozen=True, slots=True)
class _Copying:
    """Writes the files of places. A task gets it by pickle."""

    target: Target
    columns: tuple[Column, ...]
    changed: tuple[Column, ...]
    parts: Sequence[_Part]

    def file(self, place: _Place) -> OutputFile | None:
        """The file, under an attempt's name; None if no row has a new version."""
        storage, codec = self.target.storage, self.target.format.compression
        values = _NewValues(self)

        def write(path: str, first: RowId) -> WrittenFile:
            new = NewVersions(path, first, self.columns, codec, values.of)
            with ExitStack() as streams:
                return set_columns([opened_path(p, storage, streams) for p in place.paths], new)

        file = written_file(place.file, self.target, write)
        if file.rows:
            return file
        self.target.remove_attempt(file)
        return None


class _NewValues:
    """The new values of rows, read from Spark's files."""

    def __init__(self, copying: _Copying) -> None:
        self._copying = copying
        self._held: OrderedDict[str, _Rows] = OrderedDict()

    def of(self, row_ids: RowIds) -> tuple[Flags, pa.Table]:
        """Which of these rows have new versions, and the new values of those, in their order."""
        missing = np.arange(len(row_ids))
        found = [row_schema(self._copying.changed).empty_table()]
        places = [missing[:0]]
        for part in self._copying.parts:
            wanted = row_ids.where(missing)
            if not part.may_have(wanted):
                continue
            rows = self._rows(part.path)
            at = rows.positions.of(wanted)
            is_there = at >= 0
            found.append(_taken(rows.values, at[is_there]))
            places.append(missing[is_there])
            missing = missing[~is_there]
        there = np.ones(len(row_ids), np.bool_)
        there[missing] = False
        return there, _in_order(found, np.concatenate(places))

    def _rows(self, path: str) -> _Rows:
        """The rows of a part. Those used last are held."""
        if path not in self._held:
            while len(self._held) >= _PARTS_HELD:
                self._held.popitem(last=False)
            self._held[path] = _rows(path, self._copying.changed, self._copying.target.storage)
        self._held.move_to_end(path)
        return self._held[path]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a part: where each row id stands, and the new values."""

    positions: RowPositions
    values: pa.Table


def _rows(path: str, columns: Sequence[Column], storage: Storage) -> _Rows:
    with open_orc(source_of(path, storage), path) as opened:
        read = opened.read()
    ids = read.select(CHANGED_ROW_ID).rename_columns(list(ROW_ID_COLUMNS))
    schema = row_schema(columns)
    values = read.select(range(len(columns))).rename_columns(schema.names).cast(schema)
    return _Rows(RowPositions(RowIds.of(ids)), values.combine_chunks())


def _taken(rows: pa.Table, at: NDArray[np.intp]) -> pa.Table:
    """The rows at these positions. Rows that follow each other are not copied."""
    if len(at) and (np.diff(at) == 1).all():
        return rows.slice(int(at[0]), len(at))
    return rows.take(at)


def _in_order(parts: Sequence[pa.Table], places: NDArray[np.intp]) -> pa.Table:
    """The rows of all parts, in the order of their places."""
    rows = pa.concat_tables(parts)
    if (np.diff(places) > 0).all():
        return rows
    return rows.combine_chunks().take(np.argsort(places))


def _tail(path: str, storage: Storage) -> FileTail:
    with opened_source(source_of(path, storage), path) as source:
        return read_tail(source, path)

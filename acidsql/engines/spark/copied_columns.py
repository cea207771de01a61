"""New versions of all rows of partitions, of which only the columns that are set are encoded.

One job computes the row ids and the new values, and Spark's own writer encodes them. All other
columns are copied, as they are compressed, from the files of the old versions (`orc.set_columns`).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.changes import PARTITION
from acidsql.engines.output import OutputFile, Target, partition_text
from acidsql.engines.rows import CHANGED_ROW_ID, stretches
from acidsql.engines.selection import Selection, source_of
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

_PLACE = (PARTITION, *CHANGED_ROW_ID)
"""The columns that say where a row was."""

_PART_BYTES_MAX = 512 << 20
"""A part of Spark's may take so many bytes of memory."""

_HELD_BYTES_MAX = 1 << 30
"""So many bytes of parts are held. Rows that follow each other in a file are in one part, or in
two. But of small files, which Spark sorts by their sizes, a part has many.
"""


@dataclass(frozen=True, slots=True)
class ColumnCopies:
    """An UPDATE of all rows of a selection, which sets the columns called ``names``."""

    table: Table
    target: Target
    names: Sequence[str]
    selection: Selection

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
        found, files = cls(table, target, names, selection), selection.inserts
        if 2 * len(names) > len(table.columns) or not can_encode(rows, found._narrow, target):
            return None
        if any(f.first or f.length is not None or f.bucket_id is None for f in files):
            return None
        paths = [file.path for file in files]
        tails = in_threads(lambda path: _tail(path, target.storage), paths, STORAGE_THREADS)
        alike = can_set_columns(tails, table.columns, target.format.compression)
        return found if alike else None

    @property
    def _narrow(self) -> Table:
        """The table with no other columns than those that are set, and in one place."""
        columns = tuple(c for c in self.table.columns if c.name in self.names)
        return replace(self.table, columns=columns, bucketing=None, partition_columns=())

    def _partition(self, index: int) -> str:
        """The text of a partition of the selection."""
        return partition_text(self.selection.partitions[index].name)

    def write(self, rows: DataFrame, statement_id: StatementId) -> CopiedVersions | None:
        """Write the new versions.

        None if they take too much memory, or if Spark's writer cannot encode one of the texts. Then
        nothing is written.
        """
        home = self._partition(self.selection.inserts[0].partition)
        named = rows.select(*map(quote, self.names), PARTITION, *CHANGED_ROW_ID)
        old = encoded_versions(named, self._narrow, self.target, [statement_id], 1, partition=home)
        if old is None:
            return None
        storage = self.target.storage
        parts = in_threads(lambda path: _part(path, storage), old.paths, STORAGE_THREADS)
        if any(part.bytes > _PART_BYTES_MAX for part in parts):
            old.remove(with_delta=True)
            return None
        files = self._files(rows.sparkSession, parts, old, statement_id)
        found = sum(file.rows for file in files)
        if found != old.old_rows:
            raise ExecutionError(
                f"{found} of {old.old_rows} rows to update were found in the files of the table",
                detail="Two rows may have one row id, or a file has changed.",
                hint=f"CHECK TABLE {self.table.name} tells.",
            )
        return CopiedVersions(old, files)

    def _files(
        self,
        spark: SparkSession,
        parts: Sequence[_Part],
        old: EncodedVersions,
        statement_id: StatementId,
    ) -> list[OutputFile]:
        """The event files, one for each bucket of a partition that has rows."""
        target = self.target
        paths: dict[tuple[int, BucketId], list[str]] = defaultdict(list)
        for file in self.selection.inserts:
            assert file.bucket_id is not None
            paths[file.partition, file.bucket_id].append(file.path)
        homes = {
            index: target.make_directory_written(statement_id, self._partition(index))
            for index in dict.fromkeys(index for index, _ in paths)
        }
        places = [
            _Place(
                target.new_file(homes[index], bucket_id, statement_id, self._partition(index)),
                index,
                some,
            )
            for (index, bucket_id), some in paths.items()
        ]
        held = _HeldParts(self._narrow.columns, target.storage)
        copying = _Copying(target, self.table.columns, parts, held)
        files = files_of_places(spark, places, copying.file)
        used = {old.home, *(file.directory for file in files)}
        for index, home in homes.items():
            if home not in used:
                target.storage.remove(target.own(self._partition(index), home))
        return files


@dataclass(frozen=True, slots=True)
class CopiedVersions:
    """The event files of the new versions, not yet published, and the ids of the old ones."""

    old: EncodedVersions
    files: list[OutputFile]

    def remove_old(self) -> None:
        """Remove the ids, and the directory that they lie in, if it has no new version."""
        used = any(file.directory == self.old.home for file in self.files)
        self.old.remove(with_delta=not used)


@dataclass(frozen=True, slots=True)
class _Place:
    """A file to be written, which has no name yet, and those that have the old versions.

    ``partition`` is its index in the selection.
    """

    file: OutputFile
    partition: int
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """One of Spark's files: the bytes that it takes in memory, and the bounds of its rows.

    The bounds are those of `_PLACE`. Without partitions, all rows are in partition 0.
    """

    path: str
    bytes: int
    low: tuple[int, ...]
    high: tuple[int, ...]

    def may_have(self, partition: int, row_ids: RowIds) -> bool:
        """Whether some of these rows of a partition may be in the part."""
        if not len(row_ids):
            return False
        ids = (row_ids.write_ids, row_ids.bucket_properties, row_ids.row_numbers)
        bounds = zip(self.low, self.high, (np.array([partition]), *ids), strict=True)
        return all(low <= found.max() and found.min() <= high for low, high, found in bounds)


def _part(path: str, storage: Storage) -> _Part:
    tail = _tail(path, storage)
    said = file_statistics(tail, path)
    size = least_bytes(tail, said) + 8 * tail.rows * len(said)
    known = dict(zip(tail.column_names, said[1:], strict=True))
    places = [known.get(name) for name in _PLACE]
    low = tuple(0 if each is None else each.low for each in places)
    high = tuple(0 if each is None else each.high for each in places)
    return _Part(path, size, low, high)


@dataclass(frozen=True, slots=True)
class _Copying:
    """Writes the files of places. A task gets it by pickle. ``columns`` are those of the table."""

    target: Target
    columns: tuple[Column, ...]
    parts: Sequence[_Part]
    held: _HeldParts

    def file(self, place: _Place) -> OutputFile | None:
        """The file, under an attempt's name; None if no row has a new version."""
        storage, codec = self.target.storage, self.target.format.compression

        def values(row_ids: RowIds) -> tuple[Flags, pa.Table]:
            return self._values(place.partition, row_ids)

        def write(path: str, first: RowId) -> WrittenFile:
            new = NewVersions(path, first, self.columns, codec, values)
            with ExitStack() as streams:
                return set_columns([opened_path(p, storage, streams) for p in place.paths], new)

        file = written_file(place.file, self.target, write)
        if file.rows:
            return file
        self.target.remove_attempt(file)
        return None

    def _values(self, partition: int, row_ids: RowIds) -> tuple[Flags, pa.Table]:
        """Which rows have new versions, and the new values of those, in their order."""
        missing = np.arange(len(row_ids))
        found = [row_schema(self.held.columns).empty_table()]
        places = [missing[:0]]
        for part in self.parts:
            wanted = row_ids.where(missing)
            if not part.may_have(partition, wanted):
                continue
            rows = self.held.rows(part)
            at = rows.positions(partition, wanted)
            is_there = at >= 0
            found.append(_taken(rows.values, at[is_there]))
            places.append(missing[is_there])
            missing = missing[~is_there]
        there = np.ones(len(row_ids), np.bool_)
        there[missing] = False
        return there, _in_order(found, np.concatenate(places))


class _HeldParts:
    """The rows of the parts that were used last, each read once. ``columns`` are those set.

    Several threads may ask for one. A pickled copy holds none.
    """

    def __init__(self, columns: tuple[Column, ...], storage: Storage) -> None:
        self.columns = columns
        self._storage = storage
        self._held: OrderedDict[_Part, Future[_Rows]] = OrderedDict()
        self._guard = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _HeldParts, (self.columns, self._storage)

    def rows(self, part: _Part) -> _Rows:
        """The rows of a part."""
        with self._guard:
            found = self._held.get(part)
            read = self._held[part] = found or Future()
            self._held.move_to_end(part)
            while len(self._held) > 1 and sum(p.bytes for p in self._held) > _HELD_BYTES_MAX:
                self._held.popitem(last=False)
        if found is None:
            try:
                read.set_result(_Rows.of(part.path, self.columns, self._storage))
            except BaseException as error:
                read.set_exception(error)
        return read.result()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a part: the new values, and where the rows of each partition stand."""

    values: pa.Table
    places: Mapping[int, tuple[RowPositions, NDArray[np.intp]]]

    @classmethod
    def of(cls, path: str, columns: Sequence[Column], storage: Storage) -> _Rows:
        """The rows of a part at a path."""
        with open_orc(source_of(path, storage), path) as opened:
            read = opened.read()
        schema = row_schema(columns)
        values = read.select(range(len(columns))).rename_columns(schema.names).cast(schema)
        ids = RowIds.of(read.select(CHANGED_ROW_ID).rename_columns(list(ROW_ID_COLUMNS)))
        partitions = np.zeros(len(ids), np.int32)
        if PARTITION in read.schema.names:
            partitions = read.column(PARTITION).to_numpy()
        order = np.argsort(partitions, kind="stable")
        found = {}
        for start, end in stretches([partitions[order]]):
            rows = order[start:end]
            found[int(partitions[rows[0]])] = RowPositions(ids.where(rows)), rows
        return cls(values.combine_chunks(), found)

    def positions(self, partition: int, row_ids: RowIds) -> NDArray[np.intp]:
        """Where each of these rows of a partition stands; -1 for one that is not there."""
        if partition not in self.places:
            return np.full(len(row_ids), -1, np.intp)
        positions, rows = self.places[partition]
        at = positions.of(row_ids)
        return np.where(at >= 0, rows[at], -1)


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

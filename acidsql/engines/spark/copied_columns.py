"""New versions of all rows of partitions, of which only the columns that are set are encoded.

One job computes the row ids and the new values, and Spark's own writer encodes them. All other
columns are copied, as they are compressed, from the files of the old versions (`orc.set_columns`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from acidsql.engines.changes import PARTITION
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.selection import Selection, tail_of
from acidsql.engines.spark.encoded_changes import EncodedVersions, encoded_versions
from acidsql.engines.spark.encoding import can_encode, require_values
from acidsql.engines.spark.new_values import NewValues, Rows
from acidsql.engines.spark.parts import files_of_places, opened_path, written_file
from acidsql.engines.spark.row_id_parts import (
    ROWS_MAX,
    HeldParts,
    Part,
    by_first_part,
    parts_in_order,
    threads_for,
)
from acidsql.engines.target import OutputFile, Target, partition_text
from acidsql.errors import ExecutionError
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.names import quote_identifier as quote
from acidsql.model.row_id import RowId
from acidsql.model.table import Column, Table
from acidsql.model.types import CharType, walk_types
from acidsql.orc.footer import FileTail
from acidsql.orc.set_columns import NewVersions, can_set_columns, set_columns, values_of
from acidsql.orc.writer import WrittenFile
from acidsql.process.threads import STORAGE_THREADS, in_threads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART_BYTES_MAX = 1 << 30
"""A part of Spark's may take so many bytes of memory. Of the rows of 128 MiB of a table, which is
what Spark gives to a task, row ids and a number take a quarter of it or half.
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
        tails = in_threads(lambda path: tail_of(path, target.storage), paths, STORAGE_THREADS)
        alike = can_set_columns(tails, table.columns, target.format.compression)
        alike = alike and all(map(_is_legible, found._texts))
        return found if alike and found._has_values(tails) else None

    @property
    def _texts(self) -> tuple[Column, ...]:
        """The columns that are copied, and whose texts may be longer than their type says.

        Readers cut such texts. They may be there if the column had another type before.
        """
        if self.table.is_unchanged:
            return ()
        copied = (c for c in self.table.columns if c.name not in self.names)
        return tuple(c for c in copied if any(isinstance(k, CharType) for k in walk_types(c.type)))

    @property
    def _narrow(self) -> Table:
        """The table with no other columns than those that are set, and in one place."""
        columns = tuple(c for c in self.table.columns if c.name in self.names)
        return replace(self.table, columns=columns, bucketing=None, partition_columns=())

    def _partition(self, index: int) -> str:
        """The text of a partition of the selection."""
        return partition_text(self.selection.partitions[index].name)

    def _has_values(self, tails: Sequence[FileTail]) -> bool:
        """Whether no column that is copied has a null where no new row may have one."""
        copied = {column.name for column in self.table.columns} - set(self.names)
        required = copied & self.target.required.columns.keys()
        return all(values_of(tail, name) == tail.rows for tail in tails for name in required)

    def write(self, rows: DataFrame, statement_id: StatementId) -> CopiedVersions | None:
        """Write the new versions.

        None if they take too much memory, if their order is not that of the files, or if Spark's
        writer cannot encode one of the texts. Then nothing is written.

        ConstraintViolationError for a null in a column that may have none.
        """
        home = self._partition(self.selection.inserts[0].partition)
        named = rows.select(*map(quote, self.names), PARTITION, *CHANGED_ROW_ID)
        old = encoded_versions(named, self._narrow, self.target, [statement_id], 1, partition=home)
        if old is None:
            return None
        require_values(old.changing_paths, old.encoding, self.target)
        parts = None
        if old.rows_max <= ROWS_MAX:
            parts = parts_in_order(old.changing_paths, self.target.storage)
        if parts is None or any(part.bytes > _PART_BYTES_MAX for part in parts):
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
        parts: Sequence[Part],
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
            for (index, bucket_id), some in by_first_part(paths, parts)
        ]
        columns = self._narrow.columns
        threads = threads_for(parts)
        held = HeldParts(partial(Rows.of, columns=columns, storage=target.storage), threads)
        values = NewValues(parts, columns, held)
        copying = _Copying(target, self.table.columns, values, self._texts)
        files = files_of_places(spark, places, copying.file, threads=threads)
        used = {old.home, *(file.directory for file in files)}
        for index, home in homes.items():
            if home not in used:
                target.storage.remove(target.own(self._partition(index), home))
        return files


def _is_legible(column: Column) -> bool:
    """Whether the texts of the column can be read by its name alone."""
    return isinstance(column.type, CharType) and "." not in column.name


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
class _Copying:
    """Writes the files of places. A task gets it by pickle. ``columns`` are those of the table."""

    target: Target
    columns: tuple[Column, ...]
    values: NewValues
    texts: tuple[Column, ...]

    def file(self, place: _Place) -> OutputFile | None:
        """The file, under an attempt's name; None if no row has a new version."""
        storage, codec = self.target.storage, self.target.format.compression
        values = partial(self.values.of, place.partition)

        def write(path: str, first: RowId) -> WrittenFile:
            new = NewVersions(path, first, self.columns, codec, values, self.texts)
            with ExitStack() as streams:
                return set_columns([opened_path(p, storage, streams) for p in place.paths], new)

        file = written_file(place.file, self.target, write)
        if file.rows:
            return file
        self.target.remove_attempt(file)
        return None

"""Changed rows to files: by the driver if they are few, else by tasks.

If a statement likely yields few bytes, one job collects its rows. Others, and rows that turn out to
be too many for that job, go one of two ways. Spark's own writer encodes the new versions of an
UPDATE where they are computed (`encoded_changes`), and the row ids of a DELETE (`encoded_deletes`).
All other rows are moved by a shuffle to the tasks that would write them, one for each bucket
(`moved`). Then their size is known: the driver
collects them, or the tasks write them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.changes import LEG, PARTITION, ChangeLeg, ChangeWriter, writing_order
from acidsql.engines.matches import Ambiguous, Matches
from acidsql.engines.nanoseconds import FineRows, fine_rows
from acidsql.engines.output import Output
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.spark.arrow import compressed
from acidsql.engines.spark.copied_columns import ColumnCopies
from acidsql.engines.spark.encoded_changes import (
    EncodedVersions,
    can_encode_versions,
    encoded_versions,
    in_few_tasks,
)
from acidsql.engines.spark.encoded_deletes import write_encoded_deletes
from acidsql.engines.spark.encoding import can_encode
from acidsql.engines.spark.job import (
    collect_if_small,
    collect_moved,
    driver_bytes,
    row_width,
    run_tasks,
)
from acidsql.engines.spark.moved import MovedRows, moved
from acidsql.engines.spark.read import Scan
from acidsql.engines.spark.row_id_parts import ROWS_MAX, Part, parts_in_order
from acidsql.engines.target import TABLE_ITSELF, OutputFile, Target, partition_text
from acidsql.model.ids import StatementId
from acidsql.model.predicate import Predicate
from acidsql.model.row_id import BUCKET_ID_MAX, CODEC_V1
from acidsql.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SMALL_BYTES = 4 << 20
"""Up to this size of a table's files, changes are collected: a scan in vain costs little time."""

_IDS = frozenset({PARTITION, LEG, *CHANGED_ROW_ID})
"""The columns of rows that are deleted. All of them are numbers."""

_ID_BYTES = 32
"""The bytes of such a row in Arrow."""

_TASKS_MAX = 4096
_BUCKET = CHANGED_ROW_ID[1]
OLD_BUCKET = f"if({_BUCKET} >= {CODEC_V1}, shiftright({_BUCKET}, 16) & {BUCKET_ID_MAX}, {_BUCKET})"
"""The bucket of the old version of a row: `bucket_ids` in Spark SQL."""

_HOME = f"coalesce({PARTITION}, -1 - spark_partition_id())"
"""What a row is moved by, beside its bucket: the partition of a changed row.

A row that a MERGE inserts has no partition yet. The number of the task that computes it stands in:
a second evaluation sends the row to the same place.
"""


@dataclass(frozen=True, slots=True)
class Written:
    """The files of a write, and the `Matches.hits` and `Matches.ambiguous` of a MERGE."""

    files: list[OutputFile]
    hits: np.ndarray
    ambiguous: Ambiguous


@dataclass(frozen=True, slots=True)
class Changes:
    """How the changed rows of a statement become files.

    In a MERGE a row may come several times. ``make_matches`` makes what judges its matches. If all
    rows of the table are updated, each in one way, ``set_columns`` are the columns that are set.
    """

    table: Table
    scan: Scan
    target: Target
    legs: Sequence[ChangeLeg]
    make_matches: Callable[[], Matches] | None = None
    set_columns: Sequence[str] = ()

    def write(self, rows: DataFrame, *, few: bool) -> Written:
        """Write the rows; with ``few`` they are likely small enough for the driver."""
        if few or self._is_small:
            table = self.collected(rows)
            if table is not None:
                return self.write_collected(table)
        encoded = self._copied(rows) or self._encoded(rows) or self._encoded_deletes(rows)
        if encoded is not None:
            return encoded
        with self.moved(rows) as there:
            return self.write_moved(there, there.frame)

    def collected(self, rows: DataFrame) -> pa.Table | None:
        """The rows, if the driver can hold them."""
        names = rows.columns
        are_ids = _IDS.issuperset(names)
        width = _ID_BYTES if are_ids else row_width(names)
        with compressed(rows.sparkSession) if are_ids else nullcontext():
            return collect_if_small(rows, width, self.scan.selection, driver_bytes(are_ids=are_ids))

    def _copied(self, rows: DataFrame) -> Written | None:
        """Write new versions of all rows, copying what is not set; None if that cannot be."""
        if not self.set_columns or self._has_fine_rows():
            return None
        copies = ColumnCopies.of(
            rows, self.table, self.target, self.set_columns, self.scan.selection
        )
        if copies is None:
            return None
        new = copies.write(rows, self.legs[0].statement_id)
        if new is None:
            return None
        written = self._without_old(new.old, rows.sparkSession)
        new.remove_old()
        return replace(written, files=written.files + new.files)

    def _encoded(self, rows: DataFrame) -> Written | None:
        """Write new versions of rows that Spark's writer encodes; None if it does not."""
        if len(self.legs) != 1 or not self.legs[0].is_update or self.legs[0].moves:
            return None
        if not can_encode_versions(rows, self.table, self.target):
            return None
        return self.write_encoded(rows)

    def _encoded_deletes(self, rows: DataFrame) -> Written | None:
        """Delete rows whose ids Spark's writer encodes; None if it does not."""
        if not _IDS.issuperset(rows.columns) or len(self.legs) != 1 or self.make_matches:
            return None
        table = replace(self.table, columns=(), bucketing=None, partition_columns=())
        if self.legs[0].is_update or not can_encode(rows, table, self.target):
            return None
        home = partition_text(self.scan.selection.partitions[0].name)
        ids = rows.select(PARTITION, *CHANGED_ROW_ID)
        new = encoded_versions(
            ids, table, self.target, [self.legs[0].statement_id], 1, partition=home
        )
        if new is None:
            return None
        written = self._without_old(new, rows.sparkSession)
        new.remove(with_delta=True)
        return written

    def write_encoded(
        self,
        rows: DataFrame,
        inserting: Sequence[StatementId] = (),
        bucket: Column | None = None,
    ) -> Written | None:
        """Write rows of which `can_encode_versions` is true; None if one cannot be encoded.

        Behind the legs there may be others, which insert rows. These are their statements. In a
        table with buckets, a row goes into ``bucket``; without it, into that of its old version.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        statement_ids = [leg.statement_id for leg in self.legs]
        every = [*statement_ids, *inserting]
        changing = len(self.legs)
        place = F.expr(OLD_BUCKET) if bucket is None else bucket
        few = in_few_tasks(rows)
        new = encoded_versions(few, self.table, self.target, every, changing, place)
        if new is None:
            return None
        spark = rows.sparkSession
        written = self._without_old(new, spark)
        if not written.ambiguous.count:
            kept = [n for n in range(len(every)) if n >= changing or self.legs[n].is_update]
            written = replace(written, files=written.files + new.written(spark, kept))
        home = self.target.directory_written(TABLE_ITSELF, every[0], is_delete=False)
        new.remove(with_delta=not any(file.directory == home for file in written.files))
        return written

    def _without_old(self, new: EncodedVersions, spark: SparkSession) -> Written:
        """Delete the old versions of rows whose new versions are written elsewhere."""
        legs = [replace(leg, moves=leg.is_update) for leg in self.legs]
        deletes = replace(self, legs=legs, set_columns=())
        if new.old_rows * _ID_BYTES <= driver_bytes(are_ids=True):
            return deletes.write_collected(new.old_ids())
        is_alone = len(self.legs) == 1 and not self.make_matches
        if is_alone and new.rows_max <= ROWS_MAX:
            parts = parts_in_order(new.changing_paths, self.target.storage)
            if parts is not None:
                return Written(self._deletes_of(spark, parts), np.zeros(0, np.int64), Ambiguous())
        with deletes.moved(new.frame_of_old_ids(spark)) as there:
            return deletes.write_moved(there, there.frame)

    def _deletes_of(self, spark: SparkSession, parts: Sequence[Part]) -> list[OutputFile]:
        texts = [partition_text(p.name) for p in self.scan.selection.partitions]
        [leg] = self.legs
        return write_encoded_deletes(spark, parts, texts, self.target, leg.statement_id)

    def _has_fine_rows(self) -> bool:
        """Whether rows have nanoseconds, which an update that keeps them must not write."""
        kept = frozenset(name for leg in self.legs for name in leg.kept)
        selection, storage = self.scan.selection, self.target.storage
        partitions = {file.partition for file in selection.inserts}
        found = fine_rows(selection, storage, self.table.columns, kept, partitions)
        return any(found.values())

    @contextmanager
    def moved(self, rows: DataFrame, others: int = 0) -> Iterator[MovedRows]:
        """The rows, moved to the tasks that are to write them.

        Rows whose PARTITION is null are moved, too; there are ``others`` more tasks for them.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        home = _HOME if others else PARTITION
        with moved(rows, self._tasks + others, [F.expr(home), F.expr(OLD_BUCKET)]) as there:
            yield there

    def write_moved(self, there: MovedRows, rows: DataFrame) -> Written:
        """Write ``rows``: all or some of the rows that a shuffle has moved ``there``."""
        width = row_width(rows.columns)
        table = collect_moved(MovedRows(rows, there.bytes), width, self._tasks)
        return self.write_collected(table) if table is not None else self._by_tasks(rows)

    def write_collected(self, rows: pa.Table) -> Written:
        """Sort and write rows that the driver holds."""
        partitions = set(map(int, pc.unique(rows.column(PARTITION)).to_numpy()))
        return self._writer(partitions).write_all(writing_order(rows))

    def _by_tasks(self, rows: DataFrame) -> Written:
        """Each task sorts and writes the rows that it has."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        order = (PARTITION, F.expr(OLD_BUCKET), *CHANGED_ROW_ID)
        writer = self._writer({f.partition for f in self.scan.selection.inserts})
        results = run_tasks(rows.sortWithinPartitions(*order), writer.task, _RESULT)
        return _joined(results)

    def _writer(self, partitions: Collection[int]) -> _Writer:
        selection, storage = self.scan.selection, self.target.storage
        kept = {leg.kept for leg in self.legs}
        columns = self.table.columns
        found = {k: fine_rows(selection, storage, columns, k, partitions) for k in kept}
        fine = [found[leg.kept] for leg in self.legs]
        texts = [partition_text(p.name) for p in self.scan.selection.partitions]
        return _Writer(self.target, texts, self.legs, fine, self.make_matches)

    @property
    def _tasks(self) -> int:
        places = {(f.partition, f.bucket_id) for f in self.scan.selection.inserts}
        return max(1, min(len(places), _TASKS_MAX))

    @property
    def _is_small(self) -> bool:
        return sum(f.size for f in self.scan.selection.inserts) <= SMALL_BYTES


def names_rows(predicates: Sequence[Predicate], table: Table) -> bool:
    """Whether a predicate asks for a value of a column, so that few rows are likely.

    Partition columns do not count: a partition may have many rows.
    """
    columns = {c.name for c in table.columns}
    return any(p.operator in ("=", "in") and p.column in columns for p in predicates)


_RESULT = "file string, ambiguous string, hits binary"
_RESULT_FIELDS: list[pa.Field[Any]] = [
    pa.field("file", pa.string()),
    pa.field("ambiguous", pa.string()),
    pa.field("hits", pa.binary()),
]


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes changes that are in `writing_order`. A task gets it by pickle."""

    target: Target
    partitions: Sequence[str]
    legs: Sequence[ChangeLeg]
    fine: Sequence[FineRows]
    make_matches: Callable[[], Matches] | None

    def write_all(self, changes: pa.Table) -> Written:
        """Write all changes of a statement."""
        return self._write([changes], ChangeWriter.write_all)

    def task(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The work of a task. It yields what `_joined` reads: files, then what matches found."""
        tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
        done = self._write(tables, ChangeWriter.write)
        ambiguous = json.dumps([done.ambiguous.count, done.ambiguous.samples])
        rows: list[dict[str, object]] = [{"file": file.to_json()} for file in done.files]
        rows += [{"ambiguous": ambiguous, "hits": done.hits.astype(np.int64).tobytes()}]
        yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(_RESULT_FIELDS))

    def _write(
        self, tables: Iterable[pa.Table], write: Callable[[ChangeWriter, pa.Table], None]
    ) -> Written:
        matches = self.make_matches() if self.make_matches else None
        with Output(self.target) as output:
            writer = ChangeWriter(output, self.partitions, self.legs, self.fine)
            for table in tables:
                rows = matches.acting(table) if matches else table
                if rows.num_rows and not (matches and matches.ambiguous().count):
                    write(writer, rows)
        if matches is None:
            return Written(output.files, np.zeros(0, np.int64), Ambiguous())
        return Written(output.files, matches.hits(), matches.ambiguous())


def _joined(results: Iterable[tuple[str | None, str | None, bytes | None]]) -> Written:
    files: list[OutputFile] = []
    hits = [np.zeros(0, np.int64)]
    ambiguous = Ambiguous()
    for file, told, numbers in results:
        if file is not None:
            files.append(OutputFile.from_json(file))
        if told is not None:
            count, samples = json.loads(told)
            ambiguous += Ambiguous(count, tuple(samples))
        if numbers is not None:
            hits.append(np.frombuffer(bytes(numbers), np.int64))
    return Written(files, np.unique(np.concatenate(hits)), ambiguous)

"""Insert files that Spark's reader cannot read right: tasks read them with pyarrow.

There are three kinds: plain files whose rows must be numbered, since Spark's ORC reader knows no
row numbers; files of which a part is valid, because a streaming writer has them open; and files
with times or days that Spark's reader would change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.changes import PARTITION
from acidsql.engines.selection import SelectedFile, source_of
from acidsql.engines.spark.columns import padded
from acidsql.engines.spark.events import ID_TYPES, Events, column_alias
from acidsql.engines.spark.places import FILE, file_name
from acidsql.layout.arrow import Array
from acidsql.model.row_id import RowId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Column
from acidsql.model.types import VOID, spark_type
from acidsql.orc.evolution import current_rows
from acidsql.orc.exact import is_exact, microseconds_of
from acidsql.orc.keys import longs, valid_events
from acidsql.orc.nested import map_leaves
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import (
    CURRENT_TRANSACTION,
    INSERT,
    OPERATION,
    ROW,
    ROW_ID_COLUMNS,
    arrow_type,
)
from acidsql.orc.types import file_columns
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

TASK_BYTES = 32 << 20
"""About what one task reads."""

_NAMED_ROWS = 65_536
"""How many rows with the name of their file a task has in memory at once."""

_SMALL_BYTES = 8 << 20
"""Up to this size Spark may broadcast the rows; of more it must not think that they are so few."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Stripes ``start`` to ``end`` (exclusive) of a file; ``row`` is their first row's number."""

    file: SelectedFile
    start: int
    end: int
    row: int


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """What a task needs to read pieces of files as rows of a table.

    ``names_files`` says that each row has the name of its file, FILE. Texts that are longer than
    their types are cut.
    """

    columns: tuple[Column, ...]
    write_ids: ValidWriteIdList
    storage: Storage
    by_position: bool
    names_files: bool = False

    def scan(self, spark: SparkSession, files: Sequence[SelectedFile]) -> Events:
        """The rows of the files."""
        size = sum(f.size for f in files)
        frame = read_in_tasks(spark, _tasks(files), size, self.schema, self.read)
        return Events(frame, self.values)

    @property
    def schema(self) -> str:
        """The names and types of the rows, in Spark's SQL: partition, row id, the columns, FILE."""
        ids = zip((PARTITION, *ROW_ID_COLUMNS), ("int", *ID_TYPES), strict=True)
        kinds = ("boolean" if c.type == VOID else spark_type(c.type) for c in self.columns)
        values = zip(self._names, kinds, strict=True)
        file = [(FILE, "string")] if self.names_files else []
        return ", ".join(f"{name} {kind}" for name, kind in (*ids, *values, *file))

    @property
    def values(self) -> tuple[str, ...]:
        """The expressions of the table's columns over the rows."""
        pairs = zip(self._names, self.columns, strict=True)
        return tuple(padded(name, column.type) for name, column in pairs)

    @property
    def _names(self) -> list[str]:
        return [column_alias(index) for index in range(len(self.columns))]

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, in the columns of `schema`."""
        file = piece.file
        source = source_of(file.path, self.storage)
        with open_orc(source, file.path, file.length, exact=True) as opened:
            columns = file_columns(opened.tail, file.path)
            row = piece.row
            for number in range(piece.start, piece.end):
                stripe = opened.stripe(number)
                partitions = np.full(stripe.num_rows, file.partition, np.int32)
                if file.first is None:
                    rows = self.rows_of(stripe, partitions, columns, file.path)
                else:
                    ids = row_ids(file.first, row, stripe.num_rows)
                    rows = self.plain_rows(stripe, [partitions, *ids], columns, file.path)
                yield from self._with_file(rows, file.path)
                row += stripe.num_rows

    def _with_file(self, rows: pa.RecordBatch, path: str) -> Iterator[pa.RecordBatch]:
        """The rows, with FILE if it is asked for: few at a time, because paths are long."""
        if not self.names_files:
            yield rows
            return
        for start in range(0, rows.num_rows, _NAMED_ROWS):
            some = rows.slice(start, _NAMED_ROWS)
            yield some.append_column(FILE, pa.repeat(file_name(path), some.num_rows))

    def rows_of(
        self,
        events: pa.RecordBatch,
        partitions: NDArray[np.int32],
        columns: Sequence[Column],
        path: str,
    ) -> pa.RecordBatch:
        """The rows of the inserts among these events that the snapshot sees.

        ``partitions`` are those of the events, and ``columns`` those of their ``row``. StorageError
        for a column whose values cannot become the table's type; it names the file ``path``.
        """
        keep = longs(events.column(OPERATION)) == INSERT
        keep &= valid_events(longs(events.column(CURRENT_TRANSACTION)), self.write_ids)
        kept = events if keep.all() else events.filter(pa.array(keep))
        ids = [partitions[keep], *(kept.column(name) for name in ROW_ID_COLUMNS)]
        return self._batch(ids, kept.column(ROW), columns, path)

    def plain_rows(
        self, rows: pa.RecordBatch, ids: Sequence[Any], columns: Sequence[Column], path: str
    ) -> pa.RecordBatch:
        """As `rows_of`, for rows of files without events.

        ``ids`` are the partition of each row and the parts of its row id, see `row_ids`.
        """
        whole = pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema))
        return self._batch(ids, whole, columns, path)

    def _batch(
        self, ids: Sequence[Any], rows: Array, columns: Sequence[Column], path: str
    ) -> pa.RecordBatch:
        now = current_rows(rows, columns, self.columns, path, by_position=self.by_position)
        arrays = [pa.array(i) if isinstance(i, np.ndarray) else i for i in ids]
        for column, array in zip(self.columns, now.flatten(), strict=True):
            # Spark's reader rounds down, too.
            whole = map_leaves(array, is_exact, microseconds_of)
            arrays.append(whole.cast(arrow_type(column.type), safe=False))
        return self._of(arrays)

    def named(self, arrays: Sequence[Array], path: str) -> Iterator[pa.RecordBatch]:
        """The rows of a file, in the columns of `schema`. ``arrays`` are all of them but FILE."""
        yield from self._with_file(self._of(arrays), path)

    def _of(self, arrays: Sequence[Array]) -> pa.RecordBatch:
        names = [PARTITION, *ROW_ID_COLUMNS, *self._names]
        return pa.RecordBatch.from_arrays(list(arrays), names=names)


def row_ids(first: RowId, row: int, count: int) -> list[NDArray[Any]]:
    """The parts of the row ids of plain rows, of which the first has number ``row`` in its file.

    ``first`` is the row id of the file's first row.
    """
    numbers = np.arange(first.row_number + row, first.row_number + row + count)
    buckets = np.full(count, first.bucket_property, np.int32)
    return [np.full(count, first.write_id), buckets, numbers]


def _tasks(files: Sequence[SelectedFile]) -> list[list[Piece]]:
    """The pieces that each task reads, about `TASK_BYTES` of them."""
    tasks: list[list[Piece]] = []
    room = 0
    for file in files:
        assert file.tail is not None
        row = start = 0
        for number, stripe in enumerate(file.tail.stripes):
            if room <= 0:
                tasks.append([])
                room = TASK_BYTES
            room -= stripe.length
            if room <= 0 or number == len(file.tail.stripes) - 1:
                tasks[-1].append(Piece(file, start, number + 1, row))
                row = sum(s.rows for s in file.tail.stripes[: number + 1])
                start = number + 1
    return tasks


def read_in_tasks(
    spark: SparkSession,
    tasks: Sequence[Sequence[T]],
    size: int,
    schema: str,
    read: Callable[[T], Iterator[pa.RecordBatch]],
) -> DataFrame:
    """What ``read`` yields of the pieces of each task, in the columns of ``schema``.

    ``size`` is that of all pieces, in bytes.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0):
                for piece in tasks[int(number.as_py())]:
                    yield from read(piece)

    return _numbers(spark, len(tasks), size).mapInArrow(run, schema)


def _numbers(spark: SparkSession, count: int, size: int) -> DataFrame:
    """The numbers below ``count``, one a task.

    If ``size`` bytes are many, it is a frame whose size Spark does not know.
    """
    if size > _SMALL_BYTES:
        try:
            context = spark.sparkContext
        except Exception:  # Spark Connect has none
            return spark.range(0, count, 1, count)
        rows = context.parallelize([(number,) for number in range(count)], count)
        return spark.createDataFrame(rows, "id bigint")
    return spark.range(0, count, 1, count)

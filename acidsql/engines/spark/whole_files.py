"""Whole files as frames: tasks read them, where Spark alone has no reader that reads them right.

It has none of Avro, none that moves a Parquet file's timestamps as java.util.TimeZone does, and
none of those that count nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from acidsql.engines.row_files import RowFormat, read_rows
from acidsql.engines.selection import SelectedFile, source_of
from acidsql.engines.spark.events import Events
from acidsql.engines.spark.row_numbers import TASK_BYTES, NumberedRows, read_in_tasks, row_ids
from acidsql.model.ids import WriteId
from acidsql.model.row_id import CODEC_V1, RowId
from acidsql.model.table import FileFormat
from acidsql.orc.schema import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIRST = RowId(WriteId(0), CODEC_V1, 0)
"""The row id that numbering begins with. No row shows it."""


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """What a task needs to read whole files of a format in the columns of ``rows``."""

    rows: NumberedRows
    format: FileFormat

    def scan(self, spark: SparkSession, files: Sequence[SelectedFile]) -> Events:
        """The rows of the files."""
        size = sum(f.size for f in files)
        frame = read_in_tasks(spark, _tasks(files), size, self.rows.schema, self.read)
        return Events(frame, self.rows.values)

    def read(self, file: SelectedFile) -> Iterator[pa.RecordBatch]:
        """The rows of a file, in the columns of `NumberedRows.schema`."""
        row = 0
        columns = self.rows.columns
        wanted = RowFormat(columns, self.format, "none")
        for batch in read_rows(source_of(file.path, self.rows.storage), file.path, wanted):
            count = batch.num_rows
            ids = [np.full(count, file.partition, np.int32), *row_ids(_FIRST, row, count)]
            arrays = [pa.array(i) for i in ids]
            for column, array in zip(columns, batch.columns, strict=True):
                arrays.append(array.cast(arrow_type(column.type)))
            yield from self.rows.named(arrays, file.path)
            row += count


def _tasks(files: Sequence[SelectedFile]) -> list[list[SelectedFile]]:
    """The files that each task reads, about `TASK_BYTES` of them."""
    tasks: list[list[SelectedFile]] = []
    room = 0
    for file in files:
        if room <= 0:
            tasks.append([])
            room = TASK_BYTES
        tasks[-1].append(file)
        room -= file.size
    return tasks

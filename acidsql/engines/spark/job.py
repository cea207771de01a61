"""The reads and writes of one statement's jobs, and what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.selection import Selection
from acidsql.engines.spark.arrow import ArrowWork, map_in_arrow, to_arrow
from acidsql.engines.spark.bucket_sample import sampled
from acidsql.engines.spark.clock import Clock
from acidsql.engines.spark.computed import computed_rows, held_bytes
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.foreign import of_session
from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.engines.spark.kept import Kept
from acidsql.engines.spark.moved import MovedRows
from acidsql.engines.spark.plain import scan_rows
from acidsql.engines.spark.query_plan import expected_bytes, has_shuffle, may_grow
from acidsql.engines.spark.read import Scan, ScanRequest, scan_table
from acidsql.engines.spark.row_size import beyond_guess, is_costly, rows_left, rows_max
from acidsql.engines.spark.select import select, with_column
from acidsql.engines.spark.settings import configured
from acidsql.engines.spark.sql import run_sql
from acidsql.engines.spark.view import view_frame
from acidsql.engines.target import OutputFile
from acidsql.errors import ExecutionError
from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.plans.sql_text import (
    AnySource,
    FrameSource,
    InputSource,
    SqlText,
    TableSource,
    ViewSource,
)
from acidsql.ports.engine import ReadContext
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DRIVER_BYTES_MAX = 96 << 20
"""Rows up to about this much are collected, sorted and written by the driver."""

_IDS_TIMES = 3
"""Row ids alone may take so many times as much. To sort and write them takes little more memory."""

DRIVER_ROWS_MIN = 1000
"""How many rows about as large as guessed a task may always hand out, however small its share."""

WRITER_BATCH_ROWS = 65_536
"""Rows that a writing task gets at a time; Spark's default of 10,000 costs a quarter more."""

_BEYOND = "__acidsql_beyond"
LEFT = "__acidsql_left"
_RESULT_LIMIT = "spark.driver.maxResultSize"
"""The setting that Spark names when it ends a job whose results are too large."""

_UNKNOWN_BYTES = 1 << 62
"""Spark's estimate for rows of an RDD, and for what is joined with them."""

_LOOK_BYTES = 4 << 20

_SCANS_ON = "a task that has too many rows for the driver scans all of them"
_SPLIT_BYTES = 128 << 20

_LARGE_BYTES = 256 << 20
"""`is_large` of more bytes."""

_ROWS_OF_LIMIT = (1 << 31) - 1
"""Spark's limits are ints."""


@dataclass(slots=True)
class Job:
    """One statement's reads, under one snapshot.

    ``shows_files`` says that the rows may be asked for the files that they come from.
    """

    spark: SparkSession
    storage: Storage
    context: ReadContext
    frames: Mapping[str, DataFrame]
    kept: Kept
    by_position: bool = True
    shows_files: bool = False
    inputs: dict[str, DataFrame] = field(default_factory=dict)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.spark, self.context.database)

    def sql(self, text: SqlText) -> DataFrame:
        """The DataFrame of a plan's text."""
        frame = run_sql(self.spark, text, self._resolve, self.context.parameters)
        with clear_errors():
            return self.clock.fixed(frame)

    def scan(self, table: TableName, request: ScanRequest) -> Scan:
        """A table under the snapshot."""
        snapshot = self.context.tables[table]
        read = (self.spark, snapshot, self.context.txns, self.storage, self.kept)
        request = replace(request, shows_files=self.shows_files)
        with clear_errors():
            is_acid = snapshot.table.kind is TableKind.FULL_ACID
            scan = scan_table if is_acid else scan_rows
            return scan(*read, request, by_position=self.by_position)

    def _resolve(self, source: AnySource) -> DataFrame:
        match source:
            case TableSource():
                request = ScanRequest(
                    hidden=source.hidden,
                    predicates=source.predicates,
                    columns=source.columns,
                    with_deleted=source.with_deleted,
                )
                frame = self.scan(source.table, request).frame
                table = self.context.tables[source.table].table
                return frame if source.sample is None else sampled(frame, source.sample, table)
            case FrameSource():
                return of_session(self.frames[source.name], self.spark)
            case InputSource():
                return self.inputs[source.name]
            case ViewSource():
                return view_frame(self.spark, source, self._resolve)


def collect_if_small(
    frame: DataFrame, width: int, selection: Selection, bytes_max: int
) -> pa.Table | None:
    """The rows, if they fit in ``bytes_max``; None if there are too many.

    ``width`` is the guessed size of a row in bytes. The job itself keeps the limit: each task stops
    when the measured bytes of its rows reach its share, and the last row of such a task says so.
    """
    splits = 2 + sum(1 + f.size // _SPLIT_BYTES for f in selection.inserts)
    # A share is part of the code that Spark generates. With few different shares, the next
    # statement finds that code compiled.
    share = bytes_max >> (splits - 1).bit_length()
    return _collect_up_to(frame, width, share, DRIVER_ROWS_MIN, end_early=is_large(selection))


def driver_bytes(*, are_ids: bool) -> int:
    """How many bytes of rows, or of row ids alone, the driver may hold."""
    return DRIVER_BYTES_MAX * (_IDS_TIMES if are_ids else 1)


def is_large(selection: Selection) -> bool:
    """Whether the files are too large to be scanned to their end in vain."""
    return sum(f.size for f in selection.inserts) > _LARGE_BYTES


def collect_moved(rows: MovedRows, width: int, partitions: int) -> pa.Table | None:
    """The rows, if they fit in `DRIVER_BYTES_MAX`; None if there are too many."""
    frame = rows.frame.coalesce(min(partitions, parallelism(rows.frame)))
    if rows.bytes is None:
        share = DRIVER_BYTES_MAX // partitions
        return _collect_up_to(frame, width, share, DRIVER_ROWS_MIN, end_early=False)
    return collect_all(frame) if rows.bytes <= DRIVER_BYTES_MAX else None


def collect_rows(frame: DataFrame, columns: int) -> pa.Table | None:
    """The rows of any query, if Spark expects them to be few and they are few; else None."""
    size = expected_bytes(frame)
    if size is None or size > DRIVER_BYTES_MAX // 6:
        return None
    return collect_few(frame, columns, end_early=may_grow(frame))


def collect_source(frame: DataFrame) -> pa.Table | None:
    """The rows of a MERGE's source, if they are few: `collect_rows`, or a look at rows of unknown
    size.

    To look costs little where no shuffle comes first: each task ends after `_LOOK_BYTES`.
    """
    size = expected_bytes(frame)
    if size is None or size < _UNKNOWN_BYTES or has_shuffle(frame):
        return collect_rows(frame, len(frame.columns))
    share = min(_LOOK_BYTES, DRIVER_BYTES_MAX // 2)
    return _collect_up_to(frame, row_width(frame.columns), share, 0)


def collect_few(frame: DataFrame, columns: int, *, end_early: bool = True) -> pa.Table | None:
    """The rows of a query of which there are few; None if they are large after all."""
    known = computed_rows(frame, DRIVER_BYTES_MAX // 2)
    if known is not None:
        return known
    held = held_bytes(frame)
    if held is not None and held <= DRIVER_BYTES_MAX:
        return collect_all(frame)
    share = DRIVER_BYTES_MAX // 2
    return _collect_up_to(frame, row_width(range(columns)), share, 0, end_early=end_early)


def _collect_up_to(
    frame: DataFrame, width: int, share: int, rows_min: int, *, end_early: bool = True
) -> pa.Table | None:
    """The rows; None if a task has more than its share, or Spark refuses to bring them all."""
    table = collect_all(handed_out(frame, width, share, rows_min, end_early=end_early))
    if table is None:
        return None
    left_over = table.columns[-1].to_numpy()
    if len(left_over) and int(left_over.max()) == 0:
        return None
    return table.select(list(range(len(frame.columns))))


def collect_all(frame: DataFrame) -> pa.Table | None:
    """The rows; None if Spark refuses to bring so many."""
    try:
        return to_arrow(frame)
    except ExecutionError as error:
        if _RESULT_LIMIT not in f"{error.message} {error.detail}":
            raise
        return None


def handed_out(
    frame: DataFrame, width: int, share: int, rows_min: int, *, end_early: bool = True
) -> DataFrame:
    """The rows that tasks may bring to the driver, with the `rows_left` behind each.

    The last column has it. Its name is LEFT, and the one before it may be _BEYOND. The caller drops
    both: one more step of Spark's takes longer than to bring _BEYOND.

    A task that has more computes no more than `rows_max` if it is to ``end_early``. That has a
    price: Spark numbers its limits, so no statement finds the code of an earlier one compiled, and
    Java's compiler begins anew. A scan of six million rows takes twice as long.
    """
    with clear_errors():
        rows = rows_max(width, share, rows_min)
        first = _first_of_each_task(frame, rows) if end_early else frame
        beyond = beyond_guess(frame.schema)
        if beyond is not None and is_costly(beyond):
            name = unlike(frame.columns, _BEYOND)
            first, beyond = select(first, ["*", f"{beyond} as {name}"]), name
        left = rows_left(beyond, width, share, rows_min)
        name = unlike(frame.columns, LEFT)
        return with_column(first, f"{left} as {name}", f"{name} <= 0")


def unlike(columns: Sequence[str], name: str) -> str:
    """The name, with underscores behind it if a column is called so."""
    taken = {column.lower() for column in columns}
    while name in taken:
        name += "_"
    return name


def _first_of_each_task(frame: DataFrame, rows: int) -> DataFrame:
    """At least the first ``rows`` rows of each task. A task that has them ends its scan."""
    if rows > _ROWS_OF_LIMIT:
        return frame
    limited = by_gateway(
        frame.sparkSession, lambda java: _local_limit(java, frame, rows), _SCANS_ON
    )
    return frame if limited is None else limited


def _local_limit(java: JavaClasses, frame: DataFrame, rows: int) -> DataFrame:
    # Spark's limit consists of one for each task, and of one over all of them.
    plan: Any = frame.limit(rows)
    of_rows = java("org.apache.spark.sql.classic.Dataset").ofRows
    spark: Any = frame.sparkSession
    return type(frame)(
        of_rows(spark._jsparkSession, plan._jdf.queryExecution().analyzed().child()), spark
    )


def parallelism(frame: DataFrame) -> int:
    """How many tasks run at once; 200 if Spark does not tell."""
    try:
        return frame.sparkSession.sparkContext.defaultParallelism
    except Exception:
        return 200


def row_width(columns: Sequence[object]) -> int:
    """A guess at the bytes of a row of that many columns, its row id included."""
    return 40 + 16 * len(columns)


def run_writers(frame: DataFrame, write: ArrowWork) -> list[OutputFile]:
    """Run ``write`` over the batches of each task. The files of the attempts that succeeded."""
    return [OutputFile.from_json(row[0]) for row in run_tasks(frame, write, "file string")]


def run_tasks(frame: DataFrame, work: ArrowWork, schema: str) -> list[Any]:
    """Run ``work`` over the batches of each task.

    What the attempts that succeeded yield, as rows of ``schema``.
    """
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    with clear_errors(), configured(frame.sparkSession, key, str(WRITER_BATCH_ROWS)):
        return map_in_arrow(frame, work, schema).collect()


def files_batch(files: Sequence[OutputFile]) -> pa.RecordBatch:
    """The batch that a writing task yields: its files, one row each."""
    return pa.RecordBatch.from_pydict({"file": pa.array([f.to_json() for f in files], pa.string())})

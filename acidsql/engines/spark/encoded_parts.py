"""New rows encoded by Spark's own ORC writer: its files are parts, of which event files are made.

A file of a table without buckets is one part. A bucket has a part of each task.
Other new rows go to Python, where pyarrow encodes them, which takes longer.
"""

from __future__ import annotations

import re
import uuid
from io import BytesIO
from typing import TYPE_CHECKING

from acidsql.engines.output import TABLE_ITSELF, OutputFile, Target, plain_files
from acidsql.engines.rows import Placement
from acidsql.engines.spark.bucket_number import bucket_number
from acidsql.engines.spark.causes import causes
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.parts import fits_parts, joined_parts, part_stripe_bytes
from acidsql.engines.spark.session import runs_in_process
from acidsql.engines.spark.settings import configured
from acidsql.errors import ExecutionError
from acidsql.layout.dir_names import VERSION_FILE
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.table import Table, TableKind
from acidsql.model.types import ColumnType, DecimalType, PrimitiveType
from acidsql.orc.adopted import model_file
from acidsql.orc.footer import read_tail
from acidsql.orc.writer import STRIPE_BYTES, VERSION_FILE_CONTENT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ENCODED_ALIKE = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"}
)
"""Types whose values Spark's writer encodes as they are, as it does decimals. Dates are given to it
as days. Timestamps would depend on the time zone of its JVM.
"""

_BUCKET = "bucket"
"""The column that Spark makes directories of. The others are called c and a number."""

_PART = re.compile(rf"(?:{_BUCKET}=(?P<bucket>\d+)/)?part-(?P<task>\d+)-.*\.orc")
"""The path of Spark's file, with the number of its task (HadoopMapReduceCommitProtocol)."""

_OPEN_FILES = "spark.sql.maxConcurrentOutputFileWriters"
"""How many files a task may have open. With Spark's default, 0, it sorts the rows by directory."""

_OPTIONS = {
    "orc.create.index": "true",
    "orc.bloom.filter.columns": "",
    "orc.encrypt": "",
    "orc.mask": "",
    "maxRecordsPerFile": "0",  # which stands for no limit
    # By the first algorithm, no file appears before all tasks are done.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

_CANNOT_CUT = "Could not truncate string"
"""What Java's writer throws over a text of more than 1,024 bytes that is not UTF-8
(StringColumnStatistics).
"""


def fits_encoded_parts(rows: DataFrame, table: Table, target: Target, tasks: int) -> bool:
    """Whether Spark's writer may encode new rows of the table, which so many tasks compute.

    Not in an object store: Spark renames what its tasks have written, and there a rename is a copy.
    Not where tasks of other machines write local files: the driver might not see all of them, and
    Spark does not notice.
    """
    return (
        table.kind is TableKind.FULL_ACID
        and (table.bucketing is None or _fits_buckets(table, tasks))
        and not table.partition_columns
        and not target.required.columns
        and target.storage.has_directories
        and (target.storage.local_path(table.location) is None or _has_one_process(rows))
        and all(_is_date(c.type) or _is_encoded_alike(c.type) for c in table.columns)
    )


def _fits_buckets(table: Table, tasks: int) -> bool:
    """Whether Spark can compute buckets, and tasks may have a file of each bucket open."""
    known = bucket_number(table, [c.name for c in table.columns]) is not None
    return known and fits_parts(table.columns, Placement.of(table).count, tasks)


def _has_one_process(rows: DataFrame) -> bool:
    """Whether tasks run where the driver runs. False over Spark Connect, which does not tell."""
    if java_classes(rows.sparkSession) is None:
        return False
    return runs_in_process(rows.sparkSession.sparkContext.master)


def _is_encoded_alike(kind: ColumnType) -> bool:
    if isinstance(kind, PrimitiveType):
        return kind.name in _ENCODED_ALIKE
    return isinstance(kind, DecimalType)


def _is_date(kind: ColumnType) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name == "date"


def write_encoded_parts(
    rows: DataFrame, table: Table, target: Target, statement_id: StatementId
) -> list[OutputFile] | None:
    """Write new rows: one file for each task of the frame, or for each bucket. The files are not
    yet published.

    None if Spark's writer cannot encode one of the texts. Then no row is written. ConfigError for
    a codec that acidsql does not have.
    """
    model = model_file(table.columns, target.format.compression)
    home = target.directory_written(TABLE_ITSELF, statement_id, is_delete=False)
    target.make_directory(TABLE_ITSELF, home)
    # A directory is found by its files. If the write fails, there may be no other.
    target.storage.write_file(f"{home}/{VERSION_FILE}", VERSION_FILE_CONTENT)
    attempt = target.attempt_name(uuid.uuid4().hex)
    directory = target.own(TABLE_ITSELF, f"{home}/{attempt}")
    if not _encode(rows, table, str(directory), target.format.compression, model):
        target.storage.remove(directory)
        return None
    parts = [
        OutputFile(TABLE_ITSELF, home, f"{attempt}/{path}", name, statement_id, False, 0)
        for path, name in _parts(str(directory), target)
    ]
    files = joined_parts(rows.sparkSession, parts, target, model)
    target.storage.remove(directory)
    return files


def _encode(rows: DataFrame, table: Table, directory: str, codec: str, model: bytes) -> bool:
    """Have Spark write the rows into a directory, in files that agree with the model.

    The files of a bucketed table are in a directory for each bucket.
    False if Spark's writer cannot encode one of the texts.
    """
    numbered = _numbered(rows, table)
    tail = read_tail(BytesIO(model))
    buckets = Placement.of(table).count
    options = {
        **_OPTIONS,
        "compression": codec,
        "orc.compress.size": str(tail.block_size),
        "orc.row.index.stride": str(tail.row_index_stride),
        "orc.stripe.size": str(part_stripe_bytes(buckets) if buckets else STRIPE_BYTES),
    }
    writer = numbered.write.options(**options)
    if buckets:
        writer = writer.partitionBy(_BUCKET)
    with clear_errors(), configured(rows.sparkSession, _OPEN_FILES, str(buckets)):
        try:
            writer.orc(directory)
        except Exception as error:
            if any(cause.message.startswith(_CANNOT_CUT) for cause in causes(error)):
                return False
            raise
    return True


def _numbered(rows: DataFrame, table: Table) -> DataFrame:
    """The rows as Spark is to encode them; those of a bucketed table also have `_BUCKET`.

    Names do not matter to Spark's writer, and a dot in one of these is no access to a field.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    names = [f"c{index}" for index in range(len(table.columns))]
    numbered = rows.toDF(*names)
    columns: list[Column] = [
        F.unix_date(name).alias(name) if _is_date(c.type) else F.col(name)
        for name, c in zip(names, table.columns, strict=True)
    ]
    bucket = bucket_number(table, names)
    if bucket is not None:
        columns.append(F.expr(bucket).alias(_BUCKET))
    return numbered.select(*columns)


def _parts(directory: str, target: Target) -> list[tuple[str, str]]:
    """The paths of Spark's files in the directory, and the name of the bucket's file of each."""
    found = []
    for path in plain_files(directory, target.storage):
        match = _PART.fullmatch(path)
        if match is None:
            raise ExecutionError(
                f'Spark wrote a file of another name than its own: "{path}"',
                hint="Look for a class in spark.sql.sources.commitProtocolClass.",
            )
        bucket = match["bucket"] or match["task"]
        found.append((path, target.file_name(BucketId(int(bucket)))))
    # Of no rows for buckets, Spark writes no file, but the directory.
    if not found and not target.storage.exists(directory):
        raise ExecutionError(
            f'Spark has written no file in "{directory}"',
            hint="Does Spark's fs.defaultFS name another file system than that of the table?",
        )
    return found

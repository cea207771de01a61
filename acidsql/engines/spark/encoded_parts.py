"""New rows encoded by Spark's own ORC writer: its files are parts, of which event files are made.

Other new rows go to Python, where pyarrow encodes them, which takes longer.
"""

from __future__ import annotations

import re
import uuid
from io import BytesIO
from typing import TYPE_CHECKING

from acidsql.engines.output import TABLE_ITSELF, OutputFile, Target, plain_files
from acidsql.engines.spark.causes import causes
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.parts import joined_parts
from acidsql.engines.spark.session import runs_in_process
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

_PART = re.compile(r"part-(\d+)-.*\.orc")
"""The name of Spark's file, with the number of its task (HadoopMapReduceCommitProtocol)."""

_OPTIONS = {
    "orc.create.index": "true",
    "orc.bloom.filter.columns": "",
    "orc.encrypt": "",
    "orc.mask": "",
    "orc.stripe.size": str(STRIPE_BYTES),
    "maxRecordsPerFile": "0",  # which stands for no limit
    # By the first algorithm, no file appears before all tasks are done.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

_CANNOT_CUT = "Could not truncate string"
"""What Java's writer throws over a text of more than 1,024 bytes that is not UTF-8
(StringColumnStatistics).
"""


def fits_encoded_parts(rows: DataFrame, table: Table, target: Target) -> bool:
    """Whether Spark's writer may encode new rows of the table.

    Not in an object store: Spark renames what its tasks have written, and there a rename is a copy.
    Not where tasks of other machines write local files: the driver might not see all of them, and
    Spark does not notice.
    """
    return (
        table.kind is TableKind.FULL_ACID
        and table.bucketing is None
        and not table.partition_columns
        and not target.required.columns
        and target.storage.has_directories
        and (target.storage.local_path(table.location) is None or _has_one_process(rows))
        and all(_is_date(c.type) or _is_encoded_alike(c.type) for c in table.columns)
    )


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
    """Write new rows: one file for each task of the frame. The files are not yet published.

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

    False if its writer cannot encode one of the texts.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    # Names do not matter to Spark's writer then, and a dot in one is no access to a field.
    numbered = rows.toDF(*(f"c{index}" for index in range(len(table.columns))))
    columns: list[Column] = [
        F.unix_date(name).alias(name) if _is_date(c.type) else F.col(name)
        for name, c in zip(numbered.columns, table.columns, strict=True)
    ]
    tail = read_tail(BytesIO(model))
    options = {
        **_OPTIONS,
        "compression": codec,
        "orc.compress.size": str(tail.block_size),
        "orc.row.index.stride": str(tail.row_index_stride),
    }
    writer = numbered.select(*columns).write.options(**options)
    with clear_errors():
        try:
            writer.orc(directory)
        except Exception as error:
            if any(cause.message.startswith(_CANNOT_CUT) for cause in causes(error)):
                return False
            raise
    return True


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
        found.append((path, target.file_name(BucketId(int(match[1])))))
    if not found:  # Spark writes a file even if there are no rows
        raise ExecutionError(
            f'Spark has written no file in "{directory}"',
            hint="Does Spark's fs.defaultFS name another file system than that of the table?",
        )
    return found

"""Rows encoded by Spark's own ORC writer, in plain files of which event files are made.

Rows that go to Python, where pyarrow encodes them, take longer. The files lie in a hidden directory
of the statement's. They have the form of files that pyarrow writes (`orc.adopted`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from acidsql.engines.selection import tail_of
from acidsql.engines.spark.causes import causes
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.paths import spark_path
from acidsql.engines.spark.session import master_of, runs_on_machine
from acidsql.engines.spark.settings import configured
from acidsql.engines.target import TABLE_ITSELF, Target
from acidsql.errors import ConstraintViolationError, ExecutionError
from acidsql.layout.dir_names import lies_hidden
from acidsql.model.own_path import OwnPath
from acidsql.model.table import Table, TableKind
from acidsql.model.types import ColumnType, DecimalType, PrimitiveType
from acidsql.orc.adopted import model_file
from acidsql.orc.footer import read_tail
from acidsql.orc.statistics import file_statistics
from acidsql.process.threads import STORAGE_THREADS, in_threads

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ENCODED_ALIKE = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"}
)
"""Types whose values Spark's writer encodes as they are, as it does decimals. Dates are given to it
as days. Timestamps would depend on the time zone of its JVM.
"""

_FILE = re.compile(r"(?P<values>(?:\w+=\d+/)*)part-(?P<task>\d+)-.*\.orc")
"""The path of Spark's file, with the number of its task (HadoopMapReduceCommitProtocol)."""

_OPEN_FILES = "spark.sql.maxConcurrentOutputFileWriters"
"""How many files a task may have open. With Spark's default, 0, it sorts the rows by directory."""

_OPTIONS = {
    "orc.create.index": "true",
    "orc.bloom.filter.columns": "",
    "orc.encrypt": "",
    "orc.mask": "",
    "orc.write.format": "0.12",
    "maxRecordsPerFile": "0",  # which stands for no limit
    # By the first algorithm, no file appears before all tasks are done.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.output.basename": "part",  # the beginning of `_FILE`
}

_CANNOT_CUT = "Could not truncate string"
"""What Java's writer throws over a text of more than 1,024 bytes that is not UTF-8
(StringColumnStatistics).
"""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One of Spark's files: its path below the directory, its size in bytes, the number of its task
    and the values of its directories.
    """

    path: str
    size: int
    task: int
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Encoding:
    """How Spark is to encode rows of a table.

    ``others`` are the names of columns that are written behind those of the table. Each of the
    ``directories`` is a column whose values, which are small numbers, become directories; tasks
    have up to ``open_files`` of them open.
    """

    table: Table
    codec: str
    stripe_bytes: int
    others: Sequence[str] = ()
    directories: Sequence[str] = ()
    open_files: int = 0

    def model(self) -> bytes:
        """A file of no rows, to whose form the new files are brought.

        ConfigError for a codec that acidsql does not have.
        """
        return model_file(self.table.columns, self.codec)

    def write(self, rows: DataFrame, directory: str) -> bool:
        """Have Spark write rows into a new directory.

        The rows have the table's columns, in their order, with the names of `column_names`.
        False if Spark's writer cannot encode one of the texts.
        """
        tail = read_tail(BytesIO(self.model()))
        options = {
            **_OPTIONS,
            "compression": self.codec,
            "orc.compress.size": str(tail.block_size),
            "orc.row.index.stride": str(tail.row_index_stride),
            "orc.stripe.size": str(self.stripe_bytes),
        }
        writer = rows.select(*self._columns()).write.options(**options)
        if self.directories:
            writer = writer.partitionBy(*self.directories)
        opened = configured(rows.sparkSession, _OPEN_FILES, str(self.open_files))
        with clear_errors(), opened:
            try:
                writer.orc(spark_path(directory))
            except Exception as error:
                if any(cause.message.startswith(_CANNOT_CUT) for cause in causes(error)):
                    return False
                raise
        return True

    def _columns(self) -> list[Column]:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        columns: list[Column] = [
            F.unix_date(name).alias(name) if is_date(column.type) else F.col(name)
            for name, column in zip(column_names(self.table), self.table.columns, strict=True)
        ]
        return columns + [F.col(name) for name in (*self.others, *self.directories)]


def column_names(table: Table) -> list[str]:
    """What the columns are called in the rows to be encoded.

    The names do not matter to Spark's writer, and a dot in one of these is no access to a field.
    """
    return [f"c{index}" for index in range(len(table.columns))]


def is_date(kind: ColumnType) -> bool:
    """Whether Spark is given the values as days."""
    return isinstance(kind, PrimitiveType) and kind.name == "date"


def can_encode(rows: DataFrame, table: Table, target: Target) -> bool:
    """Whether Spark's writer may encode rows of the table.

    Not in an object store: Spark renames what its tasks have written, and there a rename is a copy.
    Not where tasks of other machines write local files: the driver might not see all of them, and
    Spark does not notice.
    """
    is_local = target.storage.local_path(table.location) is not None
    return (
        table.kind is TableKind.FULL_ACID
        and not table.partition_columns
        and target.storage.has_directories
        and (not is_local or runs_on_machine(master_of(rows.sparkSession)))
        and all(is_date(c.type) or _is_encoded_alike(c.type) for c in table.columns)
    )


def _is_encoded_alike(kind: ColumnType) -> bool:
    if isinstance(kind, PrimitiveType):
        return kind.name in _ENCODED_ALIKE
    return isinstance(kind, DecimalType)


def new_directory(target: Target, home: str, partition: str = TABLE_ITSELF) -> OwnPath:
    """The path of a hidden directory for `Encoding.write`, in a partition's directory ``home``."""
    return target.own(partition, f"{home}/{target.attempt_name(uuid.uuid4().hex)}")


def encoded_files(directory: OwnPath, target: Target) -> list[Encoded]:
    """The files that Spark has written into the directory.

    ExecutionError if the directory is missing, or if a file has another name than Spark's.
    """
    path = str(directory)
    found = [
        _encoded(file.path, file.size)
        for file in target.storage.list_files(path)
        if not lies_hidden(file.path)
    ]
    # Of no rows for directories, Spark writes no file.
    if not found and not target.storage.exists(path):
        raise ExecutionError(
            f'Spark has written no file in "{path}"',
            hint="Do Spark's tasks and this process see the same directory?",
        )
    return found


def require_values(paths: Sequence[str], encoding: Encoding, target: Target) -> None:
    """ConstraintViolationError if one of Spark's files has a null where no row may have one.

    The footers tell, which say how many values a column has.
    """
    names = [column.name for column in encoding.table.columns]
    required = {name: fact for name, fact in target.required.columns.items() if name in names}

    def check(path: str) -> None:
        tail = tail_of(path, target.storage)
        # Each column has one in the file, behind the root: none has parts.
        said = dict(zip(names, file_statistics(tail, path)[1:], strict=False))
        for name, fact in required.items():
            if said[name].values < tail.rows:
                raise ConstraintViolationError(fact)

    if required:
        in_threads(check, paths, STORAGE_THREADS)


def _encoded(path: str, size: int) -> Encoded:
    match = _FILE.fullmatch(path)
    if match is None:
        raise ExecutionError(
            f'Spark wrote a file of another name than its own: "{path}"',
            hint="Look for a class in spark.sql.sources.commitProtocolClass.",
        )
    pairs = (part.split("=") for part in match["values"].split("/")[:-1])
    return Encoded(path, size, int(match["task"]), {name: int(value) for name, value in pairs})

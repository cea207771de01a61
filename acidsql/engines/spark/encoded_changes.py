"""New versions of rows that Spark's own ORC writer encodes, beside the ids of the old versions.

One job computes the changes and encodes them, and moves no row. Then the ids are read from Spark's
files, for the delete events. They are left out where stripes are copied into event files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from acidsql.engines.changes import LEG, PARTITION
from acidsql.engines.output import OutputFile, Target
from acidsql.engines.rows import CHANGED_ROW_ID, Placement
from acidsql.engines.selection import source_of
from acidsql.engines.spark.encoding import (
    Encoded,
    Encoding,
    can_encode,
    column_names,
    encoded_files,
    new_directory,
)
from acidsql.engines.spark.event_files import WHOLE
from acidsql.engines.spark.job import parallelism
from acidsql.engines.spark.parts import (
    Parts,
    fits_parts,
    joined,
    joined_parts,
    part_stripe_bytes,
)
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.own_path import OwnPath
from acidsql.model.row_id import BUCKET_ID_MAX
from acidsql.model.table import Table
from acidsql.orc.footer import read_tail
from acidsql.orc.reader import open_orc, opened_source
from acidsql.orc.writer import STRIPE_BYTES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_BUCKET = "bucket"
"""The column that becomes directories in a table with buckets."""

_ID_FIELDS: list[pa.Field[pa.DataType]] = [
    pa.field(name, kind)
    for name, kind in zip(CHANGED_ROW_ID, (pa.int64(), pa.int32(), pa.int64()), strict=True)
]
_ID_SCHEMA = ", ".join(
    f"{n} {kind}" for n, kind in zip(CHANGED_ROW_ID, ("bigint", "int", "bigint"), strict=True)
)


@dataclass(frozen=True, slots=True)
class EncodedVersions:
    """New versions of rows in Spark's files, which lie in a hidden directory.

    ``home`` is the delta that the directory lies in. ``rows`` is the number of versions, of which
    each of the ``files`` has some.
    """

    target: Target
    statement_id: StatementId
    encoding: Encoding
    home: str
    directory: OwnPath
    files: Sequence[Encoded]
    rows: int

    def old_ids(self) -> pa.Table:
        """The ids of the old versions, with PARTITION and LEG, which are 0."""
        read = [_read_ids(self._path(file), self.target) for file in self.files]
        ids = pa.concat_tables([pa.schema(_ID_FIELDS).empty_table(), *read])
        zeros = pa.array(np.zeros(ids.num_rows, np.int32))
        return ids.append_column(PARTITION, zeros).append_column(LEG, zeros)

    def frame_of_old_ids(self, spark: SparkSession) -> DataFrame:
        """`old_ids` as a DataFrame, however many they are."""
        read = spark.read.options(**WHOLE).schema(_ID_SCHEMA).orc(str(self.directory))
        return read.selectExpr(f"0 AS {PARTITION}", f"0 AS {LEG}", *CHANGED_ROW_ID)

    def written(self, spark: SparkSession) -> list[OutputFile]:
        """The event files of the new versions, not yet published.

        The driver copies what is small, which takes less time than a job. Without buckets, few rows
        become one file, and many a file for each task.
        """
        is_small = sum(file.size for file in self.files) <= STRIPE_BYTES
        paths: dict[int, list[str]] = defaultdict(list)
        for file in self.files:
            number = file.values.get(_BUCKET, 0 if is_small else file.task)
            paths[number].append(self._path(file))
        others, model = len(self.encoding.others), self.encoding.model()
        parts = [
            Parts(self.target.new_file(self.home, BucketId(n), self.statement_id), some, others)
            for n, some in paths.items()
        ]
        if is_small:
            return [joined(each, self.target, model) for each in parts]
        return joined_parts(spark, parts, self.target, model)

    def remove(self) -> None:
        """Remove Spark's files; the delta, too, if there are no rows."""
        delta = self.target.own_directory(self.home)
        self.target.storage.remove(self.directory if self.files else delta)

    def _path(self, file: Encoded) -> str:
        return f"{self.directory}/{file.path}"


def _read_ids(path: str, target: Target) -> pa.Table:
    with open_orc(source_of(path, target.storage), path) as opened:
        return opened.read(CHANGED_ROW_ID)


def can_encode_versions(rows: DataFrame, table: Table, target: Target) -> bool:
    """Whether Spark's writer may encode ``rows``, which are new versions of rows of the table.

    They have PARTITION, LEG and the row id columns, and the columns of the table.
    """
    known = {PARTITION, LEG, *CHANGED_ROW_ID, *(column.name for column in table.columns)}
    if known != set(rows.columns) or not can_encode(rows, table, target):
        return False
    buckets = Placement.of(table).count
    return not buckets or fits_parts(table.columns, buckets, _tasks(rows))


def encoded_versions(
    rows: DataFrame, table: Table, target: Target, statement_id: StatementId, bucket: str
) -> EncodedVersions | None:
    """Have Spark encode new versions of rows.

    In a table with buckets, a new version keeps the ``bucket`` of the old row, an expression.
    None if Spark's writer cannot encode one of the texts. Then no row is written. ConfigError for
    a codec that acidsql does not have.
    """
    encoding = _encoding(table, target)
    home = target.make_delta(statement_id)
    directory = new_directory(target, home)
    named = _named(rows.coalesce(_tasks(rows)), encoding, bucket)
    if not encoding.write(named, str(directory)):
        target.storage.remove(directory)
        return None
    found = [
        (file, _count(f"{directory}/{file.path}", target))
        for file in encoded_files(directory, target)
    ]
    files = [file for file, count in found if count]
    rows_in_all = sum(count for _, count in found)
    return EncodedVersions(target, statement_id, encoding, home, directory, files, rows_in_all)


def _tasks(rows: DataFrame) -> int:
    return min(parallelism(rows), BUCKET_ID_MAX + 1)


def _encoding(table: Table, target: Target) -> Encoding:
    buckets = Placement.of(table).count
    return Encoding(
        table,
        target.format.compression,
        part_stripe_bytes(buckets) if buckets else STRIPE_BYTES,
        others=CHANGED_ROW_ID,
        directories=[_BUCKET] if buckets else [],
        open_files=buckets,
    )


def _named(rows: DataFrame, encoding: Encoding, bucket: str) -> DataFrame:
    """The rows with the names that the encoding asks for."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    table = encoding.table
    names = (column.name for column in table.columns)
    new = dict(zip(names, column_names(table), strict=True))
    named = rows.toDF(*(new.get(name, name) for name in rows.columns))
    added: list[Column] = [F.expr(bucket).alias(_BUCKET)] if encoding.directories else []
    return named.select("*", *added)


def _count(path: str, target: Target) -> int:
    with opened_source(source_of(path, target.storage), path) as source:
        return read_tail(source, path).rows

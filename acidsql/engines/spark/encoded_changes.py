"""New versions of rows that Spark's own ORC writer encodes, beside the ids of the old versions.

One job computes the changes and encodes them, and moves no row. Then the ids are read from Spark's
files, for the delete events. They are left out where stripes are copied into event files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
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
from acidsql.process.threads import STORAGE_THREADS, in_threads

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_LEG, _BUCKET = "leg", "bucket"
"""Columns that become directories: of several legs, and of a table with buckets."""

_ID_FIELDS: list[pa.Field[pa.DataType]] = [
    pa.field(name, kind)
    for name, kind in zip(CHANGED_ROW_ID, (pa.int64(), pa.int32(), pa.int64()), strict=True)
]
_ID_SCHEMA = ", ".join(
    f"{n} {kind}" for n, kind in zip(CHANGED_ROW_ID, ("bigint", "int", "bigint"), strict=True)
)


@dataclass(frozen=True, slots=True)
class EncodedVersions:
    """New versions of rows, and new rows, in Spark's files, which lie in a hidden directory.

    ``statement_ids`` are those of the legs. The first ``changing`` legs act on rows, which have an
    old version each. ``home`` is the delta of the first leg, in which the directory lies.
    Each of the ``files`` has rows; those of the changing legs have ``old_rows``.
    """

    target: Target
    statement_ids: Sequence[StatementId]
    changing: int
    encoding: Encoding
    home: str
    directory: OwnPath
    files: Sequence[Encoded]
    old_rows: int

    def old_ids(self) -> pa.Table:
        """The ids of the old versions, with LEG, and with PARTITION, which is 0."""
        changing = [file for file in self.files if _leg(file) < self.changing]
        empty = pa.schema([*_ID_FIELDS, pa.field(LEG, pa.int32())]).empty_table()
        ids = pa.concat_tables([empty, *in_threads(self._old_ids, changing, None)])
        return ids.append_column(PARTITION, pa.array(np.zeros(ids.num_rows, np.int32)))

    def _old_ids(self, file: Encoded) -> pa.Table:
        ids = _read_ids(self._path(file), self.target)
        return ids.append_column(LEG, pa.array(np.full(ids.num_rows, _leg(file), np.int32)))

    def frame_of_old_ids(self, spark: SparkSession) -> DataFrame:
        """`old_ids` as a DataFrame, however many they are."""
        read = spark.read.options(**WHOLE)
        if _LEG not in self.encoding.directories:
            found = read.schema(_ID_SCHEMA).orc(str(self.directory))
            return found.selectExpr(f"0 AS {PARTITION}", f"0 AS {LEG}", *CHANGED_ROW_ID)
        found = read.schema(f"{_ID_SCHEMA}, {_LEG} int").orc(str(self.directory))
        legs = found.where(f"{_LEG} < {self.changing}")
        return legs.selectExpr(f"0 AS {PARTITION}", f"{_LEG} AS {LEG}", *CHANGED_ROW_ID)

    def written(self, spark: SparkSession, legs: Collection[int]) -> list[OutputFile]:
        """The event files of the new versions and rows of these legs, not yet published."""
        parts = [each for leg in legs for each in self._parts(leg)]
        size = sum(file.size for file in self.files)
        return joined_parts(spark, parts, self.target, self.encoding.model(), size)

    def _parts(self, leg: int) -> list[Parts]:
        """The files of a leg. Without buckets, few rows become one, and many one for each task."""
        files = [file for file in self.files if _leg(file) == leg]
        if not files:
            return []
        is_small = sum(file.size for file in files) <= STRIPE_BYTES
        paths: dict[int, list[str]] = defaultdict(list)
        for file in files:
            number = file.values.get(_BUCKET, 0 if is_small else file.task)
            paths[number].append(self._path(file))
        statement_id = self.statement_ids[leg]
        home = self.target.make_directory_written(statement_id) if leg else self.home
        return [
            Parts(
                self.target.new_file(home, BucketId(number), statement_id),
                some,
                len(self.encoding.others),
            )
            for number, some in paths.items()
        ]

    def remove(self, *, with_delta: bool) -> None:
        """Remove Spark's files, or all of the first leg's delta, if it has no rows."""
        delta = self.target.own_directory(self.home)
        self.target.storage.remove(delta if with_delta else self.directory)

    @property
    def paths(self) -> list[str]:
        """The paths of the files."""
        return [self._path(file) for file in self.files]

    def _path(self, file: Encoded) -> str:
        return f"{self.directory}/{file.path}"


def _leg(file: Encoded) -> int:
    return file.values.get(_LEG, 0)


def _read_ids(path: str, target: Target) -> pa.Table:
    with open_orc(source_of(path, target.storage), path) as opened:
        return opened.read(CHANGED_ROW_ID)


def can_encode_versions(rows: DataFrame, table: Table, target: Target, legs: int = 1) -> bool:
    """Whether Spark's writer may encode ``rows``, which are new versions of rows of the table.

    They have PARTITION, LEG and the row id columns, and the columns of the table.
    """
    known = {PARTITION, LEG, *CHANGED_ROW_ID, *(column.name for column in table.columns)}
    if known != set(rows.columns) or not can_encode(rows, table, target):
        return False
    return fits_parts(table.columns, legs * max(1, Placement.of(table).count), _tasks(rows))


def encoded_versions(
    rows: DataFrame,
    table: Table,
    target: Target,
    statement_ids: Sequence[StatementId],
    changing: int,
    bucket: Column | None = None,
) -> EncodedVersions | None:
    """Have Spark encode new versions of rows, and new rows, in the tasks that compute them.

    ``bucket`` is an expression of the bucket to which a row of a table with buckets belongs.
    None if Spark's writer cannot encode one of the texts. Then no row is written. ConfigError for
    a codec that acidsql does not have.
    """
    encoding = _encoding(table, target, len(statement_ids))
    home = target.make_directory_written(statement_ids[0])
    directory = new_directory(target, home)
    named = _named(rows, encoding, bucket)
    if not encoding.write(named, str(directory)):
        target.storage.remove(directory)
        return None
    every = encoded_files(directory, target)
    counts = in_threads(
        lambda file: _count(f"{directory}/{file.path}", target), every, STORAGE_THREADS
    )
    found = list(zip(every, counts, strict=True))
    files = [file for file, count in found if count]
    old = sum(count for file, count in found if _leg(file) < changing)
    return EncodedVersions(target, statement_ids, changing, encoding, home, directory, files, old)


def in_few_tasks(rows: DataFrame) -> DataFrame:
    """The rows in no more tasks than run at once, each of which writes files of its own."""
    return rows.coalesce(_tasks(rows))


def _tasks(rows: DataFrame) -> int:
    return min(parallelism(rows), BUCKET_ID_MAX + 1)


def _encoding(table: Table, target: Target, legs: int) -> Encoding:
    buckets = Placement.of(table).count
    places = legs * max(1, buckets)
    directories = {_LEG: legs > 1, _BUCKET: buckets > 0}
    return Encoding(
        table,
        target.format.compression,
        part_stripe_bytes(places),
        others=CHANGED_ROW_ID,
        directories=[name for name, is_there in directories.items() if is_there],
        open_files=places,
    )


def _named(rows: DataFrame, encoding: Encoding, bucket: Column | None) -> DataFrame:
    """The rows with the names that the encoding asks for."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    table = encoding.table
    names = (column.name for column in table.columns)
    new = dict(zip(names, column_names(table), strict=True))
    named = rows.toDF(*(new.get(name, name) for name in rows.columns))
    added = {_LEG: F.col(LEG), _BUCKET: F.lit(0) if bucket is None else bucket}
    return named.select("*", *(added[name].alias(name) for name in encoding.directories))


def _count(path: str, target: Target) -> int:
    with opened_source(source_of(path, target.storage), path) as source:
        return read_tail(source, path).rows

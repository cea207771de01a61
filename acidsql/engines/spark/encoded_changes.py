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
from acidsql.engines.rows import CHANGED_ROW_ID, Placement
from acidsql.engines.selection import source_of, tail_of
from acidsql.engines.spark.encoding import (
    Encoded,
    Encoding,
    can_encode,
    column_names,
    encoded_files,
    new_directory,
    require_values,
)
from acidsql.engines.spark.event_files import WHOLE
from acidsql.engines.spark.job import parallelism
from acidsql.engines.spark.parts import (
    Parts,
    fits_parts,
    joined_parts,
    part_stripe_bytes,
)
from acidsql.engines.spark.paths import literal_paths
from acidsql.engines.target import TABLE_ITSELF, OutputFile, Target
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.own_path import OwnPath
from acidsql.model.row_id import BUCKET_ID_MAX
from acidsql.model.table import Table
from acidsql.orc.reader import open_orc
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
_PLACE_FIELDS: list[pa.Field[pa.DataType]] = [
    pa.field(LEG, pa.int32()),
    pa.field(PARTITION, pa.int32()),
]
_ID_SCHEMA = ", ".join(
    f"{n} {kind}" for n, kind in zip(CHANGED_ROW_ID, ("bigint", "int", "bigint"), strict=True)
)


@dataclass(frozen=True, slots=True)
class EncodedVersions:
    """New versions of rows, and new rows, in Spark's files, which lie in a hidden directory.

    ``statement_ids`` are those of the legs. The first ``changing`` legs act on rows, which have an
    old version each. ``home`` is the delta of the first leg, in which the directory lies, and
    ``partition`` the partition whose delta it is.
    Each of the ``files`` has rows, ``rows_max`` at most; those of the changing legs have
    ``old_rows`` together.
    """

    target: Target
    statement_ids: Sequence[StatementId]
    changing: int
    encoding: Encoding
    partition: str
    home: str
    directory: OwnPath
    files: Sequence[Encoded]
    old_rows: int
    rows_max: int

    def old_ids(self) -> pa.Table:
        """The ids of the old versions, with LEG and PARTITION."""
        empty = pa.schema([*_ID_FIELDS, *_PLACE_FIELDS]).empty_table()
        return pa.concat_tables([empty, *in_threads(self._old_ids, self._changing, None)])

    def _old_ids(self, file: Encoded) -> pa.Table:
        path = self._path(file)
        with open_orc(source_of(path, self.target.storage), path) as opened:
            ids = opened.read(self.encoding.others)
        legs = np.full(ids.num_rows, _leg(file), np.int32)
        if PARTITION not in ids.schema.names:
            none = pa.array(np.zeros(ids.num_rows, np.int32))
            ids = ids.append_column(PARTITION, none)
        ids = ids.append_column(LEG, pa.array(legs))
        return ids.select([*CHANGED_ROW_ID, LEG, PARTITION])

    def frame_of_old_ids(self, spark: SparkSession) -> DataFrame:
        """`old_ids` as a DataFrame, however many they are."""
        has_legs = _LEG in self.encoding.directories
        has_partitions = PARTITION in self.encoding.others
        schema = [_ID_SCHEMA]
        schema += [f"{_LEG} int"] if has_legs else []
        schema += [f"{PARTITION} int"] if has_partitions else []
        reader = spark.read.options(**WHOLE).schema(", ".join(schema))
        found = reader.orc(literal_paths([str(self.directory)]))
        if has_legs:
            found = found.where(f"{_LEG} < {self.changing}")
        partition = PARTITION if has_partitions else f"0 AS {PARTITION}"
        leg = f"{_LEG} AS {LEG}" if has_legs else f"0 AS {LEG}"
        return found.selectExpr(partition, leg, *CHANGED_ROW_ID)

    def written(self, spark: SparkSession, legs: Collection[int]) -> list[OutputFile]:
        """The event files of the new versions and rows of these legs, not yet published.

        ConstraintViolationError for a null in a column that may have none.
        """
        paths = [self._path(file) for file in self.files if _leg(file) in legs]
        require_values(paths, self.encoding, self.target)
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
        delta = self.target.own(self.partition, self.home)
        self.target.storage.remove(delta if with_delta else self.directory)

    @property
    def changing_paths(self) -> list[str]:
        """The paths of the files of rows that have an old version."""
        return [self._path(file) for file in self._changing]

    @property
    def _changing(self) -> list[Encoded]:
        return [file for file in self.files if _leg(file) < self.changing]

    def _path(self, file: Encoded) -> str:
        return f"{self.directory}/{file.path}"


def _leg(file: Encoded) -> int:
    return file.values.get(_LEG, 0)


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
    partition: str = TABLE_ITSELF,
) -> EncodedVersions | None:
    """Have Spark encode new versions of rows, and new rows, in the tasks that compute them.

    The old versions of a table with partitions may lie in several. Then the rows have PARTITION,
    and Spark's files lie in the delta of one ``partition``.

    ``bucket`` is an expression of the bucket to which a row of a table with buckets belongs.
    None if Spark's writer cannot encode one of the texts. Then no row is written. ConfigError for
    a codec that acidsql does not have.
    """
    others = (*([PARTITION] if partition else []), *CHANGED_ROW_ID)
    encoding = _encoding(table, target, len(statement_ids), others)
    home = target.make_directory_written(statement_ids[0], partition)
    directory = new_directory(target, home, partition)
    named = _named(rows, encoding, bucket)
    if not encoding.write(named, str(directory)):
        target.storage.remove(target.own(partition, home))
        return None
    every = encoded_files(directory, target)
    counts = in_threads(
        lambda file: tail_of(f"{directory}/{file.path}", target.storage).rows,
        every,
        STORAGE_THREADS,
    )
    found = list(zip(every, counts, strict=True))
    files = [file for file, count in found if count]
    old = sum(count for file, count in found if _leg(file) < changing)
    return EncodedVersions(
        target=target,
        statement_ids=statement_ids,
        changing=changing,
        encoding=encoding,
        partition=partition,
        home=home,
        directory=directory,
        files=files,
        old_rows=old,
        rows_max=max(counts, default=0),
    )


def in_few_tasks(rows: DataFrame) -> DataFrame:
    """The rows in no more tasks than run at once, each of which writes files of its own."""
    return rows.coalesce(_tasks(rows))


def _tasks(rows: DataFrame) -> int:
    return min(parallelism(rows), BUCKET_ID_MAX + 1)


def _encoding(table: Table, target: Target, legs: int, others: Sequence[str]) -> Encoding:
    buckets = Placement.of(table).count
    places = legs * max(1, buckets)
    directories = {_LEG: legs > 1, _BUCKET: buckets > 0}
    return Encoding(
        table,
        target.format.compression,
        part_stripe_bytes(places),
        others=others,
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

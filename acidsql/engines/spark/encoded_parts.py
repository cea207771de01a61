"""New rows that Spark's own ORC writer encodes: its files are parts, of which event files are made.

A file of a table without buckets is one part. A bucket has a part of each task.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from acidsql.engines.rows import Placement
from acidsql.engines.spark.bucket_number import bucket_number, knows_buckets
from acidsql.engines.spark.encoding import (
    Encoding,
    can_encode,
    column_names,
    encoded_files,
    new_directory,
    require_values,
)
from acidsql.engines.spark.parts import Parts, fits_parts, joined_parts, part_stripe_bytes
from acidsql.engines.target import TABLE_ITSELF, OutputFile, Target
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.table import Table
from acidsql.orc.writer import STRIPE_BYTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUCKET = "bucket"


def fits_encoded_parts(rows: DataFrame, table: Table, target: Target, tasks: int) -> bool:
    """Whether Spark's writer may encode new rows of the table, which so many tasks compute."""
    if not can_encode(rows, table, target):
        return False
    if table.bucketing is None:
        return True
    return knows_buckets(table) and fits_parts(table.columns, Placement.of(table).count, tasks)


def write_encoded_parts(
    rows: DataFrame, table: Table, target: Target, statement_id: StatementId
) -> list[OutputFile] | None:
    """Write new rows: one file for each task of the frame, or for each bucket. The files are not
    yet published.

    None if Spark's classes, which compute buckets, cannot be reached, or if its writer cannot
    encode one of the texts. Then no row is written. ConfigError for a codec that acidsql does not
    have, ConstraintViolationError for a null in a column that may have none.
    """
    buckets = Placement.of(table).count
    encoding = Encoding(
        table,
        target.format.compression,
        part_stripe_bytes(buckets) if buckets else STRIPE_BYTES,
        directories=[_BUCKET] if buckets else [],
        open_files=buckets,
    )
    rows = rows.toDF(*column_names(table))
    if buckets:
        bucket = bucket_number(rows.sparkSession, table, column_names(table))
        if bucket is None:
            return None
        rows = rows.select("*", bucket.alias(_BUCKET))
    home = target.make_directory_written(statement_id)
    directory = new_directory(target, home)
    if not encoding.write(rows, str(directory)):
        target.storage.remove(directory)
        return None
    found = encoded_files(directory, target)
    require_values([f"{directory}/{file.path}" for file in found], encoding, target)
    of_bucket: dict[int, list[str]] = defaultdict(list)
    for file in found:
        of_bucket[file.values.get(_BUCKET, file.task)].append(f"{directory}/{file.path}")
    parts = [
        Parts(target.new_file(home, BucketId(number), statement_id), paths)
        for number, paths in of_bucket.items()
    ]
    size = sum(file.size for file in found)
    files = joined_parts(rows.sparkSession, parts, target, encoding.model(), size)
    target.storage.remove(directory if files else target.own(TABLE_ITSELF, home))
    return files

"""New rows to their buckets without a shuffle: tasks write parts, which are joined.

So a row goes from Spark to Python once, and no row is sorted or moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.output import Output
from acidsql.engines.rows import Placement, groups
from acidsql.engines.spark.arrow import ArrowWork
from acidsql.engines.spark.job import files_batch, run_writers
from acidsql.engines.spark.parts import Parts, fits_parts, joined_parts, part_stripe_bytes
from acidsql.engines.target import TABLE_ITSELF, OutputFile, Target
from acidsql.model.ids import StatementId
from acidsql.model.table import Table, TableKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fits_bucket_parts(table: Table, tasks: int) -> bool:
    """Whether rows that so many tasks compute are to be written by parts.

    Not in a partitioned table: nobody knows how many partitions, and so how many parts, there are.
    """
    if table.kind is not TableKind.FULL_ACID or table.partition_columns:
        return False
    return fits_parts(table.columns, Placement.of(table).count, tasks)


def write_by_parts(
    rows: DataFrame, table: Table, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """Write new rows of an unpartitioned table. Their files, not yet published."""
    parts = run_writers(rows, _part_writer(table, target, statement_id))
    places: dict[str, list[OutputFile]] = defaultdict(list)
    for part in parts:
        places[part.name].append(part)
    found = [
        Parts(some[0], [f"{p.directory}/{p.attempt}" for p in some]) for some in places.values()
    ]
    files = joined_parts(rows.sparkSession, found, target)
    for part in parts:
        target.remove_attempt(part)
    return files


def _part_writer(table: Table, target: Target, statement_id: StatementId) -> ArrowWork:
    placement = Placement.of(table)
    names = [c.name for c in table.columns]

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Output(target, stripe_bytes=part_stripe_bytes(placement.count)) as output:
            for batch in batches:
                rows = pa.Table.from_batches([batch]).select(names)
                for (bucket,), part in groups(rows, [placement.buckets(rows)]):
                    for each in part.to_batches():
                        output.insert(each, TABLE_ITSELF, bucket, statement_id)
        yield files_batch(output.files)

    return write

"""New rows to their buckets without a shuffle: tasks write parts, which are joined.

Each task writes a part of each bucket's file. A second job then makes one file of the parts of each
bucket, by copying compressed stripes. So a row goes from Spark to Python once, and no row is sorted
or moved.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.output import TABLE_ITSELF, Output, OutputFile, Target
from acidsql.engines.rows import Placement, groups
from acidsql.engines.selection import source_of
from acidsql.engines.spark.job import ArrowWork, files_batch, run_writers
from acidsql.layout.dir_names import parse_bucket_file
from acidsql.model.ids import StatementId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Table, TableKind
from acidsql.orc.joined import join_rows
from acidsql.orc.reader import Source
from acidsql.orc.schema import row_schema
from acidsql.orc.writer import STRIPE_BYTES
from acidsql.ports.storage import local_draft

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PARTS_MAX = 1024
"""So many parts are joined at most. A part costs a few milliseconds, and has a stripe or more."""

_TASK_BYTES = 256 << 20
"""The stripes that a task has open may take so many bytes before compression."""

_BUCKETS_MAX = 64
"""With more buckets, stripes would be smaller than 4 MiB, and each read would take longer."""

_COLUMNS_MAX = 640
"""So many columns of ORC a task has open at most, in all files. pyarrow takes some 400 KB for each,
however few rows there are: of 50 columns in 64 buckets, 100 rows in each bucket took 1.1 GB.
"""

_OPEN_MAX = 256
"""So many parts a bucket has at most: a task that joins them has all of them open."""


def fits_parts(table: Table, tasks: int) -> bool:
    """Whether rows that so many tasks compute are to be written by parts.

    Not in a partitioned table: nobody knows how many partitions, and so how many parts, there are.
    """
    count = Placement.of(table).count
    if table.kind is not TableKind.FULL_ACID or table.partition_columns:
        return False
    if not 0 < count <= _BUCKETS_MAX or tasks > _OPEN_MAX or count * tasks > _PARTS_MAX:
        return False
    return count * sum(_orc_columns(f.type) for f in row_schema(table.columns)) <= _COLUMNS_MAX


def _orc_columns(kind: pa.DataType) -> int:
    """How many columns of ORC hold a column of the type: a nested type has some for its parts."""
    return 1 + sum(_orc_columns(kind.field(i).type) for i in range(kind.num_fields))


def write_by_parts(
    rows: DataFrame, table: Table, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """Write new rows of an unpartitioned table. Their files, not yet published."""
    parts = run_writers(rows, _part_writer(table, target, statement_id))
    of_bucket: dict[str, list[OutputFile]] = defaultdict(list)
    for part in parts:
        of_bucket[part.name].append(part)
    if not of_bucket:
        return []
    buckets = list(of_bucket.values())
    numbers = rows.sparkSession.range(0, len(buckets), 1, len(buckets))
    files = run_writers(numbers, _joiner(buckets, target))
    for part in parts:
        target.remove_attempt(part)
    return files


def _part_writer(table: Table, target: Target, statement_id: StatementId) -> ArrowWork:
    placement = Placement.of(table)
    names = [c.name for c in table.columns]
    stripe_bytes = min(STRIPE_BYTES, _TASK_BYTES // placement.count)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Output(target, stripe_bytes=stripe_bytes) as output:
            for batch in batches:
                rows = pa.Table.from_batches([batch]).select(names)
                for (bucket,), part in groups(rows, [placement.buckets(rows)]):
                    for each in part.to_batches():
                        output.insert(each, TABLE_ITSELF, bucket, statement_id)
        yield files_batch(output.files)

    return write


def _joiner(buckets: Sequence[Sequence[OutputFile]], target: Target) -> ArrowWork:
    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            files = [_joined(buckets[n], target) for n in batch.column(0).to_numpy()]
            yield files_batch(files)

    return join


def _joined(parts: Sequence[OutputFile], target: Target) -> OutputFile:
    """One file of the parts of a bucket, under an attempt's name."""
    part = parts[0]
    attempt = target.attempt_name(f"{uuid.uuid4().hex}_{part.name}")
    path = f"{part.directory}/{attempt}"
    local = local_draft(path, target.storage)
    bucket = parse_bucket_file(part.name)
    assert bucket is not None
    bucket_property = encode_bucket(bucket.bucket_id, StatementId(part.statement_id))
    with ExitStack() as streams:
        opened = [_opened(each, target, streams) for each in parts]
        written = join_rows(opened, local, RowId(target.write_id, bucket_property, 0))
    target.storage.put_file(local, path)
    return replace(part, attempt=attempt, rows=written.rows)


def _opened(part: OutputFile, target: Target, streams: ExitStack) -> tuple[Source, str]:
    """A part for `join_rows`. If it is a stream, ``streams`` closes it."""
    path = f"{part.directory}/{part.attempt}"
    source = source_of(path, target.storage)
    if not isinstance(source, str):
        streams.enter_context(source)
    return source, path

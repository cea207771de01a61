"""Parts of files: tasks write rows where they compute them, and then parts are joined.

A part has the rows of one bucket of a partition that one task has computed. The parts of a bucket
become one file by copying compressed stripes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.output import OutputFile, Target
from acidsql.engines.selection import source_of
from acidsql.engines.spark.arrow import ArrowWork
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.job import files_batch, run_writers
from acidsql.engines.spark.session import runs_in_process
from acidsql.layout.dir_names import parse_bucket_file
from acidsql.model.ids import StatementId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Column
from acidsql.orc.joined import join_rows
from acidsql.orc.reader import Source
from acidsql.orc.schema import row_schema
from acidsql.orc.writer import STRIPE_BYTES
from acidsql.ports.storage import local_draft
from acidsql.process.threads import in_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARTS_MAX = 1024
"""So many parts are joined at most. A part costs a few milliseconds, and has a stripe or more."""

_TASK_BYTES = 256 << 20
"""The stripes that a task has open may take so many bytes before compression."""

_PLACES_MAX = 64
"""With more places, stripes would be smaller than 4 MiB, and each read would take longer."""

_COLUMNS_MAX = 640
"""So many columns of ORC a task has open at most, in all files. pyarrow takes some 400 KB for each,
however few rows there are: of 50 columns in 64 buckets, 100 rows in each bucket took 1.1 GB.
"""

_OPEN_MAX = 256
"""So many parts a place has at most: a task that joins them has all of them open."""


def fits_parts(columns: Sequence[Column], places: int, tasks: int) -> bool:
    """Whether rows of so many places, which so many tasks compute, are to be written by parts.

    A place is a bucket of a partition.
    """
    if not 0 < places <= _PLACES_MAX or tasks > _OPEN_MAX or places * tasks > _PARTS_MAX:
        return False
    return places * sum(_orc_columns(f.type) for f in row_schema(columns)) <= _COLUMNS_MAX


def part_stripe_bytes(places: int) -> int:
    """The size of stripes of a task that writes parts of so many places."""
    return min(STRIPE_BYTES, _TASK_BYTES // places)


def _orc_columns(kind: pa.DataType) -> int:
    """How many columns of ORC hold a column of the type: a nested type has some for its parts."""
    return 1 + sum(_orc_columns(kind.field(i).type) for i in range(kind.num_fields))


@dataclass(frozen=True, slots=True)
class Parts:
    """The paths of the parts of one place, and the file that they become, which has no name yet.

    ``others`` is as in `join_rows`.
    """

    file: OutputFile
    paths: Sequence[str]
    others: int = 0


def joined_parts(
    spark: SparkSession,
    places: Sequence[Parts],
    target: Target,
    model: bytes | None = None,
    size: int | None = None,
) -> list[OutputFile]:
    """One file of the parts of each place, not yet published. The parts stay.

    ``model`` is given if another writer than acidsql has written the parts (`join_rows`). ``size``
    are the bytes of all parts, if they are known. The driver copies what is small, and all parts if
    the tasks would not run elsewhere: to hand them to Python processes takes longer.
    """
    if (size is not None and size <= STRIPE_BYTES) or _tasks_run_here(spark):
        return in_threads(lambda parts: _joined(parts, target, model), places, None)
    if not places:
        return []
    numbers = spark.range(0, len(places), 1, len(places))
    return run_writers(numbers, _joiner(places, target, model))


def _tasks_run_here(spark: SparkSession) -> bool:
    """Whether tasks run in the process of the driver. Spark Connect does not tell."""
    return java_classes(spark) is not None and runs_in_process(spark.sparkContext.master)


def _joiner(places: Sequence[Parts], target: Target, model: bytes | None) -> ArrowWork:
    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column(0).to_numpy()
            yield files_batch([_joined(places[n], target, model) for n in numbers])

    return join


def _joined(parts: Parts, target: Target, model: bytes | None) -> OutputFile:
    """One file of the parts of a place, under an attempt's name."""
    file = parts.file
    attempt = target.attempt_name(f"{uuid.uuid4().hex}_{file.name}")
    path = f"{file.directory}/{attempt}"
    local = local_draft(path, target.storage)
    bucket = parse_bucket_file(file.name)
    assert bucket is not None
    bucket_property = encode_bucket(bucket.bucket_id, StatementId(file.statement_id))
    with ExitStack() as streams:
        opened = [_opened(each, target, streams) for each in parts.paths]
        first = RowId(target.write_id, bucket_property, 0)
        written = join_rows(opened, local, first, model, parts.others)
    target.storage.put_file(local, path)
    return replace(file, attempt=attempt, rows=written.rows)


def _opened(path: str, target: Target, streams: ExitStack) -> tuple[Source, str]:
    """A part for `join_rows`. If it is a stream, ``streams`` closes it."""
    source = source_of(path, target.storage)
    if not isinstance(source, str):
        streams.enter_context(source)
    return source, path

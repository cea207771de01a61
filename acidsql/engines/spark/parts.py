"""Parts of files: tasks write rows where they compute them, and then parts are joined.

A part has the rows of one bucket of a partition that one task has computed. The parts of a bucket
become one file by copying compressed stripes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from acidsql.engines.selection import source_of
from acidsql.engines.spark.job import files_batch, run_writers
from acidsql.engines.spark.session import master_of, runs_in_process
from acidsql.engines.target import OutputFile, Target
from acidsql.layout.dir_names import parse_bucket_file
from acidsql.model.ids import StatementId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Column
from acidsql.orc.joined import join_rows
from acidsql.orc.reader import Source
from acidsql.orc.schema import row_schema
from acidsql.orc.writer import STRIPE_BYTES, WrittenFile
from acidsql.ports.storage import Storage, local_draft
from acidsql.process.threads import in_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Place = TypeVar("_Place")

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

_TASKS_MAX = 4096
"""So many tasks make files of places at most."""

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
    are the bytes of all parts, if they are known.
    """

    def join(parts: Parts) -> OutputFile:
        with ExitStack() as streams:
            opened = [opened_path(each, target.storage, streams) for each in parts.paths]
            return written_file(
                parts.file,
                target,
                lambda path, first: join_rows(opened, path, first, model, parts.others),
            )

    return files_of_places(spark, places, join, size)


def files_of_places(
    spark: SparkSession,
    places: Sequence[_Place],
    write: Callable[[_Place], OutputFile | None],
    size: int | None = None,
    threads: int | None = None,
) -> list[OutputFile]:
    """What ``write`` makes of the places: files of which most is copied from ``size`` bytes.

    The driver writes what is small, and all files if the tasks would not run elsewhere: to hand
    them to Python processes takes longer. It has ``threads`` threads, or one for each processor.
    """
    if (size is not None and size <= STRIPE_BYTES) or runs_in_process(master_of(spark)):
        return [file for file in in_threads(write, places, threads) if file is not None]
    if not places:
        return []
    numbers = spark.range(0, len(places), 1, min(len(places), _TASKS_MAX))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            written = [write(places[number]) for number in batch.column(0).to_numpy()]
            yield files_batch([file for file in written if file is not None])

    return run_writers(numbers, run)


def written_file(
    file: OutputFile, target: Target, write: Callable[[str, RowId], WrittenFile]
) -> OutputFile:
    """A file of a place, under an attempt's name.

    ``write`` is given a local path and the row id of the first row.
    """
    attempt = target.attempt_name(f"{uuid.uuid4().hex}_{file.name}")
    path = f"{file.directory}/{attempt}"
    local = local_draft(path, target.storage)
    bucket = parse_bucket_file(file.name)
    assert bucket is not None
    bucket_property = encode_bucket(bucket.bucket_id, StatementId(file.statement_id))
    written = write(local, RowId(target.write_id, bucket_property, 0))
    target.storage.put_file(local, path)
    return replace(file, attempt=attempt, rows=written.rows)


def opened_path(path: str, storage: Storage, streams: ExitStack) -> tuple[Source, str]:
    """A file and its path. If it is a stream, ``streams`` closes it."""
    source = source_of(path, storage)
    if not isinstance(source, str):
        streams.enter_context(source)
    return source, path

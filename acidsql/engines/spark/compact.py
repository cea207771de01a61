"""A compaction on a Spark cluster: one task for each bucket, with the code that threads run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.local.merge import Merge, Run, as_threads
from acidsql.engines.spark.arrow import map_in_arrow
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.own_jobs import own_jobs
from acidsql.engines.spark.session import SparkHolder
from acidsql.layout.arrow import Array
from acidsql.model.progress import Progress
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def where_it_pays(
    spark: SparkHolder, storage: Storage, least_bytes: int, progress: Progress
) -> Run:
    """Runs merges as Spark tasks if Spark is a cluster and they are large, else in threads here.

    They are large if there are several, with ``least_bytes`` or more to merge.
    """

    def run(merges: Sequence[Merge]) -> Sequence[bool]:
        is_large = len(merges) > 1 and sum(m.bytes for m in merges) >= least_bytes
        if not is_large or not spark.is_cluster:
            return as_threads(storage)(merges)
        session = spark.get()
        with own_jobs(session, "compacting", progress):
            return as_tasks(session, storage)(merges)

    return run


def as_tasks(spark: SparkSession, storage: Storage) -> Run:
    """Runs each merge in a Spark task.

    A task may run twice, and the late one must not touch what the other has written. So each
    attempt writes under a name of its own, hidden from readers, and the driver renames the files of
    the attempts that Spark names as successful.
    """

    def run(merges: Sequence[Merge]) -> Sequence[bool]:
        written = dict(_run_tasks(spark, storage, [m.for_task() for m in merges]))
        for at, name in written.items():
            merge = merges[at]
            storage.rename(f"{merge.directory}/{name}", f"{merge.directory}/{merge.name}")
        return [at in written for at in range(len(merges))]

    return run


def _run_tasks(
    spark: SparkSession, storage: Storage, merges: Sequence[Merge]
) -> list[tuple[int, str]]:
    """The number of each merge that wrote a file, and the file's name."""
    with clear_errors():
        numbers = spark.range(0, len(merges), 1, len(merges))
        work = partial(_work, merges, storage)
        rows = map_in_arrow(numbers, work, "merge long, name string").collect()
    return [(row[0], row[1]) for row in rows]


def _work(
    merges: Sequence[Merge], storage: Storage, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_numpy():
            merge = merges[number]
            name = f"_{merge.name}_{uuid.uuid4().hex}"
            if merge.run(storage, name):
                columns: list[Array] = [pa.array([number], pa.int64()), pa.array([name])]
                yield pa.RecordBatch.from_arrays(columns, names=["merge", "name"])

"""The rows of a DataFrame as they are asked for: jobs over some of its partitions at a time.

Spark computes a partition in one go, so that is the least that a job brings into the JVM of the
driver. From there Python reads one batch after the other. The rows are pickled and made as those of
``collect()`` are. No partition is computed twice: `Dataset.javaToPython` plans the query and runs
all stages but the last, once, and each job has partitions of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import by_gateway
from acidsql.engines.spark.own_jobs import own_jobs
from acidsql.engines.spark.python_values import python_values
from acidsql.engines.spark.settings import for_statement
from acidsql.errors import ExecutionError
from acidsql.model.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP_BYTES = 16 << 20
"""Pickled rows that one job should bring into the JVM of the driver."""

GROWTH = 4
"""How many times more partitions a job may have than the one before; as in Spark's own take()."""

WHOLE_ROWS = 1000
"""A query that has at most this many rows by its own bound is read by one collect().

For a LIMIT collect() looks into no more partitions than it needs; jobs over the partitions of the
result would begin with all of them.
"""

BATCH_ROWS = 1000
"""Rows at a time where nothing else makes batches."""

_LENGTH = struct.Struct("!i")

Rows = list[tuple[Any, ...]]


class RowStream:
    """The RowBatches port over a DataFrame."""

    def __init__(self, frame: DataFrame, progress: Progress = UNWATCHED) -> None:
        self._frame = frame
        self._progress = progress
        self._batches = self._compute()
        self._computed = False
        self._planned = False

    @property
    def computed(self) -> bool:
        return self._computed

    def __iter__(self) -> Iterator[Rows]:
        return self

    def __next__(self) -> Rows:
        spark = self._frame.sparkSession
        with own_jobs(spark, "reading", self._progress), clear_errors():
            if self._planned:
                return next(self._batches)
            with for_statement(spark):
                self._planned = True
                return next(self._batches)

    def close(self) -> None:
        self._batches.close()

    def _compute(self) -> Generator[Rows, None, None]:
        run_job = by_gateway(
            self._frame.sparkSession,
            lambda java: java("org.apache.spark.api.python.PythonRDD").runJob,
            "rows come by toLocalIterator",
        )
        if run_job is None:
            yield from _sliced(self._frame.toLocalIterator())
        elif _has_few_rows(self._frame):
            rows = collected(self._frame)
            self._computed = True
            yield rows
        else:
            yield from self._by_partitions(run_job)
        self._computed = True

    def _by_partitions(self, run_job: Callable[..., Any]) -> Iterator[Rows]:
        context = self._frame.sparkSession.sparkContext._jsc.sc()
        pickled = self._frame._jdf.javaToPython()
        partitions = range(pickled.partitions().size())
        size = _first_size(self._frame, len(partitions))
        while partitions:
            group, partitions = partitions[:size], partitions[size:]
            served = run_job(context, pickled, list(group))
            self._computed = not partitions
            sizes: list[int] = []
            yield from _read(served, sizes)
            fitting = GROUP_BYTES * len(group) // max(1, sum(sizes))
            size = max(1, min(fitting, GROWTH * len(group)))


def collected(frame: DataFrame) -> Rows:
    """All rows, by one job."""
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        with python_values():
            return [tuple(row) for row in frame.collect()]
    return [row for batch in _read(plan.collectToPython(), []) for row in batch]


def _has_few_rows(frame: DataFrame) -> bool:
    most = frame._jdf.queryExecution().optimizedPlan().maxRows()
    return bool(most.isDefined() and int(most.get()) <= WHOLE_ROWS)


def _first_size(frame: DataFrame, partitions: int) -> int:
    """How many partitions bring `GROUP_BYTES` if Spark's own estimate is right."""
    estimate = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    return max(1, GROUP_BYTES * partitions // max(1, estimate))


def _read(served: Any, sizes: list[int]) -> Iterator[Rows]:
    """The batches that the JVM serves at a port; the bytes of each are appended to ``sizes``.

    The connection ends after the last batch, and after an error. So in the end the JVM is asked
    whether it has served all of them.
    """
    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415 - where Spark is used anyway
    from pyspark.util import local_connect_and_auth  # noqa: PLC0415

    unpickle: Callable[[bytes], Any] = CPickleSerializer().loads
    file, socket = local_connect_and_auth(served[0], served[1])
    try:
        # No time-out: the reader may take its time, and so may the JVM.
        socket.settimeout(None)
        while length := file.read(_LENGTH.size):
            [size] = _LENGTH.unpack(length)
            sizes.append(size)
            data = _exactly(size, file)
            with python_values():
                rows = [tuple(row) for row in unpickle(data)]
            yield rows
    except OSError as error:
        raise ExecutionError("Spark broke off while it sent rows", detail=f"{error}.") from error
    finally:
        file.close()
        socket.close()
    served[2].getResult()


def _exactly(size: int, file: Any) -> bytes:
    data: bytes = file.read(size)
    if len(data) < size:
        raise ConnectionResetError(f"{len(data)} bytes came of {size}")
    return data


def _sliced(rows: Iterator[Any]) -> Iterator[Rows]:
    while True:
        with python_values():
            batch = [tuple(row) for row in islice(rows, BATCH_ROWS)]
        if not batch:
            return
        yield batch

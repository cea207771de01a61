"""Rows that are known without a job: those of VALUES, of a local frame, and what follows from them.

Spark's optimiser computes projections and conditions over such rows itself. A job would only send
the result through a task, which takes ten times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.spark.arrow import arrow_converters
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.errors import ExecutionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BYTES_MAX = 1 << 20
"""How many bytes of rows, by Spark's estimate, are taken without a job.

py4j hands bytes over as text, so a job is faster for more rows.
"""

_HELD_MAX = 8 * BYTES_MAX
"""The same rows in Java's memory, where small values take several times as much.

Spark's estimate alone is no limit: it counts 20 bytes for a text of any length.
"""

_COPIES = 10
"""How many times their memory a job over such rows takes in Java: partitions, tasks and buffers.

Measured: 300 MB pass through a heap of 4 GiB, and 500 MB do not.
"""

_LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"
_SIZES = "org.apache.spark.util.SizeEstimator"
_BATCH_ROWS = 10_000


def held_bytes(frame: DataFrame) -> int | None:
    """The memory that rows known without a job take in Java; None for other rows.

    Of more than 400 rows, Spark looks at some hundred. ExecutionError if Java has too little memory
    for a job over the rows: the thread that should run it would end, and Python wait for ever.
    """
    with clear_errors():
        relation = _relation(frame)
        if relation is None:
            return None
        return by_gateway(
            frame.sparkSession,
            lambda java: _held(java, relation),
            "local rows are measured by a job",
        )


def computed_rows(frame: DataFrame, bytes_max: int = BYTES_MAX) -> pa.Table | None:
    """The rows, as `to_arrow` would bring them; None if it takes a job to know them.

    None, too, if there are no rows, or more than ``bytes_max`` or `BYTES_MAX`. A value that cannot
    be computed raises the error that the job would raise. ExecutionError if rows are missing.
    """
    with clear_errors():
        relation = _relation(frame)
        if relation is None or int(relation.stats().sizeInBytes()) > min(bytes_max, BYTES_MAX):
            return None
        plan: Any = frame
        schema = plan._jdf.schema()  # the names are the user's; an optimiser may change them
        return by_gateway(
            frame.sparkSession,
            lambda java: (
                _converted(java, relation, schema) if _held(java, relation) <= _HELD_MAX else None
            ),
            "local rows are collected by a job",
        )


def _relation(frame: DataFrame) -> Any:
    """The LocalRelation to which Spark's optimiser reduces the frame; None if it is another plan.

    None, too, without a gateway to ask through.
    """
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        return None
    optimized = plan.queryExecution().optimizedPlan()
    return optimized if optimized.getClass().getName() == _LOCAL else None


def _held(java: JavaClasses, relation: Any) -> int:
    held = int(java(_SIZES).estimate(relation.data()))
    memory = int(java("java.lang.Runtime").getRuntime().maxMemory())
    if held * _COPIES > memory:
        raise ExecutionError(
            f"the values of the statement take {held >> 20} MiB, too much for Spark's Java process",
            detail=f"It has {memory >> 20} MiB, and a job over the values copies them.",
            hint="Give it more memory: spark.driver.memory. Or compute the values from a table.",
        )
    return held


def _converted(java: JavaClasses, relation: Any, schema: Any) -> pa.Table | None:
    count = int(relation.data().size())
    streams = arrow_converters(java).toBatchWithSchemaIterator(
        relation.data().iterator(), schema, _BATCH_ROWS, BYTES_MAX, "UTC", True, False
    )
    tables = []
    while streams.hasNext():
        tables.append(pa.ipc.open_stream(bytes(streams.next())).read_all())
    # py4j repeats a call without an answer. If Java's memory ended in next(), the second call gives
    # the rows behind those that are lost.
    found = sum(table.num_rows for table in tables)
    if found != count:
        raise ExecutionError(
            "Spark's Java process has lost rows on their way to Python",
            detail=f"{found} of {count} rows have come.",
            hint="Give it more memory: spark.driver.memory.",
        )
    return pa.concat_tables(tables) if tables else None

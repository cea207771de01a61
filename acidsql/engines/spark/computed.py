"""Rows that are known without a job: those of VALUES, of a local frame, and what follows from them.

Spark's optimiser computes projections and conditions over such rows itself. A job would only send
the result through a task, which takes ten times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BYTES_MAX = 1 << 20
"""How many bytes of rows, by Spark's estimate, are taken without a job.

py4j hands bytes over as text, so a job is faster for more rows.
"""

_LOCAL = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"
_CONVERTERS = "org.apache.spark.sql.execution.arrow.ArrowConverters$"
_BATCH_ROWS = 10_000


def is_computed(frame: DataFrame) -> bool:
    """Whether the rows are known without a job, so that the driver holds them already."""
    with clear_errors():
        return _relation(frame) is not None


def computed_rows(frame: DataFrame, bytes_max: int = BYTES_MAX) -> pa.Table | None:
    """The rows, as `to_arrow` would bring them; None if it takes a job to know them.

    None, too, if there are no rows, or more than ``bytes_max`` or `BYTES_MAX`. A value that cannot
    be computed raises the error that the job would raise.
    """
    with clear_errors():
        relation = _relation(frame)
        if relation is None or int(relation.stats().sizeInBytes()) > min(bytes_max, BYTES_MAX):
            return None
        return by_gateway(
            frame.sparkSession,
            lambda java: _converted(java, relation.data(), relation.schema()),
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


def _converted(java: JavaClasses, rows: Any, schema: Any) -> pa.Table | None:
    converters = getattr(java(_CONVERTERS), "MODULE$")
    streams = converters.toBatchWithSchemaIterator(
        rows.iterator(), schema, _BATCH_ROWS, BYTES_MAX, "UTC", True, False
    )
    tables = []
    while streams.hasNext():
        tables.append(pa.ipc.open_stream(bytes(streams.next())).read_all())
    return pa.concat_tables(tables) if tables else None

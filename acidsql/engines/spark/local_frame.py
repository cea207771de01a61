"""An Arrow table of this process as a DataFrame."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.spark.arrow import arrow_converters
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.engines.spark.settings import configured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BATCH_ROWS = 10_000
"""Spark's own default. 0 or less is "all at once" to Spark, but not to PySpark, which fails."""

_HANDED_BYTES = 1 << 16
"""Rows of at most so many bytes go to the JVM as an argument. PySpark writes a file for any."""

_LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"


def local_frame(
    spark: SparkSession, rows: pa.Table, schema: StructType | str | None = None
) -> DataFrame:
    """The rows as a DataFrame, with the names and types of ``schema``, or their own."""
    if not rows.num_rows:
        # A column of no chunks has no type for PySpark if it is nested.
        rows = rows.schema.empty_table()
    with clear_errors():
        if rows.nbytes <= _HANDED_BYTES and not _has_timestamps(rows):
            found = by_gateway(
                spark, lambda java: _handed(java, spark, rows, schema), "rows go through a file"
            )
            if found is not None:
                return found
        with configured(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", str(_BATCH_ROWS)):
            return spark.createDataFrame(rows, schema)


def _has_timestamps(rows: pa.Table) -> bool:
    """Whether PySpark may have to bring values to another time zone."""
    return any("timestamp" in str(kind) for kind in rows.schema.types)


def _handed(
    java: JavaClasses, spark: SparkSession, rows: pa.Table, schema: StructType | str | None
) -> DataFrame | None:
    """The rows handed over by a few calls; None where PySpark would cast them.

    None, too, if the frame is not known to have all rows: py4j may repeat a call without an answer,
    and the rows of a stream can be read once.
    """
    from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - imported already
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema  # noqa: PLC0415

    if schema is None:
        kind = from_arrow_schema(rows.schema)
    else:
        kind = _parsed(spark, schema) if isinstance(schema, str) else schema
    is_cast = not rows.schema.equals(to_arrow_schema(kind))
    if is_cast or spark.conf.get(_LARGE_TYPES, None) not in (None, "false"):
        return None
    stream = java("java.io.ByteArrayInputStream")(_stream(rows))
    channel = java("java.nio.channels.Channels").newChannel(stream)
    batches = arrow_converters(java).getBatchesFromStream(channel)
    made = java("org.apache.spark.sql.api.python.PythonSQLUtils").toDataFrame(
        batches, kind.json(), spark._jsparkSession
    )
    rows_of_frame = str(made.queryExecution().analyzed().maxRows().toString())
    return DataFrame(made, spark) if rows_of_frame == f"Some({rows.num_rows})" else None


def _stream(rows: pa.Table) -> bytearray:
    """Arrow's stream of the rows: each batch becomes a partition of Spark's."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=_BATCH_ROWS)
    return bytearray(sink.getvalue())


@lru_cache(64)
def _parsed(spark: SparkSession, schema: str) -> Any:
    from pyspark.sql.types import StructType  # noqa: PLC0415

    return StructType.fromDDL(schema)

"""An Arrow table of this process as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.settings import configured

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BATCH_ROWS = "10000"
"""Spark's own default. 0 or less is "all at once" to Spark, but not to PySpark, which fails."""


def local_frame(
    spark: SparkSession, rows: pa.Table, schema: StructType | str | None = None
) -> DataFrame:
    """The rows as a DataFrame, with the names and types of ``schema``, or their own."""
    if not rows.num_rows:
        # A column of no chunks has no type for PySpark if it is nested.
        rows = rows.schema.empty_table()
    with (
        clear_errors(),
        configured(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", _BATCH_ROWS),
    ):
        return spark.createDataFrame(rows, schema)

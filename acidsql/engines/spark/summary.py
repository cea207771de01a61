"""The row of a summary that statistics answer, with the names and types that Spark gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.read import ScanRequest, empty_scan
from acidsql.engines.spark.sql import run_sql
from acidsql.model.statistics import Value
from acidsql.model.table import Table
from acidsql.plans.query import QueryPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def summary_frame(
    spark: SparkSession, plan: QueryPlan, table: Table, row: Sequence[Value | None]
) -> DataFrame:
    """The row as a frame.

    Spark analyses the query over no rows, and so finds its names and types.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - Spark is there by now

    empty = run_sql(spark, plan.rows, lambda _: empty_scan(spark, table, ScanRequest()), {})
    with clear_errors():
        schema = empty.schema
        known = to_arrow_schema(schema)
        columns = [pa.array([v], field.type) for v, field in zip(row, known, strict=True)]
        return local_frame(spark, pa.table(columns, schema=known), schema)

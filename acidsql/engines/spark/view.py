"""Views → DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.sql import Resolve, run_sql
from acidsql.errors import AnalysisError, SqlError
from acidsql.plans.sql_text import ViewSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def view_frame(spark: SparkSession, source: ViewSource, resolve: Resolve) -> DataFrame:
    """The rows of a view's query, under the names of the view's columns.

    The query is analysed by itself, so no name in it can mean something of the query around it.
    AnalysisError, which names the view, if its query does not fit the tables any more.
    """
    try:
        frame = run_sql(spark, source.rows, resolve, {})
    except SqlError as error:
        raise _unreadable(source, error.message, error.detail) from error
    if len(frame.columns) != len(source.columns):
        found, kept = len(frame.columns), len(source.columns)
        raise _unreadable(source, f"its query has {found} columns, the view {kept}", None)
    with clear_errors():
        return frame.toDF(*source.columns)


def _unreadable(source: ViewSource, why: str, detail: str | None) -> AnalysisError:
    error = AnalysisError(
        f"view {source.view} cannot be read: {why}",
        detail=detail,
        hint=f"SHOW CREATE TABLE {source.view} shows its query; CREATE OR REPLACE VIEW changes it.",
    )
    error.parts = (source.view.table,)
    return error

"""Columns of a DataFrame, given as texts of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_texts
from acidsql.engines.spark.parsed import frame_over, source_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BESIDE = "__acidsql_beside"


def select(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """As ``frame.selectExpr(*texts)``, which calls the JVM once for each of the texts."""
    found = None
    if len(texts) > 1 and not any("\0" in text for text in texts):
        found = by_gateway(
            frame.sparkSession,
            lambda java: frame._jdf.selectExpr(java_texts(java, texts)),
            "each column is handed to Spark by itself",
        )
    return frame.selectExpr(*texts) if found is None else type(frame)(found, frame.sparkSession)


def below_offset(frame: DataFrame, condition: str) -> DataFrame:
    """The rows for which a condition holds that is not the query's own.

    When Spark rewrites a correlated subquery, it takes the compared columns from below the
    conditions beside it, and ours would be one of these (RewriteCorrelatedScalarSubquery). Spark
    moves no condition below an OFFSET, and optimises this one away after that rewrite.
    """
    return frame.where(condition).offset(0)


def select_where(
    frame: DataFrame, texts: Sequence[str], condition: str, beside: Column | None
) -> DataFrame:
    """As `select` of the rows `below_offset`, for which ``beside`` holds, too.

    Spark analyses it once. Each call of PySpark's methods is an analysis.
    """
    found = by_gateway(
        frame.sparkSession,
        lambda java: _selected(java, frame, texts, condition, beside),
        "a scan is analysed step by step",
    )
    if found is not None:
        return type(frame)(found, frame.sparkSession)
    rows = below_offset(frame, condition)
    return select(rows if beside is None else rows.where(beside), texts)


def _selected(
    java: JavaClasses,
    frame: DataFrame,
    texts: Sequence[str],
    condition: str,
    beside: Column | None,
) -> Any:
    expressions = {}
    if beside is not None:
        condition = f"{condition} and {_BESIDE}"
        classes = java("org.apache.spark.sql.classic.ExpressionUtils")
        expressions[_BESIDE] = classes.expression(beside._jc)
    rows = f"{source_name(0)} WHERE {condition} OFFSET 0"
    query = f"SELECT {', '.join(texts)} FROM {rows}"  # noqa: S608 - names are quoted
    plans = [frame._jdf.logicalPlan()]
    return frame_over(java, frame.sparkSession, query, plans, expressions)

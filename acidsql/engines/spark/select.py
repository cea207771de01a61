"""Columns of a DataFrame, given as texts of SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_texts
from acidsql.engines.spark.parsed import frame_over, part_name, source_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BESIDE = part_name("beside")


def select(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """As ``frame.selectExpr(*texts)``, which calls the JVM once for each of the texts."""
    found = None
    if len(texts) > 1 and not any("\0" in text for text in texts):
        found = over(frame, lambda java: frame._jdf.selectExpr(java_texts(java, texts)))
    return frame.selectExpr(*texts) if found is None else found


def with_column(frame: DataFrame, text: str, condition: str) -> DataFrame:
    """The rows with a computed column more, for which a condition on it holds.

    Spark analyses it once. Each call of PySpark's methods is an analysis.
    """
    rows = f"SELECT *, {text} FROM {source_name(0)}"  # noqa: S608 - a text of ours
    query = f"SELECT * FROM ({rows}) WHERE {condition}"  # noqa: S608
    found = over(frame, lambda java: _frame_over(java, frame, query))
    return frame.selectExpr("*", text).where(condition) if found is None else found


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
    """As `select` of the rows `below_offset`, for which ``beside`` holds, too; analysed once.

    ``beside`` is of `JavaCalls.column`, if there is a gateway.
    """
    found = over(frame, lambda java: _selected(java, frame, texts, condition, beside))
    if found is not None:
        return found
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
    return _frame_over(java, frame, query, expressions)


def _frame_over(
    java: JavaClasses, frame: DataFrame, query: str, expressions: Mapping[str, Any] | None = None
) -> Any:
    plans = [frame._jdf.logicalPlan()]
    return frame_over(java, frame.sparkSession, query, plans, expressions or {})


def over(frame: DataFrame, make: Callable[[JavaClasses], Any]) -> DataFrame | None:
    """The frame that ``make`` makes of the JVM's; None if there is no gateway to it."""
    found = by_gateway(frame.sparkSession, make, "a query is analysed step by step")
    return None if found is None else type(frame)(found, frame.sparkSession)

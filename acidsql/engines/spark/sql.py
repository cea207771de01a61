"""Plan texts → DataFrames: sources by frame, parameters bound as values."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_errors
from acidsql.engines.spark.parameters import bound
from acidsql.engines.spark.parsed import PREFIX, frame_over, source_name
from acidsql.engines.spark.settings import by_own_rules
from acidsql.grammar.wall_clocks import wall_clocks
from acidsql.plans.sql_text import AnySource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Resolve = Callable[[AnySource], "DataFrame"]

_WITH = re.compile(r"\bwith\b", re.IGNORECASE)
_CATALYST = "org.apache.spark.sql.catalyst"


def run_sql(
    spark: SparkSession, text: SqlText, resolve: Resolve, parameters: Mapping[str, Any]
) -> DataFrame:
    """The DataFrame of a query. Each source is bound to its frame, not to a name."""
    text = SqlText.of(*(wall_clocks(p) if isinstance(p, str) else p for p in text.parts))
    frames = {
        part: resolve(part) for part in dict.fromkeys(text.parts) if not isinstance(part, str)
    }
    with clear_errors(), by_own_rules(spark):
        # See `frame_over` for WITH.
        if frames and not parameters and not _WITH.search(str(text)):
            found = by_gateway(
                spark,
                lambda java: _by_plans(java, spark, text, frames),
                "each source of a query is a temporary view of Spark's for a moment",
            )
            if found is not None:
                return found
        return _by_views(spark, text, frames, parameters)


def _by_plans(
    java: JavaClasses, spark: SparkSession, text: SqlText, frames: Mapping[AnySource, DataFrame]
) -> DataFrame | None:
    """The query with the plans of its sources put into its parsed plan.

    None if a source has not been found there, or is mentioned by an error.
    """
    names = {source: source_name(number) for number, source in enumerate(frames)}
    plans = [_named(java, frame, names[source]) for source, frame in frames.items()]
    try:
        found = frame_over(java, spark, text.render(names.__getitem__), plans, {})
    except java_errors(name="Py4JJavaError"):
        return None  # PySpark has no exception for it: the other way tells what it is
    except Exception as error:
        if PREFIX in str(error):
            return None
        raise
    return type(next(iter(frames.values())))(found, spark)


def _named(java: JavaClasses, frame: DataFrame, name: str) -> Any:
    """The plan of a frame as Spark puts that of a temporary view into a query.

    The view hides Spark's columns about files (``_metadata``).
    """
    children = java("java.util.Collections").singletonList(frame._jdf.logicalPlan())
    sequence = java("org.apache.spark.api.python.PythonUtils").toSeq(children)
    view = _some_view(java, frame.sparkSession).withNewChildren(sequence)
    return java(f"{_CATALYST}.plans.logical.SubqueryAlias")(_alias(java, name), view)


@lru_cache(64)
def _alias(java: JavaClasses, name: str) -> Any:
    return java(f"{_CATALYST}.AliasIdentifier")(name)


@lru_cache(16)
def _some_view(java: JavaClasses, spark: SparkSession) -> Any:
    """The node that stands for a temporary view in Spark's plans, made by Spark."""
    name = f"{PREFIX}{uuid.uuid4().hex}"
    spark.range(0).createOrReplaceTempView(name)
    try:
        return spark._jsparkSession.sessionState().catalog().getTempView(name).get()
    finally:
        spark.catalog.dropTempView(name)


def _by_views(
    spark: SparkSession,
    text: SqlText,
    frames: Mapping[AnySource, DataFrame],
    parameters: Mapping[str, Any],
) -> DataFrame:
    """The query with a temporary view for each source, while Spark analyses it.

    PySpark fills the names into braces, so the text's own braces are doubled; without a frame it
    leaves the text alone.
    """
    names = {source: f"acidsql_{number}" for number, source in enumerate(frames)}
    parts = [
        (part.replace("{", "{{").replace("}", "}}") if frames else part)
        if isinstance(part, str)
        else f"{{{names[part]}}}"
        for part in text.parts
    ]
    args = {name: bound(name, value) for name, value in parameters.items()}
    filled = {names[source]: frame for source, frame in frames.items()}
    return spark.sql("".join(parts), args=args or None, **filled)

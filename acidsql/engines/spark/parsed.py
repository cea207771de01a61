"""Queries over plans: each plan is put into the parsed query in the place of a name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses, empty_map, parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "__acidsql_source_"
_UNIQUE = uuid.uuid4().hex
"""A part of the names that are replaced: nobody else has it in the name of a table or column."""


def source_name(number: int) -> str:
    """The name by which a query mentions a plan."""
    return f"{PREFIX}{_UNIQUE}_{number}"


def part_name(word: str) -> str:
    """The name by which a text mentions an expression. ``word`` tells it from others there."""
    return f"__acidsql_part_{_UNIQUE}_{word}"


def frame_over(
    java: JavaClasses,
    spark: SparkSession,
    query: str,
    plans: Sequence[Any],
    expressions: Mapping[str, Any],
) -> Any:
    """Spark's frame of a query that mentions the plans by their `source_name`.

    ``expressions`` are mentioned by their `part_name`, outside of subqueries. What follows WITH is
    no part of the parsed plan in which plans and expressions are replaced.
    """
    found = empty_map(java)
    for number, plan in enumerate(plans):
        found = found.updated(_mention(java, spark, source_name(number)), plan)
    parsed = parser(java, spark).parsePlan(query).transformUpWithSubqueries(found)
    if expressions:
        parsed = parsed.transformAllExpressions(replacements(java, spark, expressions))
    return java("org.apache.spark.sql.classic.Dataset").ofRows(spark._jsparkSession, parsed)


def replacements(java: JavaClasses, spark: SparkSession, expressions: Mapping[str, Any]) -> Any:
    """Scala's map by which parsed texts get the expressions in the place of their names."""
    found = empty_map(java)
    for name, expression in expressions.items():
        found = found.updated(_name(java, spark, name), expression)
    return found


@lru_cache(64)
def _name(java: JavaClasses, spark: SparkSession, name: str) -> Any:
    """What a parsed expression has where it mentions the name."""
    return parser(java, spark).parseExpression(name)


@lru_cache(64)
def _mention(java: JavaClasses, spark: SparkSession, name: str) -> Any:
    """What a parsed plan has where a query mentions the name."""
    return parser(java, spark).parsePlan(f"TABLE {name}")

"""Spark's functions that our SQL calls, and a check that a session has not replaced them.

A session may register a function under the name of one of Spark's. Spark then calls the session's,
unless ``spark.sql.functionResolution.sessionOrder`` says otherwise, as it does by default in
versions that know it. Our SQL computes buckets, and finds deleted rows, by these functions: with
others, rows would be lost or come back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_errors
from acidsql.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPERATORS = "! % & * + - / < << <= <=> = == > >= >> >>> ^ | ~ and isnotnull isnull not or"
_NAMES = (
    "aggregate approx_count_distinct array bigint cast char_length coalesce concat"
    " convert_timezone count crc32 date_add element_at get greatest if int java_method left map"
    " map_entries map_from_arrays map_keys map_values max min monotonically_increasing_id"
    " named_struct nullif octet_length raise_error replace row_number rpad rtrim shiftleft"
    " shiftright shiftrightunsigned size spark_partition_id split struct substr timestamp_micros"
    " transform transform_keys transform_values trim try_to_binary unix_date unix_micros"
    " url_decode xxhash64"
)
OWN_FUNCTIONS = frozenset({*_OPERATORS.split(), *_NAMES.split()})
"""The names that our SQL calls, and operators: PySpark's columns have them looked up as well."""

_ORDER = "spark.sql.functionResolution.sessionOrder"
_SPARKS_FIRST = frozenset({"second", "last"})
"""Values of `_ORDER` under which Spark's functions hide those of the session."""

_REGISTRY = "org.apache.spark.sql.catalyst.analysis.FunctionRegistry"
_SPARKS_CLASSES = "org.apache.spark.sql.catalyst.expressions."


def require_own_functions(spark: SparkSession) -> None:
    """Raise ConfigError if our SQL would call a function of the session in the place of Spark's.

    Over Spark Connect, only the first call for a session looks for such functions.
    """
    with clear_errors():
        hidden = by_gateway(
            spark,
            lambda java: _hidden(java, spark),
            "functions that a session registers later than its first statement go unnoticed",
        )
        if hidden is None:
            hidden = _hidden_in_catalog(spark)
    if hidden:
        raise ConfigError(
            f"this SparkSession has a function of its own in the place of Spark's {min(hidden)}",
            detail="acidsql's own SQL calls Spark's. Functions of that kind:"
            f" {', '.join(sorted(hidden))}.",
            hint="Register the function under another name, in a session without the old one:"
            " spark.newSession() makes one.",
        )


def _hidden(java: JavaClasses, spark: SparkSession) -> frozenset[str]:
    """The functions of ours that the session's registry has replaced."""
    here, sparks = _registries(java, spark)
    if here.equals(sparks):
        return frozenset()
    converters = java("scala.jdk.javaapi.CollectionConverters")
    others = java("java.util.HashMap")(converters.asJava(here))
    others.entrySet().removeAll(java("java.util.HashMap")(converters.asJava(sparks)).entrySet())
    sparks_first = _are_sparks_first(spark)
    return frozenset(
        str(name.funcName()).lower()
        for name in others.keySet()
        if not (sparks_first and _is_of_session(name))
    ).intersection(OWN_FUNCTIONS)


@lru_cache(16)
def _registries(java: JavaClasses, spark: SparkSession) -> tuple[Any, Any]:
    """The functions that the session has, and those of Spark itself: Scala maps by name.

    The first one changes with each function that the session registers.
    """
    here = spark._jsparkSession.sessionState().functionRegistry()
    return here.functionBuilders(), java(_REGISTRY).builtin().functionBuilders()


def _is_of_session(name: Any) -> bool:
    """Whether Spark keeps the name apart from its own functions, as 4.3 does, and 4.0 does not."""
    database = name.database()
    return bool(database.isDefined()) and database.get() == "session"


def _are_sparks_first(spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - Spark is there by now

    try:
        order = spark.conf.get(_ORDER)
    except java_errors(PySparkException):
        return False  # a version without the setting
    return order in _SPARKS_FIRST


@lru_cache(16)
def _hidden_in_catalog(spark: SparkSession) -> frozenset[str]:
    """As `_hidden`, by one question to Spark for each name; for operators there is none."""
    if _are_sparks_first(spark):
        return frozenset()
    return frozenset(
        name
        for name in filter(str.isidentifier, OWN_FUNCTIONS)
        if not spark.catalog.getFunction(name).className.startswith(_SPARKS_CLASSES)
    )

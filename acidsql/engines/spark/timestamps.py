"""Timestamps: ORC's are wall-clock time, which Spark's ORC reader hands out as instants.

Read as timestamp_ntz inside a struct they come out wrong, so they are read as timestamp. ORC takes
the wall clock for one of the JVM's zone; undoing that with the same zone gives it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acidsql.errors import UnsupportedStatementError
from acidsql.model.types import ColumnType, PrimitiveType, spark_type, walk_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TIMESTAMP = PrimitiveType("timestamp")
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00", "Universal"})


def storage_type(kind: ColumnType) -> str:
    """The type in which a column is read from a file.

    >>> from acidsql.model.types import parse_type
    >>> storage_type(parse_type("array<timestamp>"))
    'array<timestamp_ltz>'
    """
    # Not "timestamp": what that means is a setting of the session.
    return spark_type(kind).replace("timestamp_ntz", "timestamp_ltz")


def wall_clock(
    spark: SparkSession, kinds: Sequence[ColumnType], file_zone: str | None = None
) -> Callable[[str, ColumnType], str]:
    """What turns an expression as read into wall-clock time, for columns of these types.

    ``file_zone`` is the zone in which the reader took the files' clock, None for the JVM's.
    """
    if not any(map(_has, kinds)):
        return lambda expression, kind: expression
    session_zone = spark.conf.get("spark.sql.session.timeZone") or ""
    jvm_zone = file_zone or _jvm_zone(spark)

    def convert(expression: str, kind: ColumnType) -> str:
        if not _has(kind):
            return expression
        if session_zone == jvm_zone or {session_zone, jvm_zone} <= _UTC:
            return f"cast({expression} as {spark_type(kind)})"
        if kind == _TIMESTAMP:
            return _from_micros(expression, jvm_zone)
        raise UnsupportedStatementError(
            "a timestamp inside an array, map or struct cannot be read: Spark's session time zone"
            f" is {session_zone}, the JVM's is {jvm_zone}",
            hint=f"Set spark.sql.session.timeZone to {jvm_zone}.",
        )

    return convert


def _from_micros(expression: str, jvm_zone: str) -> str:
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"
    utc = f"timestampadd(MICROSECOND, unix_micros({expression}), {epoch})"
    return utc if jvm_zone in _UTC else f"convert_timezone('UTC', '{jvm_zone}', {utc})"


def _jvm_zone(spark: SparkSession) -> str:
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return "UTC"  # without a gateway the server is taken to run as ours does
    return str(jvm.java.util.TimeZone.getDefault().getID())


def _has(kind: ColumnType) -> bool:
    return _TIMESTAMP in walk_types(kind)

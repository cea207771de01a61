"""Timestamps: ORC's are wall-clock time, which Spark's ORC reader hands out as instants.

Read as timestamp_ntz inside a struct they come out wrong, so they are read as timestamp. ORC takes
the wall clock for one of the JVM's zone; undoing that with the same zone gives it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.model.types import ColumnType, spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00", "Universal"})


def storage_type(kind: ColumnType) -> str:
    """The type in which a column is read from a file.

    >>> from acidsql.model.types import parse_type
    >>> storage_type(parse_type("array<timestamp>"))
    'array<timestamp_ltz>'
    """
    # Not "timestamp": what that means is a setting of the session.
    return spark_type(kind).replace("timestamp_ntz", "timestamp_ltz")


def zones_agree(spark: SparkSession) -> bool:
    """Whether a cast turns a timestamp as read into wall-clock time."""
    session_zone = spark.conf.get("spark.sql.session.timeZone") or ""
    return session_zone == jvm_zone(spark) or {session_zone, jvm_zone(spark)} <= _UTC


def wall_clock(expression: str, zone: str) -> str:
    """A timestamp as read, as wall-clock time, whatever the session's zone is."""
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"
    utc = f"timestampadd(MICROSECOND, unix_micros({expression}), {epoch})"
    return utc if zone in _UTC else f"convert_timezone('UTC', '{zone}', {utc})"


def jvm_zone(spark: SparkSession) -> str:
    """The time zone of Spark's JVM."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return "UTC"  # without a gateway the server is taken to run as ours does
    return str(jvm.java.util.TimeZone.getDefault().getID())

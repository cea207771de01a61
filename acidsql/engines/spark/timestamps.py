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


def zones_agree(spark: SparkSession, zone: str) -> bool:
    """Whether a cast turns a timestamp, read as one of this zone, into wall-clock time."""
    session_zone = spark.conf.get("spark.sql.session.timeZone") or ""
    return session_zone == zone or {session_zone, zone} <= _UTC


def wall_clock(expression: str, zone: str) -> str:
    """A timestamp as read, as wall-clock time, whatever the session's zone is."""
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"
    utc = f"timestampadd(MICROSECOND, unix_micros({expression}), {epoch})"
    return utc if zone in _UTC else f"convert_timezone('UTC', '{zone}', {utc})"


def may_be_bent(wall_clock: str, zone: str) -> str:
    """Whether ORC's reader in a JVM of this zone may have made another time of a wall clock.

    It moves a time that the zone skips in spring by an hour, and the first hours of year 1 and of
    the Gregorian calendar by much more. What it made of them cannot be told from what was always
    there.
    """
    steps = (f"timestampadd(MINUTE, {minutes}, {wall_clock})" for minutes in (-60, -30, 30, 60))
    skipped = (
        f"convert_timezone('UTC', '{zone}', convert_timezone('{zone}', 'UTC', {step})) <> {step}"
        for step in steps
    )
    days = (
        ("0001-01-01", "0001-01-03"),
        ("0001-12-31", "0002-01-03"),
        ("1582-10-04", "1582-10-27"),
    )
    moved = (
        f"{wall_clock} between timestamp_ntz'{first} 00:00:00' and timestamp_ntz'{last} 00:00:00'"
        for first, last in days
    )
    return " or ".join((*skipped, *moved))


def is_utc(zone: str) -> bool:
    """Whether the zone is UTC under one of its names."""
    return zone in _UTC


def jvm_zone(spark: SparkSession) -> str:
    """The time zone of Spark's JVM."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return "UTC"  # without a gateway the server is taken to run as ours does
    return str(jvm.java.util.TimeZone.getDefault().getID())

"""Timestamps: ORC's are wall-clock time, which Spark's ORC reader hands out as instants.

Read as timestamp_ntz inside a struct they come out wrong, so they are read as timestamp. ORC takes
the wall clock for one of the JVM's zone, which gives it back for certain in UTC alone: elsewhere
such files are read with pyarrow.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.model.types import ColumnType, PrimitiveType, spark_type, walk_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_TIMESTAMPS = (PrimitiveType("timestamp"), PrimitiveType("timestamp with local time zone"))
_DAYS = (PrimitiveType("date"), *_TIMESTAMPS)
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00", "Universal"})


def storage_type(kind: ColumnType) -> str:
    """The type in which a column is read from a file.

    >>> from acidsql.model.types import parse_type
    >>> storage_type(parse_type("array<timestamp>"))
    'array<timestamp_ltz>'
    """
    # Not "timestamp": what that means is a setting of the session.
    return spark_type(kind).replace("timestamp_ntz", "timestamp_ltz")


def wall_clock(expression: str) -> str:
    """A timestamp as read in UTC, as wall-clock time, whatever the session's zone is."""
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"
    return f"timestampadd(MICROSECOND, unix_micros({expression}), {epoch})"


def session_is_utc(spark: SparkSession) -> bool:
    """Whether a cast does the same."""
    return (spark.conf.get("spark.sql.session.timeZone") or "") in _UTC


def has_days(kinds: Sequence[ColumnType]) -> bool:
    """Whether Spark's ORC reader may bend a value: it knows no day that the hybrid calendar skips.

    ORC hands it days of that calendar, in which 1582-10-10 is taken for 1582-10-20. Such files are
    read with pyarrow; their statistics tell (`acidsql.orc.statistics.may_hold_skipped_days`).
    """
    return any(kind in _DAYS for column in kinds for kind in walk_types(column))


def native_reader_bends(spark: SparkSession, kinds: Sequence[ColumnType]) -> bool:
    """Whether Spark's ORC reader may make other times of those in columns of these types.

    In a JVM outside UTC it moves a time that the JVM's zone skips in spring by an hour, and the
    first hours of year 1 and of the Gregorian calendar by much more.
    """
    if not any(kind in _TIMESTAMPS for column in kinds for kind in walk_types(column)):
        return False
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return False  # without a gateway the server is taken to run as ours does
    zone = str(jvm.java.util.TimeZone.getDefault().getID())
    if zone in _UTC:
        return False
    _log.info("reading timestamps without Spark's ORC reader: its JVM is in zone %s, not UTC", zone)
    return True

"""Timestamps: ORC's are wall-clock time, which Spark's ORC reader returns as instants.

Read as timestamp_ntz inside a struct they come out wrong, so they are read as timestamp. ORC takes
the wall clock for that of the JVM that reads, which is an executor's. Only in UTC that certainly
gives every time back: elsewhere such files are read with pyarrow.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from acidsql.engines.parquet_times import ParquetTimes
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.session import runs_in_process
from acidsql.errors import AcidSqlError
from acidsql.model.names import string_literal as literal
from acidsql.model.types import ColumnType, PrimitiveType, has_timestamps, spark_type, walk_types
from acidsql.orc.calendar import proleptic_days
from acidsql.orc.footer import SWITCH_DAY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_DATE = PrimitiveType("date")
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00", "Universal"})

_ZONE = "java_method('java.time.ZoneId', 'systemDefault')"
"""The zone of the JVM that computes the expression: Spark does not compute it while it plans."""

_FIRST_DAY = -1_000_000
"""A day of the year -768, long before those that Hive has."""

_UNKNOWN = frozenset({"unknown"})

_TASKS_PER_EXECUTOR = 2
_TASKS_UNCOUNTED = 64
"""Where nothing tells how many executors there are."""

_asked: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
"""By Spark application: the executors that were asked for their zones, and the zones."""


def storage_type(kind: ColumnType) -> str:
    """The type in which a column is read from a file.

    >>> from acidsql.model.types import parse_type
    >>> storage_type(parse_type("array<timestamp>"))
    'array<timestamp_ltz>'
    """
    # The name "timestamp" would not do: a setting of the session says what it means.
    return spark_type(kind).replace("timestamp_ntz", "timestamp_ltz")


def wall_clock(expression: str) -> str:
    """A timestamp as read in UTC, as wall-clock time, whatever the session's zone is."""
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"
    return f"timestampadd(MICROSECOND, unix_micros({expression}), {epoch})"


def shown_clock(clock: str, times: ParquetTimes) -> str:
    """A timestamp as clocks at the writer of its file showed it.

    ``clock`` is the `wall_clock` as it was stored. The writer has not moved it as ``legacy`` ones.
    """
    if times.julian_clocks:
        days = _proleptic_days(f"unix_date(cast({clock} as date))")
        clock = f"timestampadd(DAY, {days}, {clock})"
    return f"convert_timezone('UTC', {literal(times.zone)}, {clock})" if times.zone else clock


def proleptic_date(date: str) -> str:
    """A date of the hybrid calendar as that of the proleptic one (`proleptic_days`)."""
    return f"date_add({date}, {_proleptic_days(f'unix_date({date})')})"


def _proleptic_days(days: str) -> str:
    """How many days the proleptic calendar has more than the hybrid one since ``days``."""
    *steps, (_, most) = _steps()
    cases = "".join(f" when {days} >= {first} then {more}" for first, more in steps)
    return f"case{cases} else {most} end"


@lru_cache(maxsize=1)
def _steps() -> Sequence[tuple[int, int]]:
    """The days from which on the calendars differ by another number, and the numbers.

    The last are first. Between two of them are the leap days that one of the calendars lacks.
    """
    days = np.arange(_FIRST_DAY, SWITCH_DAY + 1)
    more = proleptic_days(days) - days
    [changes] = np.nonzero(np.diff(more, prepend=np.iinfo(np.int64).min))
    return [(int(days[at]), int(more[at])) for at in reversed(changes)]


def session_is_utc(spark: SparkSession) -> bool:
    """Whether the session's zone is UTC: then a cast does the same as `wall_clock`."""
    return (spark.conf.get("spark.sql.session.timeZone") or "") in _UTC


def has_days(kinds: Sequence[ColumnType]) -> bool:
    """Whether Spark's ORC reader may misread a value of these types, because they hold days.

    ORC gives it days of the hybrid calendar, in which 1582-10-10 is taken for 1582-10-20: that
    calendar skips such days. Files that may hold one are read with pyarrow; their statistics tell
    (`acidsql.orc.statistics.may_hold_skipped_days`).
    """
    return any(has_timestamps(kind) or _DATE in walk_types(kind) for kind in kinds)


def shifts_times(spark: SparkSession, kinds: Sequence[ColumnType]) -> bool:
    """Whether Spark's ORC reader may shift times in columns of these types.

    In a JVM outside UTC it shifts a time that the JVM's zone skips in spring by an hour, and the
    first hours of year 1 and of the Gregorian calendar by much more. The zones of the driver and of
    the executors count. Two kinds of executors are missed if no other JVM has their zone: one that
    starts after a scan was planned and takes part in it, and one that was too busy to take any of
    the tasks that ask. ``-Duser.timezone=UTC`` in spark.executor.extraJavaOptions, or in
    spark.executor.defaultJavaOptions, holds for all executors.
    """
    if not any(map(has_timestamps, kinds)):
        return False
    zones = _jvm_zones(spark) - _UTC
    if not zones:
        return False
    _log.info(
        "reading timestamps without Spark's ORC reader: not UTC, but %s is the zone of its JVMs",
        ", ".join(sorted(zones)),
    )
    return True


def _jvm_zones(spark: SparkSession) -> frozenset[str]:
    """The zones of the JVMs that may read. Without a gateway to the driver, those of executors."""
    java = java_classes(spark)
    if java is None:
        return _executor_zones(spark, frozenset())
    driver = frozenset({str(java("java.util.TimeZone").getDefault().getID())})
    if not driver <= _UTC or runs_in_process(spark.sparkContext.master):
        return driver
    managers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keySet().mkString(",")
    return driver | _executor_zones(spark, frozenset(str(managers).split(",")))


def _executor_zones(spark: SparkSession, executors: frozenset[str]) -> frozenset[str]:
    """The zones of an application's executors; a job asks for them when there are new executors.

    ``executors`` are the addresses of all executors and of the driver. It is empty where nothing
    tells them: then there is one job per application.
    """
    application = spark.conf.get("spark.app.id", None)
    if application in _asked and executors <= _asked[application][0]:
        return _asked[application][1]
    tasks = len(executors) * _TASKS_PER_EXECUTOR or _TASKS_UNCOUNTED
    try:
        with clear_errors():
            rows = spark.range(0, tasks, 1, tasks).selectExpr(f"{_ZONE} as zone").collect()
    except AcidSqlError as error:
        _log.warning("Spark's executors do not tell their time zones: %s", error.message)
        return _UNKNOWN
    zones = frozenset(str(row[0]) for row in rows)
    if application is not None:
        _asked[application] = (executors, zones)
    return zones

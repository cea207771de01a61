"""What SET gives the SQL configuration of Spark, and RESET takes back."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from acidsql.engines.spark.causes import first_line
from acidsql.engines.spark.gateway import java_errors
from acidsql.engines.spark.settings import ANALYSIS, PLANNING, change
from acidsql.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_SKIPPED_FILES = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
_SHUFFLE_CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum."
_PASSED = (
    "spark.sql.adaptive.",
    "spark.sql.ansi.enabled",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.constraintPropagation.",
    "spark.sql.crossJoin.enabled",
    "spark.sql.decimalOperations.",
    "spark.sql.files.",
    "spark.sql.groupBy",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.join.",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.limit.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderByOrdinal",
    "spark.sql.requireAllClusterKeysFor",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.",
    "spark.sql.sort",
    "spark.sql.statistics.",
    "spark.sql.window",
)
"""How the settings begin that a statement may change: speed, and how expressions are computed.

Many others name classes that Spark loads, programs that it starts, or directories. They are the
choice of those who start Spark.
"""


class SparkOptions:
    """The settings that SET has given. They wait for Spark to start, and come again after that."""

    def __init__(self) -> None:
        self._wanted: dict[str, str] = {}
        self._before: dict[str, str | None] = {}

    @property
    def are_given(self) -> bool:
        """Whether there is a setting to be taken back."""
        return bool(self._wanted)

    def give(self, key: str, value: str, spark: SparkSession | None) -> str | None:
        """Give a setting a value. Returns why that has no effect, None if it has.

        ConfigError for a setting that acidsql relies on, and for a value that Spark does not take.
        """
        _refuse_relied_on(key)
        if not key.startswith(_PASSED):
            return "A statement cannot change it. Pass it in config, or set it on the SparkSession."
        if spark is not None:
            self._set(spark, key, value)
        self._wanted[key] = value
        return None

    def take_back(self, key: str, spark: SparkSession | None) -> None:
        """Give a setting the value back that it had before the first `give`."""
        self._wanted.pop(key, None)
        if key in self._before:
            before = self._before.pop(key)
            if spark is not None:
                change(spark, key, before)

    def take_all_back(self, spark: SparkSession | None) -> None:
        """`take_back` of every setting."""
        for key in [*self._wanted]:
            self.take_back(key, spark)

    def apply(self, spark: SparkSession) -> None:
        """Give a Spark that has just been started or found the settings that have waited for it."""
        self._before.clear()
        for key, value in self._wanted.items():
            try:
                self._set(spark, key, value)
            except ConfigError as error:
                _log.warning("%s", error)

    def _set(self, spark: SparkSession, key: str, value: str) -> None:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - there is a Spark

        try:
            before = change(spark, key, value)
        except java_errors(PySparkException) as error:
            raise ConfigError(
                f"Spark does not take {key} = {value}", detail=first_line(str(error))
            ) from None
        self._before.setdefault(key, before)


def _refuse_relied_on(key: str) -> None:
    reason = None
    if key in ANALYSIS:
        reason = "Statements would mean something else to Spark than to acidsql."
    elif key in PLANNING:
        reason = "Rows could be lost: acidsql chooses the readers of its files by it."
    elif key in _SKIPPED_FILES:
        reason = "Rows of the files that Spark skips would be lost."
    elif key.startswith(_SHUFFLE_CHECKSUMS):
        reason = "Rows could be lost or doubled where a part of a shuffle is computed again."
    if reason is not None:
        raise ConfigError(f"{key} cannot be changed", detail=reason)

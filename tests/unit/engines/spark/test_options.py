"""Settings of Spark that SET gives: each comes to Spark, and can be taken back."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from acidsql.engines.spark.options import SparkOptions
from acidsql.engines.spark.settings import configured, is_ansi, is_case_sensitive
from acidsql.errors import ConfigError
from tests.unit.engines.spark.test_configured import Conf, Spark

ANSI, PARTITIONS = "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions"


def spark(**values: str) -> Any:
    return Spark(**{f"spark.sql.{key.replace('_', '.')}": v for key, v in values.items()})


def test_a_setting_is_taken_back_to_what_it_was() -> None:
    running, options = spark(ansi_enabled="true"), SparkOptions()
    assert options.give(ANSI, "false", running) is None
    options.give(ANSI, "FALSE", running)
    options.give(PARTITIONS, "3", running)
    assert running.conf.values == {ANSI: "FALSE", PARTITIONS: "3"}
    options.take_back(ANSI, running)
    assert running.conf.values == {ANSI: "true", PARTITIONS: "3"}
    options.take_all_back(running)
    assert running.conf.values == {ANSI: "true"}


def test_settings_wait_for_spark_and_come_to_the_next_one() -> None:
    options = SparkOptions()
    options.give(ANSI, "false", None)
    options.give(PARTITIONS, "3", None)
    options.take_back(PARTITIONS, None)
    for _ in range(2):
        started = spark(ansi_enabled="true")
        options.apply(started)
        assert started.conf.values == {ANSI: "false"}
    options.take_back(ANSI, started)
    assert started.conf.values == {ANSI: "true"}


def test_a_statement_that_runs_keeps_its_own_value() -> None:
    running, options = spark(ansi_enabled="false"), SparkOptions()
    with configured(running, ANSI, "true"):
        options.give(ANSI, "other", running)
        assert running.conf.values == {ANSI: "true"}
    assert running.conf.values == {ANSI: "other"}
    options.take_back(ANSI, running)
    assert running.conf.values == {ANSI: "false"}


class Choosy(Conf):
    """Takes numbers only."""

    def set(self, key: str, value: str) -> None:
        if not value.isdigit():
            raise AnalysisException(f"{value} is no number")
        super().set(key, value)


def test_a_value_that_spark_does_not_take() -> None:
    running, options = spark(), SparkOptions()
    running.conf = Choosy()
    with pytest.raises(ConfigError, match=r"Spark does not take spark.sql.shuffle.partitions = x"):
        options.give(PARTITIONS, "x", running)
    options.give("spark.sql.join.x", "x", None)
    options.give(PARTITIONS, "3", None)
    options.apply(running)
    assert running.conf.values == {PARTITIONS: "3"}


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.caseSensitive",
        "spark.sql.variable.substitute",
        "spark.sql.sources.useV1SourceList",
        "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources",
        "spark.sql.shuffle.orderIndependentChecksum.enabled",
        "spark.sql.files.ignoreCorruptFiles",
    ],
)
def test_what_acidsql_relies_on(key: str) -> None:
    with pytest.raises(ConfigError, match="cannot be changed"):
        SparkOptions().give(key, "false", None)


@pytest.mark.parametrize(
    "key",
    [
        "spark.jars",
        "spark.driver.extraJavaOptions",
        "spark.hadoop.fs.s3a.impl",
        "spark.sql.catalog.mine",
        "spark.sql.execution.pyspark.python",
        "spark.sql.extensions",
        "spark.sql.sources.commitProtocolClass",
    ],
)
def test_what_could_load_code_comes_to_no_spark(key: str) -> None:
    running, options = spark(), SparkOptions()
    assert options.give(key, "x", running) is not None
    assert options.give(key, "x", None) is not None
    options.apply(running)
    assert running.conf.values == {}


@pytest.mark.parametrize(("text", "is_on"), [("true", True), ("TRUE", True), ("False", False)])
def test_a_session_s_own_rules_in_any_letters(text: str, is_on: bool) -> None:
    """Spark hands a setting out as it was given."""
    running = spark(ansi_enabled=text, caseSensitive=text)
    assert (is_ansi(running), is_case_sensitive(running)) == (is_on, is_on)

"""Spark's own classes, reached by their full names; a Spark may lack one."""

from __future__ import annotations

from typing import Any

import pytest

from acidsql.engines.spark.gateway import by_gateway, java_classes


def test_a_class_is_found_and_asked_for_once(spark: Any) -> None:
    java = java_classes(spark)
    assert java is not None
    found = java("java.util.ArrayList")
    assert found().size() == 0
    assert java("java.util.ArrayList") is found
    assert java_classes(spark) is java


@pytest.mark.parametrize(
    ("name", "package"),
    [("PythonUtils", "org.apache.spark.api"), ("PythonSQLUtils", "org.apache.spark.sql.api")],
)
def test_a_class_that_pyspark_asks_for_by_a_short_name(spark: Any, name: str, package: str) -> None:
    java_classes(spark)
    jvm = spark._jvm
    assert getattr(jvm, name) is getattr(jvm, name)
    assert getattr(jvm, name)._fqn == f"{package}.python.{name}"


@pytest.mark.parametrize("name", ["org.apache.spark.sql.Missing", "nowhere.Missing", "Missing"])
def test_a_class_that_this_spark_lacks(
    spark: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for make in (lambda java: java(name).make(1), lambda java: java(name)(1)):
        caplog.clear()
        assert by_gateway(spark, make, "all is read") is None
        assert "this Spark's classes are unknown: all is read" in caplog.text

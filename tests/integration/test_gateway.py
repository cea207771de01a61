"""Spark's own classes, reached by their full names; a Spark may lack one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from acidsql.engines.spark.columns import remembering_types, told_type
from acidsql.engines.spark.gateway import by_gateway, java_classes, java_texts, python_texts
from acidsql.engines.spark.java_calls import JavaCalls
from acidsql.engines.spark.select import select, select_where, with_column
from acidsql.model.table import Column
from acidsql.model.types import CharType
from acidsql.session.session import Session


def test_a_class_is_found_and_asked_for_once(spark: Any) -> None:
    java = java_classes(spark)
    assert java is not None
    found = java("java.util.ArrayList")
    assert found().size() == 0
    assert java("java.util.ArrayList") is found
    assert java_classes(spark) is java


@pytest.fixture
def commands(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the JVM is asked from now on: the first line of each command."""
    asked: list[str] = []
    client, send = type(spark._jvm._gateway_client), type(spark._jvm._gateway_client).send_command

    def noting(self: Any, command: str, *others: Any, **named: Any) -> Any:
        asked.append(command.split("\n", maxsplit=1)[0])
        return send(self, command, *others, **named)

    monkeypatch.setattr(client, "send_command", noting)
    return asked


def test_a_static_method_is_asked_for_once(spark: Any, commands: list[str]) -> None:
    java = java_classes(spark)
    assert java is not None
    values = java("java.lang.Integer")
    assert values.valueOf("7") == 7
    commands.clear()
    assert [values.valueOf("8"), values.valueOf("9")] == [8, 9]
    assert [command for command in commands if command != "m"] == ["c", "c"]


@pytest.mark.parametrize("gateway", [True, False])
def test_types_are_noted_in_columns(
    spark: Any, gateway: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where names are no names of SQL."""
    if not gateway:
        monkeypatch.setattr("acidsql.engines.spark.gateway.java_classes", lambda spark: None)
    frame = spark.range(1).selectExpr("id AS `a.b`", "'x  ' AS `c``d`", "'y' AS e")
    columns = [Column("c`d", CharType("char", 3)), Column("e", CharType("varchar", 2))]
    found = remembering_types(frame, columns)
    assert [told_type(field) for field in found.schema.fields] == [
        "bigint",
        "char(3)",
        "varchar(2)",
    ]
    assert (found.columns, found.collect()) == (["a.b", "c`d", "e"], [(0, "x  ", "y")])


def test_the_notes_of_a_table_are_made_once(spark: Any, commands: list[str]) -> None:
    """However many columns it has: a query over wide tables took most of its time for them."""
    names = [f"c{number}" for number in range(30)]
    columns = [Column(name, CharType("char", 3)) for name in names]
    frame = spark.range(1).selectExpr(*(f"'abc' AS {name}" for name in names))
    remembering_types(frame, columns)
    commands.clear()
    found = remembering_types(frame, columns)
    assert len([command for command in commands if command != "m"]) < len(names)
    joined = found.alias("a").join(remembering_types(frame, columns).alias("b"), "c0")
    assert joined.where("a.c1 = 'abc' and b.c2 = 'abc'").count() == 1


@pytest.mark.parametrize("texts", [["a"], ["a", ""], ["", "", "b'\\ \t`x.y`", ""]])
def test_texts_for_java(spark: Any, texts: list[str]) -> None:
    java = java_classes(spark)
    assert java is not None
    assert list(java_texts(java, texts)) == texts
    assert python_texts(java, java_texts(java, texts)) == texts


def test_files_are_asked_for_at_once(
    spark: Any, session: Session, commands: list[str], tmp_path: Path
) -> None:
    """However many a partitioned table has, each of which is too large for the driver to read."""
    columns = "PARTITIONED BY (p int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    session.execute(f"CREATE TABLE t (s string) {columns}")
    rows = "SELECT uuid() || uuid(), p FROM range(400), (SELECT explode(sequence(1, 60)) AS p)"
    session.execute(f"INSERT INTO t {rows}")
    assert len(session.table("t").inputFiles()) == 60
    commands.clear()
    result = session.execute("SELECT p, s FROM t")
    # An element of an array is asked for by this command.
    assert commands.count("a") < 10
    assert sorted(Counter(p for p, _ in result.fetchall()).items()) == [
        (p, 400) for p in range(1, 61)
    ]


def test_columns_as_texts(spark: Any) -> None:
    frame = spark.range(2).selectExpr("id AS `a.b`", "id + 1 AS c")
    texts = ["c", "`a.b` * 2 AS `d.e`", "*", "'\\0' AS zero"]
    found, wanted = select(frame, texts), frame.selectExpr(*texts)
    assert (found.columns, found.collect()) == (wanted.columns, wanted.collect())
    assert select(frame, ["'\0' AS n", "c"]).collect() == [("\0", 1), ("\0", 2)]
    with pytest.raises(Exception, match="missing"):
        select(frame, ["c", "missing"])


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


@pytest.mark.parametrize("gateway", [True, False])
def test_a_computed_column(spark: Any, gateway: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where names are not unique, or no names of SQL."""
    if not gateway:
        monkeypatch.setattr("acidsql.engines.spark.gateway.java_classes", lambda spark: None)
    frame = spark.range(4).selectExpr("id AS `a.b`", "id * 2 AS c", "id * 3 AS C")
    found = with_column(frame, "`a.b` + 1 AS more", "more > 3")
    assert found.columns == ["a.b", "c", "C", "more"]
    assert [tuple(row) for row in found.collect()] == [(3, 6, 9, 4)]


@pytest.mark.parametrize("has_beside", [True, False])
def test_columns_of_some_rows(spark: Any, has_beside: bool) -> None:
    java = java_classes(spark)
    assert java is not None
    calls = JavaCalls(java, spark)
    beside = calls.column(calls.expression("c < 10")) if has_beside else None
    frame = spark.range(6).selectExpr("id AS `a.b`", "id * 2 AS c")
    found = select_where(frame, ["c AS x", "`a.b`"], "`a.b` > 2 and c is not null", beside)
    assert found.columns == ["x", "a.b"]
    rows = [(6, 3), (8, 4), (10, 5)]
    assert [tuple(row) for row in found.collect()] == rows[: 2 if has_beside else 3]


def test_columns_of_some_rows_without_a_gateway(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.gateway.java_classes", lambda spark: None)
    frame = spark.range(6).selectExpr("id AS `a.b`", "id * 2 AS c")
    for beside, rows in ((None, [(6,), (8,), (10,)]), (F.col("c") < 10, [(6,), (8,)])):
        found = select_where(frame, ["c AS x"], "`a.b` > 2 and c is not null", beside)
        assert [tuple(row) for row in found.collect()] == rows

"""The examples in Spark's reference of functions are understood, and have the rows of Spark."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acidsql.errors import AcidSqlError
from acidsql.grammar.parse import parse
from acidsql.session.session import Session

_OTHER_EACH_TIME = re.compile(
    r"current_time|localtime|current_timestamp|now\(|rand|uuid|shuffle|aes_encrypt"
)
"""Functions whose examples have other rows each time."""
_NOT_ALLOWED = re.compile(r"escapedStringLiterals|%SystemDrive%|java_method|reflect")
"""Examples of a setting that cannot be changed here, and of functions that call Java."""


@pytest.fixture(scope="module")
def examples(spark: Any) -> list[str]:
    """Some 1,300 statements, nearly all of them queries."""
    infos = spark._jvm.PythonSQLUtils.listBuiltinFunctionInfos()
    texts = "".join(info.getExamples() for info in infos)
    found = re.findall(r"^ *> (.*?);\n", texts, re.DOTALL | re.MULTILINE)
    assert len(found) > 1000
    return [example for example in found if example.strip()]


def test_they_are_understood(examples: list[str]) -> None:
    refused = []
    for example in examples:
        try:
            parse(example)
        except AcidSqlError as error:
            refused.append((example, error))
    assert [r for r in refused if not _NOT_ALLOWED.search(r[0])] == []


@pytest.mark.thorough
def test_they_have_the_rows_of_spark(examples: list[str], session: Session, spark: Any) -> None:
    compared = 0
    for example in examples:
        if _OTHER_EACH_TIME.search(example) or _NOT_ALLOWED.search(example):
            continue
        if not example.startswith("SELECT"):
            continue
        try:
            expected = [tuple(row) for row in spark.sql(example).collect()]
        except Exception:
            continue  # examples of errors, too
        assert repr(session.execute(example).fetchall()) == repr(expected), example
        compared += 1
    assert compared > 1000

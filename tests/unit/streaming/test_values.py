"""acidsql/streaming/values.py"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from acidsql.model.types import parse_type
from acidsql.streaming.values import JsonNumber, from_json, from_python, from_text

UTC = dt.timezone.utc
HOUR = dt.timezone(dt.timedelta(hours=1))

BETWEEN_FLOATS, FLOAT = "1.00000017881393432617187499", 1.0000001192092896
"""A number less than half way to the next float; the nearest double is half way."""


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("tinyint", "-128", -128), ("smallint", "+7", 7), ("int", "1.99", 1), ("int", ".9", 0),
        ("int", "-5.", -5), ("bigint", "-9223372036854775808", -(2**63)),
        ("float", "1e3", 1000.0), ("double", " .5d ", 0.5), ("double", "-Infinity", -float("inf")),
        ("double", "1e999", float("inf")),
        ("float", BETWEEN_FLOATS, FLOAT), ("float", "1e-999999999999999999999", 0.0),
        ("float", "1e999999999999999999999", float("inf")),
        ("decimal(5,2)", "1.005", Decimal("1.01")),
        ("decimal(5,2)", "-999.994", Decimal("-999.99")),
        ("decimal(38,0)", "9" * 38, Decimal("9" * 38)), ("decimal(5,2)", "1e2", Decimal("100.00")),
        ("boolean", "TRUE", True), ("boolean", "false", False),
        ("string", "", ""), ("string", " a ", " a "), ("char(3)", "ab", "ab"),
        ("binary", "aGk=", b"hi"), ("binary", "ä!", "ä!".encode()),
        ("date", "2026-1-2", dt.date(2026, 1, 2)),
        ("date", "2026-01-02 03:04", dt.date(2026, 1, 2)),
        ("timestamp", "2026-01-02", dt.datetime(2026, 1, 2)),
        ("timestamp", "2026-01-02 03:04:05.6", dt.datetime(2026, 1, 2, 3, 4, 5, 600_000)),
        ("timestamp", "2026-01-02T03:04:05.123456000", dt.datetime(2026, 1, 2, 3, 4, 5, 123_456)),
        ("timestamp with local time zone", "2026-01-02 03:04:05+01:00",
         dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=HOUR)),
        ("timestamp with local time zone", "2026-01-02 03:04:05 UTC",
         dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("array<int>", "1\x02\\N\x023", [1, None, 3]), ("array<int>", "", []),
        ("map<string,int>", "a\x031\x02b\x03\\N", [("a", 1), ("b", None)]),
        ("struct<a:int,b:array<string>>", "1\x02x\x03y", {"a": 1, "b": ["x", "y"]}),
    ],
)  # fmt: skip
def test_text(kind: str, text: str, value: Any) -> None:
    assert from_text(text, parse_type(kind)) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tinyint", "128"), ("int", ""), ("int", " 1"), ("int", "1e3"), ("int", "."), ("int", "x"),
        ("int", "١"), ("bigint", "9" * 500), ("double", "0x10"), ("double", "nan"), ("double", ""),
        ("double", "1_000"), ("decimal(5,2)", "999.995"), ("decimal(5,2)", "1e99999"),
        ("decimal(5,2)", "NaN"), ("boolean", "1"), ("boolean", " true"), ("date", "2026-02-30"),
        ("date", "26-1-1"), ("timestamp", "2026-01-02 25:00:00"),
        ("timestamp", "2026-01-02 03:04:05.1234567"), ("binary", "a"),
        ("timestamp with local time zone", "2026-01-02 03:04:05"),
        ("array<int>", "1\x02x"), ("map<string,int>", "a"), ("struct<a:int,b:int>", "1"),
    ],
)  # fmt: skip
def test_text_that_does_not_fit(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_text(text, parse_type(kind))


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("int", 5, 5), ("int", "5", 5),
        ("int", JsonNumber("5.9"), 5), ("int", JsonNumber("1e3"), 1000),
        ("double", 5, 5.0), ("double", JsonNumber("0.1"), 0.1), ("boolean", True, True),
        ("float", JsonNumber(BETWEEN_FLOATS), FLOAT), ("float", BETWEEN_FLOATS, FLOAT),
        ("decimal(20,10)", JsonNumber("0.1234567891"), Decimal("0.1234567891")),
        ("string", 5, "5"), ("string", JsonNumber("1.50"), "1.50"), ("string", True, "true"),
        ("date", "2026-01-02", dt.date(2026, 1, 2)), ("binary", "aGk=", b"hi"), ("int", None, None),
        ("array<int>", [1, None], [1, None]), ("map<int,string>", {"1": "a"}, [(1, "a")]),
        ("struct<a:int,b:int>", {"A": 1}, {"a": 1, "b": None}),
    ],
)  # fmt: skip
def test_json(kind: str, value: Any, found: Any) -> None:
    assert from_json(value, parse_type(kind)) == found


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", True), ("int", [1]), ("int", {}), ("int", 2**31), ("int", JsonNumber("1e400")),
        ("int", JsonNumber("1e99999999")), ("int", JsonNumber("1e99999999999999999999")),
        ("string", ["a"]), ("string", {"a": 1}), ("array<int>", {}), ("map<string,int>", []),
        ("struct<a:int>", {"b": 1}), ("struct<a:int>", 1), ("boolean", 1), ("date", 5),
    ],
)  # fmt: skip
def test_json_that_does_not_fit(kind: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_json(value, parse_type(kind))


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("int", 5, 5), ("int", 5.0, 5), ("int", Decimal("5E+1"), 50), ("int", np.int64(5), 5),
        ("int", pa.scalar(5), 5), ("double", pa.scalar(1.5), 1.5), ("double", np.float16(1.5), 1.5),
        ("double", 5, 5.0), ("float", Decimal("0.5"), 0.5),
        ("float", Decimal(BETWEEN_FLOATS), FLOAT), ("float", 2**24, 2.0**24),
        ("double", -(2**53), -(2.0**53)), ("float", Decimal("-Infinity"), -float("inf")),
        ("decimal(3,1)", 5, Decimal("5.0")), ("decimal(3,1)", Decimal("1.500"), Decimal("1.5")),
        ("string", "a", "a"), ("binary", bytearray(b"a"), b"a"),
        ("date", dt.date(2026, 1, 2), dt.date(2026, 1, 2)),
        ("array<double>", [1, None], [1.0, None]), ("map<string,int>", {"a": 1}, [("a", 1)]),
        ("struct<a:int,b:int>", {"B": 1}, {"a": None, "b": 1}),
    ],
)  # fmt: skip
def test_python(kind: str, value: Any, found: Any) -> None:
    assert from_python(value, parse_type(kind)) == found


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 5.5), ("int", "5"), ("int", True), ("int", float("nan")), ("int", float("inf")),
        ("int", Decimal("5.5")), ("int", Decimal("sNaN")), ("bigint", Decimal("1E+99999999")),
        ("double", "5"), ("double", True), ("double", 10**400), ("decimal(3,1)", 0.5),
        ("double", 2**53 + 1), ("double", Decimal("1e400")), ("float", 2**24 + 1),
        ("map<string,int>", [1]), ("map<string,string>", ["ab"]), ("map<string,int>", [("a",)]),
        ("int", np.array(1.5)), ("int", np.array([1, 2])), ("int", np.ma.masked), ("int", int),
        ("double", np.datetime64("2020-01-01", "ns")), ("double", np.datetime64("2020-01-01")),
        ("double", np.timedelta64(5)), ("double", np.str_("1.5")), ("double", np.bool_(True)),
        ("double", np.complex64(1)), ("double", np.array([1.5])), ("double", float),
        ("double", pa.scalar(None, pa.float64())),
        ("float", np.int64(-(2**24) - 1)), ("float", 1e39), ("float", Decimal("1e39")),
        ("decimal(3,1)", Decimal("1.55")), ("decimal(3,0)", Decimal("0.1")),
        ("decimal(3,1)", True), ("decimal(3,1)", Decimal("NaN")), ("string", 5), ("string", b"a"),
        ("binary", "a"), ("boolean", 1), ("date", dt.datetime(2026, 1, 2)), ("date", "2026-01-02"),
        ("timestamp", dt.datetime(2026, 1, 2, tzinfo=UTC)), ("timestamp", dt.date(2026, 1, 2)),
        ("timestamp with local time zone", dt.datetime(2026, 1, 2)), ("array<int>", [1.5]),
        ("array<int>", "ab"), ("map<string,int>", "ab"), ("struct<a:int>", {"b": 1}),
    ],
)  # fmt: skip
def test_python_that_does_not_fit(kind: str, value: Any) -> None:
    with pytest.raises((ValueError, OverflowError), match=r"\w"):
        from_python(value, parse_type(kind))

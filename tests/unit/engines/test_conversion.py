"""acidsql/engines/conversion.py"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from acidsql.engines.conversion import converted
from acidsql.errors import AnalysisError, InvalidValueError
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.orc.schema import arrow_type
from acidsql.orc.values import storable

BERLIN = "Europe/Berlin"
NOON = dt.datetime(2020, 7, 1, 12)
STRUCT = pa.struct([("B", pa.int64()), ("a", pa.string())])


BETWEEN_FLOATS, FLOAT = "1.000000178813934326171874999", 1.0000001192092896
"""A number less than half way to the next float; the nearest double is half way."""


def convert(array: Any, kind: str, first: int = 0) -> Any:
    column = Column("c", parse_type(kind))
    result = converted(array, column, storable, first)
    assert result.type == arrow_type(column.type)
    return result.to_pylist()


@pytest.mark.parametrize(
    ("array", "kind", "expected"),
    [
        (pa.array([1, None], pa.uint64()), "tinyint", [1, None]),
        (pa.array([BETWEEN_FLOATS]), "float", [FLOAT]),
        (pa.array([Decimal(BETWEEN_FLOATS)]), "float", [FLOAT]),
        (pa.array([Decimal("0.028647527737059")]), "double", [0.028647527737059]),
        (pa.array([255.069, None]), "decimal(38,4)", [Decimal("255.069"), None]),
        (pa.array([50771725051131.61]), "decimal(38,4)", [Decimal("50771725051131.61")]),
        (pa.array([1.0, float("-2")]), "int", [1, -2]),
        (pa.array(["007", " +5 ", "-1", None]), "int", [7, 5, -1, None]),
        (pa.array([Decimal("3.00")]), "bigint", [3]),
        (pa.array([True, False]), "int", [1, 0]),
        (pa.array([5], pa.int64()), "decimal(3,2)", [Decimal("5.00")]),
        (pa.array([0.1, 12.34]), "decimal(4,2)", [Decimal("0.10"), Decimal("12.34")]),
        (pa.array([0.1], pa.float32()), "decimal(4,1)", [Decimal("0.1")]),
        (pa.array([1.5], pa.float16()), "decimal(4,1)", [Decimal("1.5")]),
        (pa.array(["1.5", "1e1"]), "decimal(4,1)", [Decimal("1.5"), Decimal("10.0")]),
        (pa.array([Decimal("1.50")], pa.decimal256(50, 2)), "decimal(3,1)", [Decimal("1.5")]),
        (pa.array([0.1, float("inf")]), "float", [float(np.float32(0.1)), float("inf")]),
        (pa.array([2**53]), "double", [2.0**53]),
        (pa.array(["1.5"]), "double", [1.5]),
        (pa.array(["a", None]).dictionary_encode(), "string", ["a", None]),
        (pa.array(["a", "b"], pa.string_view()), "varchar(3)", ["a", "b"]),
        (pa.array(["a "], pa.large_string()), "char(3)", ["a  "]),
        (pa.array(["abc  "]), "varchar(3)", ["abc"]),
        (pa.array([7, -1]), "string", ["7", "-1"]),
        (pa.array([dt.date(2020, 1, 2)]), "string", ["2020-01-02"]),
        (pa.array([b"\0a"], pa.binary_view()), "binary", [b"\0a"]),
        (pa.array([b"ab"], pa.binary(2)), "binary", [b"ab"]),
        (pa.array(["TRUE", "false"]), "boolean", [True, False]),
        (pa.array([0, 1]), "boolean", [False, True]),
        (pa.array(["2020-02-29"]), "date", [dt.date(2020, 2, 29)]),
        (pa.array([dt.datetime(2020, 1, 1)]), "date", [dt.date(2020, 1, 1)]),
        (pa.array([86_400_000], pa.date64()), "date", [dt.date(1970, 1, 2)]),
        (pa.array([NOON]), "timestamp", [NOON]),
        (pa.array([1000], pa.timestamp("ns")), "timestamp", [dt.datetime(1970, 1, 1, 0, 0, 0, 1)]),
        (pa.array(["2020-07-01 12:00:00"]), "timestamp", [NOON]),
        (pa.array([dt.date(2020, 7, 1)]), "timestamp", [dt.datetime(2020, 7, 1)]),
        # An instant's wall-clock time is that in UTC.
        (
            pa.array([NOON], pa.timestamp("s")).cast(pa.timestamp("s", "UTC")).cast(
                pa.timestamp("s", BERLIN)
            ),
            "timestamp",
            [NOON],
        ),
        (
            pa.array([NOON]),
            "timestamp with local time zone",
            [NOON.replace(tzinfo=dt.timezone.utc)],
        ),
        (pa.nulls(2), "struct<a:int>", [None, None]),
        (
            pa.array([{"B": 1, "a": "x"}, None], STRUCT),
            "struct<a:string,b:smallint,c:date>",
            [{"a": "x", "b": 1, "c": None}, None],
        ),
        (pa.array([[1], None, []], pa.large_list(pa.int64())), "array<int>", [[1], None, []]),
        (pa.array([[1], None, [2, 3]], pa.list_view(pa.int8())), "array<int>", [[1], None, [2, 3]]),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), "array<int>", [[1, 2], None]),
        (
            pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
            "map<string,tinyint>",
            [[("a", 1)], None],
        ),
        (
            pa.array([[{"key": "a", "value": None}]]),
            "map<string,int>",
            [[("a", None)]],
        ),
        (
            pa.array([[{"VALUE": "b", "key": "a"}]]),
            "map<string,string>",
            [[("a", "b")]],
        ),
        (pa.array([None, None], pa.int8()), "void", [None, None]),
    ],
)  # fmt: skip
def test_what_fits(array: Any, kind: str, expected: list[Any]) -> None:
    assert convert(array, kind) == expected
    # Rows before it in the same buffers change nothing.
    longer = pa.concat_arrays([array, array])
    assert convert(longer.slice(len(array)), kind) == expected


@pytest.mark.parametrize(
    ("array", "kind", "reason"),
    [
        (pa.array([128]), "tinyint", "not in range"),
        (pa.array([1.5]), "int", "truncated"),
        (pa.array([float("nan")]), "int", "truncated"),
        (pa.array(["0x1f"]), "int", "not a whole number"),
        (pa.array([Decimal("1.5")]), "int", "data loss"),
        (pa.array([1000]), "decimal(5,2)", "digits|range|precision"),
        (pa.array([0.125]), "decimal(5,2)", "digits after the point"),
        (pa.array([float("nan")]), "decimal(5,2)", "nan"),
        (pa.array([Decimal("0.125")]), "decimal(5,2)", "data loss"),
        (pa.array(["1.125"]), "decimal(5,2)", "data loss"),
        (pa.array([1e300]), "float", "out of range"),
        (pa.array(["1e300"]), "float", "out of range"),
        (pa.array(["-1e400"]), "double", "out of range"),
        (pa.array([2**53 + 1]), "double", "range"),
        (pa.array(["abcd"]), "varchar(3)", "more than 3 characters"),
        (pa.array([b"a\xff"]).view(pa.string()), "string", "not Unicode"),
        (pa.array([b"a\xff"]).view(pa.string()), "char(3)", "not Unicode"),
        (pa.array([[b"a\xff"]]).view(pa.list_(pa.string())), "array<string>", "not Unicode"),
        (pa.array(["yes"]), "boolean", "neither true nor false"),
        (pa.array([2]), "boolean", "neither 0 nor 1"),
        (pa.array(["2020-02-30"]), "date", "2020-02-30"),
        (pa.array(["1.1.2020"]), "date", "2026-12-31"),
        (pa.array([NOON]), "date", "time of day"),
        (pa.array([2_932_897], pa.int32()).cast(pa.date32()), "date", "years 1 to 9999"),
        (pa.array([1], pa.timestamp("ns")), "timestamp", "nanoseconds"),
        (pa.array([2**60], pa.timestamp("us")), "timestamp", "years 1 to 9999"),
        (pa.array([2**60], pa.timestamp("s")), "timestamp", "out of bounds|overflow|multipl"),
        (
            pa.array([-1], pa.timestamp("us")),
            "timestamp",
            "last second before 1970",
        ),
        (pa.array([{"a": 300}]), "struct<a:tinyint>", "not in range"),
        (pa.array([[1, 300]]), "array<tinyint>", "not in range"),
        (
            pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int8())),
            "map<string,int>",
            "comes twice",
        ),
        (
            pa.array([[("a", 1), ("a ", 2)]], pa.map_(pa.string(), pa.int8())),
            "map<char(3),int>",
            "comes twice",
        ),
        (
            pa.array([[("abc", 1), ("abc ", 2)]], pa.map_(pa.string(), pa.int8())),
            "map<varchar(3),int>",
            "comes twice",
        ),
        (
            pa.array([[([1], 1), ([1], 2)]], pa.map_(pa.list_(pa.int8()), pa.int8())),
            "map<array<int>,int>",
            "comes twice",
        ),
        (pa.array([[{"key": None, "value": 1}]]), "map<string,int>", "is null"),
    ],
)  # fmt: skip
def test_what_does_not_fit_names_its_row(array: Any, kind: str, reason: str) -> None:
    rows = pa.concat_arrays([pa.nulls(5, array.type), array, pa.nulls(3, array.type)])
    with pytest.raises(InvalidValueError, match='column "c"') as failed:
        convert(rows, kind, first=100)
    assert failed.value.detail is not None
    assert failed.value.detail.startswith("Row 105, counted from 0: ")
    assert pc.match_substring_regex(pa.array([str(failed.value)]), reason)[0].as_py(), failed.value


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([b"a"]), "string"),
        (pa.array([1.5]), "string"),
        (pa.array([dt.time(1)]), "timestamp"),
        (pa.array([dt.timedelta(1)]), "bigint"),
        (pa.array(["a"]), "binary"),
        (pa.array([1]), "date"),
        (pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)]), "date"),
        (pa.array([1]), "array<int>"),
        (pa.array([[1]]), "struct<a:int>"),
        (pa.array([{"z": 1}]), "struct<a:int>"),
        (pa.array([{"a": 1, "A": 2}]), "struct<a:int>"),
        (pa.array([{"a": 1}]), "map<string,int>"),
        (pa.array([[{"x": "a", "y": 1}]]), "map<string,int>"),
        (pa.array([[{"key": "a", "value": 1, "z": 1}]]), "map<string,int>"),
        (pa.array([1]), "void"),
    ],
)  # fmt: skip
def test_a_type_that_no_value_fits(array: Any, kind: str) -> None:
    with pytest.raises(AnalysisError, match="takes no values of Arrow type"):
        convert(array, kind)


def test_the_type_is_at_fault_though_a_value_beside_it_is_too() -> None:
    kind = pa.struct([("a", pa.int64()), ("b", pa.float64())])
    rows = pa.array([{"a": 1, "b": 1.5}, {"a": 300, "b": 1.5}], kind)
    with pytest.raises(AnalysisError, match="takes no values of Arrow type"):
        convert(rows, "struct<a:tinyint,b:string>")

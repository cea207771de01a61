"""acidsql/engines/python_values.py"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from acidsql.engines.python_values import first_refused, python_array
from acidsql.errors import InvalidValueError
from acidsql.model.table import Column
from acidsql.model.types import parse_type

DAY, NOON = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12)


def read(values: list[Any], kind: str) -> Any:
    return python_array(values, Column("c", parse_type(kind)), 10)


def test_a_datetime_after_a_date_keeps_its_time() -> None:
    assert read([DAY, NOON], "timestamp").to_pylist() == [dt.datetime(2020, 1, 1), NOON]
    nested = read([{"x": [DAY]}, {"x": [NOON]}], "struct<x:array<timestamp>>")
    assert nested.to_pylist() == [{"x": [dt.datetime(2020, 1, 1)]}, {"x": [NOON]}]


def test_maps_are_entries_at_any_depth() -> None:
    rows = [{"f": [{1: "a"}, [(2, None)]]}, None]
    assert read(rows, "struct<f:array<map<int,string>>>").to_pylist() == [
        {"f": [[{"key": 1, "value": "a"}], [{"key": 2, "value": None}]]},
        None,
    ]


def test_an_entry_of_a_map_may_be_a_struct_of_key_and_value() -> None:
    rows = [[{"key": "a", "value": "b"}], [{"Value": "d", "KEY": "c"}, ("e", "f")]]
    expected = [
        [{"key": "a", "value": "b"}],
        [{"key": "c", "value": "d"}, {"key": "e", "value": "f"}],
    ]
    assert read(rows, "map<string,string>").to_pylist() == expected
    assert read([rows], "array<map<string,string>>").to_pylist() == [expected]


def test_what_pandas_calls_missing_is_null() -> None:
    assert read([pd.NaT, NOON, pd.NA], "timestamp").to_pylist() == [None, NOON, None]
    assert read([pd.NA, 1], "int").to_pylist() == [None, 1]
    rows = [{"f": [pd.NaT, DAY]}, {"f": pd.NA}, pd.NA]
    found = read(rows, "struct<f:array<date>>").to_pylist()
    assert found == [{"f": [None, DAY]}, {"f": None}, None]
    assert read([{"k": pd.NA}], "map<string,int>").to_pylist() == [[{"key": "k", "value": None}]]


def test_integers_of_any_size_are_decimals() -> None:
    found = read([2**70, Decimal("0.5"), None], "decimal(38,1)")
    assert found.to_pylist() == [Decimal(2**70), Decimal("0.5"), None]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, "b"], "int"),
        ([1, 2**70], "bigint"),
        (["a", "\ud800"], "string"),
        ([NOON, pd.Timestamp(1)], "timestamp"),
        ([{"a": 1}, {3: 1}], "struct<a:int>"),
        ([Decimal(1), Decimal("NaN")], "decimal(5,0)"),
        ([{"a": 1}, [5]], "map<string,int>"),
        ([{"a": "b"}, [{"x": "a", "y": "b"}]], "map<string,string>"),
        ([{"a": "b"}, [{"key": "a", "KEY": "b"}]], "map<string,string>"),
        ([{"a": "b"}, [{"key": "a"}]], "map<string,string>"),
        ([{"a": "b"}, ["cd"]], "map<string,string>"),
        ([{"a": "b"}, ["cde"]], "map<string,string>"),
        ([{"a": "b"}, "cd"], "map<string,string>"),
        ([{"a": "b"}, [None]], "map<string,string>"),
        (["a", 1, pd.NA], "string"),
    ],
)
def test_values_of_no_one_type(values: list[Any], kind: str) -> None:
    with pytest.raises(InvalidValueError, match="Row 11, counted from 0: "):
        read(values, kind)


def test_the_first_refused_of_many() -> None:
    calls = []

    def attempt(start: int, end: int) -> None:
        calls.append(end)
        if 700 in range(start, end):
            raise pa.ArrowInvalid

    assert first_refused(1000, attempt, (pa.ArrowInvalid,)) == 700
    assert len(calls) <= 10

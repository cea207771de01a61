"""acidsql/engines/given_rows.py"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from acidsql.engines.given_rows import BATCH_ROWS, given_rows
from acidsql.errors import AnalysisError, ExecutionError, InvalidValueError
from acidsql.model.table import Column
from acidsql.model.types import parse_type

COLUMNS = {"k": Column("k", parse_type("int")), "v": Column("v", parse_type("string"))}
ROWS = [{"k": 1, "v": "a"}, {"k": 2, "v": None}, {"k": 3, "v": "c"}]
TABLE = pa.table({"k": [1, 2, 3], "v": ["a", None, "c"]})


class Stream:
    """A stream of another library, which does not know its length."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


def read(data: Any) -> list[Any]:
    source = given_rows(data)
    return [row for batch in source.batches(COLUMNS) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("data", "is_stream"),
    [
        pytest.param(ROWS, False, id="dicts"),
        pytest.param([{"k": 1, "v": "a"}, {"k": 2}, {"v": "c", "k": 3}], False, id="lacking"),
        pytest.param({"k": [1, 2, 3], "v": ("a", None, "c")}, False, id="columns"),
        pytest.param({"k": np.array([1, 2, 3]), "v": TABLE["v"]}, False, id="arrays"),
        pytest.param(
            {"k": pl.Series([1, 2, 3]), "v": pd.Series(["a", None, "c"])}, False, id="series"
        ),
        pytest.param(TABLE, False, id="table"),
        pytest.param(TABLE.to_batches()[0], False, id="batch"),
        pytest.param(TABLE.to_pandas().set_index(pd.Index([7, 8, 9])), False, id="pandas"),
        pytest.param(pl.DataFrame(TABLE.to_pydict()), False, id="polars"),
        pytest.param(TABLE.to_reader(1), True, id="reader"),
        pytest.param(Stream(), True, id="stream"),
    ],
)  # fmt: skip
def test_a_source(data: Any, is_stream: bool) -> None:
    source = given_rows(data)
    assert list(source.columns) == ["k", "v"]
    assert source.is_stream == is_stream
    assert [r for b in source.batches(COLUMNS) for r in b.to_pylist()] == ROWS
    if not is_stream:
        assert [r for b in source.batches(COLUMNS) for r in b.to_pylist()] == ROWS


def test_objects_of_pandas_are_values_of_python() -> None:
    columns = {"k": Column("k", parse_type("map<string,int>"))}
    frame = pd.DataFrame({"k": [{"a": 1}, None, {"b": 2}]})
    [batch] = given_rows(frame).batches(columns)
    assert batch.column(0).to_pylist() == [
        [{"key": "a", "value": 1}], None, [{"key": "b", "value": 2}],
    ]  # fmt: skip


DAY, NOON = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    "data",
    [
        [{"k": DAY}, {"k": NOON}],
        {"k": np.array([DAY, NOON], dtype=object)},
        {"k": pd.Series([DAY, NOON], dtype=object)},
        pd.DataFrame({"k": pd.Series([DAY, NOON], dtype=object)}),
    ],
)
def test_no_time_of_day_is_lost_among_dates(data: Any) -> None:
    columns = {"k": Column("k", parse_type("timestamp"))}
    [batch] = given_rows(data).batches(columns)
    assert batch.column(0).to_pylist() == [dt.datetime(2020, 1, 1), NOON]


@pytest.mark.parametrize(
    "data",
    [
        [{"k": pd.Timestamp(1)}],
        {"k": np.array([pd.Timestamp(1)], dtype=object)},
        {"k": pd.Series([pd.Timestamp(1)], dtype=object)},
        pd.DataFrame({"k": pd.Series([pd.Timestamp(1)], dtype=object)}),
        pd.DataFrame({"k": pd.Series([[pd.Timestamp(1)]], dtype=object)}),
        {"k": [np.array([pd.Timestamp(1)], dtype=object)]},
    ],
)
def test_no_nanosecond_is_lost_among_objects(data: Any) -> None:
    columns = {"k": Column("k", parse_type("timestamp"))}
    with pytest.raises(InvalidValueError, match="nanoseconds"):
        list(given_rows(data).batches(columns))


def test_nan_of_pandas_is_null_and_that_of_others_a_number() -> None:
    values = [1.5, float("nan")]
    assert read(pd.DataFrame({"k": values}))[1] == {"k": None}
    assert str(read({"k": values})[1]) == "{'k': nan}"
    assert str(read(pl.DataFrame({"k": values}))[1]) == "{'k': nan}"


def test_batches_are_bounded() -> None:
    many = BATCH_ROWS * 2 + 1
    for data in (pa.table({"k": np.arange(many)}), {"k": np.arange(many)}):
        sizes = [batch.num_rows for batch in given_rows(data).batches(COLUMNS)]
        assert sizes == [BATCH_ROWS, BATCH_ROWS, 1]


def test_nothing_is_read_before_it_is_asked_for() -> None:
    asked = []

    def batches() -> Any:
        for number in range(3):
            asked.append(number)
            yield pa.record_batch({"k": [number]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("k", pa.int64())]), batches())
    found = given_rows(reader).batches(COLUMNS)
    assert asked == []
    next(found)
    assert len(asked) <= 2


def test_a_reader_that_was_read_is_not_taken_for_an_empty_one() -> None:
    reader = TABLE.to_reader()
    given_rows(reader)  # a look at it reads nothing
    assert read(reader) == ROWS
    with pytest.raises(AnalysisError, match="read by an earlier insert"):
        given_rows(reader)


def test_a_stream_is_begun_once_for_each_reading() -> None:
    class Counted(Stream):
        begun = 0

        def __len__(self) -> int:
            return 3

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            self.begun += 1
            return super().__arrow_c_stream__(requested_schema)

    counted = Counted()
    source = given_rows(counted)
    for number in (1, 2):
        assert sum(batch.num_rows for batch in source.batches(COLUMNS)) == 3
        assert counted.begun == number


def test_a_stream_that_fails() -> None:
    def batches() -> Any:
        yield pa.record_batch({"k": [1]})
        raise ValueError("the source broke")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("k", pa.int64())]), batches())
    with pytest.raises((ExecutionError, ValueError), match="the source broke"):
        read(reader)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (5, "cannot insert a value of type int"),
        ("k", "cannot insert a value of type str"),
        ([1], "row 0 of the list is a value of type int"),
        ({"k": "abc"}, 'column "k" is a value of type str'),
        ({"k": [1], "v": []}, "different numbers of values"),
        ({1: [1]}, "a column is called 1"),
        ([{}, {}], "the rows have no columns"),
        (pa.table({}), "the rows have no columns"),
        ({"k": [1], "K": [1]}, 'the column "K" twice'),
        (pa.table([[1], [2]], names=["k", "k"]), 'the column "k" twice'),
        (pd.DataFrame([[1]]), "a column is called 0"),
    ],
)
def test_what_has_no_rows(data: Any, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        given_rows(data)

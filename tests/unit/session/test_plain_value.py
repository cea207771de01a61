"""Values of parameters are what they are, whichever library made them."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acidsql
from acidsql.errors import AnalysisError
from acidsql.model.names import TableName
from acidsql.session.plain_value import plain_value
from tests.checks import check_table

NOON = dt.datetime(2026, 12, 31, 12, 0, 0, 5)
Number = enum.Enum("Number", {"TWO": 2}, type=int)
Word = enum.Enum("Word", {"TWO": "two"}, type=str)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.datetime64("2026-12-31T12:00:00.000005000", "ns"), NOON),
        (np.datetime64(NOON), NOON),
        (np.datetime64("2026-12", "M"), dt.date(2026, 12, 1)),
        (np.timedelta64(5000, "ns"), dt.timedelta(microseconds=5)),
        (np.datetime64("NaT"), None),
        (np.timedelta64("NaT"), None),
        (pd.NaT, None),
        (pd.NA, None),
        (pd.Timestamp(NOON), NOON),
        (pd.Timestamp(NOON, tz="UTC"), NOON.replace(tzinfo=dt.timezone.utc)),
        (pd.Timedelta(5, "us"), dt.timedelta(microseconds=5)),
        (np.float64(1.5), 1.5),
        (np.bytes_(b"a\x00"), b"a\x00"),
        pytest.param(memoryview(b"a"), b"a", id="memoryview"),
        (Number(2), 2),
        (Word("two"), "two"),
        (np.bool_(True), True),
        (Decimal("1.50"), Decimal("1.50")),
        ((1, [np.int8(2)]), [1, [2]]),
        ({Word("two"): pd.NaT}, {"two": None}),
    ],
    ids=repr,
)
def test_a_value_of_another_library(value: Any, plain: Any) -> None:
    found = plain_value(value, "x")
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (pd.Timestamp("2026-12-31 00:00:00.000000001"), "it has nanoseconds"),
        (np.datetime64("2026-12-31T00:00:00.000000001"), "it has nanoseconds"),
        (np.timedelta64(1, "ns"), "it has nanoseconds"),
        (pd.Timedelta(1, "ns"), "it has nanoseconds"),
        (np.timedelta64(5, "M"), "is no length of time of Python"),
        (np.datetime64("20000-01-01", "D"), "is no time of Python"),
        ({1}, "SQL has no sets"),
    ],
    ids=repr,
)
def test_what_sql_cannot_hold_is_refused(value: Any, why: str) -> None:
    with pytest.raises(AnalysisError, match=f'parameter "v" cannot be bound: .*{why}'):
        plain_value([value], 'parameter "v"')


def test_a_list_in_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(AnalysisError, match="nested too deeply"):
        plain_value(endless, "x")


@pytest.mark.parametrize("value", ["\ud800", ["\ud800"], {"\ud800": 1}], ids=repr)
def test_half_of_a_character_at_any_depth(value: Any) -> None:
    with pytest.raises(AnalysisError, match="x is not valid Unicode"):
        plain_value(value, "x")


def test_such_values_are_written(tmp_path: Path) -> None:
    values = {"n": Number(2), "s": Number(2), "at": np.datetime64(NOON, "ns"), "none": pd.NaT}
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        session.execute(
            "CREATE TABLE t (n int, s string, at timestamp, none timestamp)"
            " PARTITIONED BY (p string) TBLPROPERTIES ('transactional' = 'true')"
        )
        session.execute("INSERT INTO t VALUES (:n, :s, :at, :none, 'a')", values)
        session.insert("t", [{"n": 3}], partition={"p": Number(2)})
        with pytest.raises(AnalysisError, match="it has nanoseconds"):
            session.execute("INSERT INTO t (at) VALUES (?)", [pd.Timestamp(1)])
        found = check_table(session._store, TableName("default", "t"))
    assert sorted(found) == [(2, "2", NOON, None, "a"), (3, None, None, None, "2")]

"""When statistics are true of a snapshot, and which values they give."""

import datetime
from dataclasses import replace
from decimal import Decimal

import pytest

from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.statistics import (
    TEXT_MAX,
    Basis,
    ColumnStatistics,
    Statistics,
    exact_text,
    has_range,
    value_of,
)
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import parse_type

TABLE = Table(
    TableName("default", "t"),
    (Column("k", parse_type("int")), Column("s", parse_type("string"))),
    "/w/t",
    (Column("p", parse_type("int")),),
    parameters={"transactional": "true"},
    created_s=1,
)
DIRECTORIES = (("p=1", "/w/t/p=1"), ("p=2", "/w/t/p=2"))
WRITE_IDS = "default.t:5:4:4:2"
"""Write ids 1, 3 and 5 are committed; 2 was aborted, 4 is open."""


def basis(table=TABLE, directories=DIRECTORIES, write_ids=WRITE_IDS, by_position=True):
    seen = ValidWriteIdList.parse(write_ids)
    return Basis.of(table, directories, seen, by_position=by_position)


SAME = {
    "the same snapshot": {},
    "the open write id was aborted": {"write_ids": "default.t:5:::2,4"},
    "the aborted one counts as open": {"write_ids": "default.t:5:2:2,4:"},
    "later write ids are open": {"write_ids": "default.t:7:4:4,6:2,7"},
    "the directories come in another order": {"directories": DIRECTORIES[::-1]},
    "a comment": {"table": replace(TABLE, comment="c", owner="o")},
}
OTHER = {
    "a later write id": {"write_ids": "default.t:6:4:4:2"},
    "the open write id was committed": {"write_ids": "default.t:5:::2"},
    "an earlier snapshot": {"write_ids": "default.t:4:4:4:2"},
    "the aborted write id was cleaned up, and counts as committed": {
        "write_ids": "default.t:5:4:4:"
    },
    "an earlier write id was open": {"write_ids": "default.t:5:3:3,4:2"},
    "no write id": {"write_ids": "default.t:0::"},
    "a partition less": {"directories": DIRECTORIES[:1]},
    "a partition more": {"directories": (*DIRECTORIES, ("p=3", "/w/t/p=3"))},
    "a partition of another name": {"directories": (DIRECTORIES[0], ("p=3", "/w/t/p=2"))},
    "a partition in another place": {"directories": (DIRECTORIES[0], ("p=2", "/elsewhere"))},
    "two partitions have changed places": {
        "directories": (("p=1", "/w/t/p=2"), ("p=2", "/w/t/p=1"))
    },
    "another table": {"table": replace(TABLE, name=TableName("default", "u"))},
    "a table of another database": {"table": replace(TABLE, name=TableName("d", "t"))},
    "a table made later": {"table": replace(TABLE, created_s=2)},
    "a table in another place": {"table": replace(TABLE, location="/w/u")},
    "a column less": {"table": replace(TABLE, columns=TABLE.columns[:1])},
    "columns in another order": {"table": replace(TABLE, columns=TABLE.columns[::-1])},
    "a column of another type": {
        "table": replace(TABLE, columns=(Column("k", parse_type("bigint")), TABLE.columns[1]))
    },
    "a column of another name": {
        "table": replace(TABLE, columns=(Column("l", parse_type("int")), TABLE.columns[1]))
    },
    "a partition column of another type": {
        "table": replace(TABLE, partition_columns=(Column("p", parse_type("string")),))
    },
    "a partition column that is a column": {
        "table": replace(
            TABLE, columns=(*TABLE.columns, *TABLE.partition_columns), partition_columns=()
        )
    },
    "another kind of table": {
        "table": replace(
            TABLE,
            parameters={"transactional": "true", "transactional_properties": "insert_only"},
        )
    },
    "another format": {"table": replace(TABLE, format=FileFormat.PARQUET)},
    "another delimiter": {"table": replace(TABLE, field_delimiter=",")},
    "columns of older files are matched by name": {"by_position": False},
    "the table says that they are matched by name": {
        "table": replace(
            TABLE, parameters={**TABLE.parameters, "orc.force.positional.evolution": "false"}
        )
    },
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_statistics_stay_true(change):
    assert basis(**change) == basis()


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_statistics_are_not_true_any_more(change):
    assert basis(**change) != basis()


def test_long_lists_of_exceptions_make_short_texts():
    aborted = ",".join(map(str, range(1, 10_000, 2)))
    text = basis(write_ids=f"default.t:20000:::{aborted}").write_ids
    assert text.startswith("20000 without 5000 ")
    assert len(text) < 60


STATISTICS = Statistics(
    rows=3,
    columns={
        "k": ColumnStatistics(nulls=1, distinct=2, low="-7", high="9"),
        "empty": ColumnStatistics(nulls=3, distinct=0),
        "inexact": ColumnStatistics(nulls=0, distinct=3),
    },
    basis=basis(),
)
INT = parse_type("int")


@pytest.mark.parametrize(
    ("function", "column", "answer"),
    [
        ("count", None, 3),
        ("count", "k", 2),
        ("min", "k", -7),
        ("max", "k", 9),
        ("count", "empty", 0),
        ("min", "empty", None),
        ("max", "empty", None),
        ("count", "inexact", 3),
    ],
)
def test_answers(function, column, answer):
    assert STATISTICS.answers(function, column)
    assert STATISTICS.answer(function, column, INT) == answer


@pytest.mark.parametrize(
    ("function", "column"),
    [("min", "inexact"), ("max", "inexact"), ("count", "other"), ("min", "other")],
)
def test_what_is_not_known_is_not_answered(function, column):
    assert not STATISTICS.answers(function, column)


def test_statistics_go_to_json_and_back():
    assert Statistics.of_text(STATISTICS.text) == STATISTICS


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "{}", STATISTICS.text[:-1], STATISTICS.text.replace('"rows":3', '"rows":"x"'),
        STATISTICS.text.replace('"rows":3', '"rows":3,"later":1'),
        STATISTICS.text.replace('"nulls":1', '"nulls":1,"later":1'),
        STATISTICS.text.replace('"nulls":1', '"nulls":-1'),
        STATISTICS.text.replace('"rows":3', '"rows":-3'),
        STATISTICS.text.replace('"rows":3', f'"rows":{1 << 63}'),
    ],
)  # fmt: skip
def test_a_text_that_is_not_understood_says_nothing(text):
    assert Statistics.of_text(text) is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "false", False),
        ("tinyint", "-128", -128),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("decimal(38,0)", "9" * 38, Decimal("9" * 38)),
        ("decimal(10,8)", "1E-8", Decimal("0.00000001")),
        ("string", "", ""),
        ("string", " it's\nä\0😀", " it's\nä\0😀"),
        ("varchar(3)", "abc", "abc"),
        ("date", "0001-01-01", datetime.date(1, 1, 1)),
        ("date", "1582-10-10", datetime.date(1582, 10, 10)),
        ("timestamp", "1970-01-01 00:00:00", datetime.datetime(1970, 1, 1)),
        (
            "timestamp",
            "9999-12-31 23:59:59.999999",
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        ),
        ("timestamp", "2024-06-01 12:30:00.1", datetime.datetime(2024, 6, 1, 12, 30, 0, 100000)),
    ],
)
def test_exact_values(kind, text, value):
    assert exact_text(text, parse_type(kind)) == text
    assert value_of(text, parse_type(kind)) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", None),
        ("string", "x" * (TEXT_MAX + 1)),
        ("string", "bad \ufffd byte"),
        ("date", "+10000-01-01"),
        ("date", "-0044-03-15"),
        ("timestamp", "+10000-01-01 00:00:00"),
        ("timestamp", "1969-12-31 23:59:59.999999"),
    ],
)
def test_inexact_values_are_not_kept(kind, text):
    assert exact_text(text, parse_type(kind)) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tinyint", "128"), ("bigint", "-9223372036854775809"), ("int", "1.5"), ("int", "9" * 5000),
        ("decimal(3,1)", "100"), ("decimal(3,1)", "0.25"), ("decimal(3,1)", "NaN"),
        ("decimal(3,1)", "-Infinity"), ("decimal(3,1)", "one"), ("boolean", "yes"),
        ("date", "2024-02-30"), ("timestamp", "noon"),
    ],
)  # fmt: skip
def test_texts_of_no_value_of_the_type(kind, text):
    with pytest.raises(ValueError, match=r".*"):
        value_of(text, parse_type(kind))
    found = ColumnStatistics(nulls=0, low=text, high=text)
    with pytest.raises(ValueError, match=r".*"):
        Statistics(rows=1, columns={"c": found}, basis=STATISTICS.basis).answer(
            "min", "c", parse_type(kind)
        )


def test_a_range_with_one_end():
    found = ColumnStatistics(nulls=0, low="1")
    found = Statistics(rows=1, columns={"c": found}, basis=STATISTICS.basis)
    assert found.answer("min", "c", parse_type("int")) == 1
    with pytest.raises(ValueError, match="high=None"):
        found.answer("max", "c", parse_type("int"))


def test_more_nulls_than_rows():
    found = Statistics(rows=1, columns={"c": ColumnStatistics(nulls=2)}, basis=STATISTICS.basis)
    with pytest.raises(ValueError, match="nulls=2"):
        found.answer("count", "c", parse_type("int"))


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("int", True), ("decimal(5,2)", True), ("boolean", True), ("string", True),
        ("varchar(9)", True), ("date", True), ("timestamp", True), ("char(9)", False),
        ("float", False), ("double", False), ("binary", False), ("void", False),
        ("timestamp with local time zone", False), ("array<int>", False),
        ("map<int,int>", False), ("struct<a:int>", False),
    ],
)  # fmt: skip
def test_which_types_have_a_range(kind, kept):
    assert has_range(parse_type(kind)) is kept

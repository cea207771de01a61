"""A record that takes the short way becomes the row that its record writer makes of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import example, given

from acidsql.errors import SerializationError
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.streaming.single_records import SingleRecords
from acidsql.streaming.writers import (
    ArrowRecordWriter,
    RecordWriter,
    StrictDelimitedInputWriter,
    StrictJsonWriter,
    StrictRegexWriter,
)

TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(3,1)"),
    *("decimal(5,0)", "decimal(2,2)", "decimal(38,10)", "string", "char(3)", "varchar(3)"),
    *("binary", "date", "timestamp", "timestamp with local time zone", "array<int>"),
)
TEXTS = st.one_of(
    st.sampled_from(
        [
            *("", " ", "0", "-0", "+7", "7 ", "007", "127", "128", "-129", "32768", "2147483648"),
            *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.5", "-.5"),
            *(
                "1e3",
                "NaN",
                "Infinity",
                "9" * 15 + "." + "9" * 15,
                "9" * 40,
                "9" * 400,
                "12.34",
                "99.95",
            ),
            *("true", "TRUE", "false", "\\N", "null", "abcd", "é", "\ud800", "a\x00", "٣"),
            *("2026-01-31", "2026-02-31", "0000-01-01", "1500-01-01", "2026-1-3", "9999-12-31"),
            *("2026-01-31 23:59:59.5", "1969-12-31 23:59:59.9", "2026-01-31 24:00:00"),
            *("1970-01-01 00:00:00", "2026-01-31 10:00:00.123456", "2026-01-31T10:00:00Z"),
        ]
    ),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.floats(allow_nan=False).map(repr),
    st.text(max_size=4),
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.sampled_from([127, 128, -32769, 2**31, 2**63 - 1, 2**63, -(2**63)]),
    st.floats(),
    st.decimals(-1000, 1000, places=2),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.timezone.utc)),
    TEXTS,
)
COLUMNS = st.lists(st.sampled_from(TYPES), min_size=1, max_size=3).map(
    lambda types: [Column(f"c{n}", parse_type(text)) for n, text in enumerate(types)]
)
REGEX = r"([^;]*)" + r"(?:;([^;]*))?" * 2


def same_as_its_writer(writer: RecordWriter, columns: Sequence[Column], record: Any) -> bool:
    """Whether the record takes the short way; its row is compared with the writer's then."""
    singles = SingleRecords(writer, columns)
    if not singles.take(record):
        return False
    encoded = writer.encode(record, columns)
    assert not encoded.rejected
    assert (encoded.nulled, encoded.dropped) == (0, 0)
    row = singles.drain()
    assert row is not None
    assert row.schema == encoded.rows.schema
    # NaN is equal to nothing, so the text counts.
    assert str(row.to_pylist()) == str(encoded.rows.to_pylist())
    return True


@pytest.mark.parametrize("lenient", [False, True])
@given(COLUMNS, st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from(["", "\n", "\n\n"]))
@example([Column("c0", parse_type("timestamp"))], ["1969-12-31 23:59:59.9"], "")
def test_delimited_text(lenient: bool, columns: list[Column], fields: list[str], end: str) -> None:
    writer = StrictDelimitedInputWriter(lenient=lenient)
    same_as_its_writer(writer, columns, ",".join(fields) + end)


@given(COLUMNS, st.lists(TEXTS, min_size=1, max_size=3))
def test_a_regular_expression(columns: list[Column], fields: list[str]) -> None:
    same_as_its_writer(StrictRegexWriter(REGEX), columns, ";".join(fields))


@pytest.mark.parametrize("lenient", [False, True])
@given(COLUMNS, st.lists(VALUES, min_size=3, max_size=3), st.sampled_from(["c0", "C0", "other"]))
def test_a_dict(lenient: bool, columns: list[Column], values: list[Any], first: str) -> None:
    names = [first, *(c.name for c in columns[1:])]
    record = dict(zip(names, values, strict=False))
    same_as_its_writer(ArrowRecordWriter(lenient=lenient), columns, record)


@given(COLUMNS, st.lists(VALUES, min_size=3, max_size=3))
def test_json(columns: list[Column], values: list[Any]) -> None:
    members = {c.name: v for c, v in zip(columns, values, strict=False)}
    same_as_its_writer(StrictJsonWriter(), columns, json.dumps(members, default=str))


PLAIN: list[tuple[str, str, Any]] = [
    ("boolean", "true", True),
    ("int", "-7", -7),
    ("bigint", "9223372036854775807", 2**63 - 1),
    ("double", "0.6250955088543412", 0.6250955088543412),
    ("double", "-1e-05", -1e-05),
    ("decimal(5,2)", "-12.5", Decimal("-12.50")),
    ("string", "é", "é"),
    ("date", "2026-01-31", dt.date(2026, 1, 31)),
    ("timestamp", "2026-01-31 10:00:00.5", dt.datetime(2026, 1, 31, 10, 0, 0, 500000)),
]


@pytest.mark.parametrize(("kind", "text", "value"), PLAIN)
def test_what_is_common_takes_the_short_way(kind: str, text: str, value: Any) -> None:
    columns = [Column("c0", parse_type(kind)), Column("c1", parse_type("string"))]
    assert same_as_its_writer(StrictDelimitedInputWriter(), columns, f"{text},\\N\n".encode())
    assert same_as_its_writer(StrictRegexWriter("(.*),(x)?"), columns, f"{text},")
    if not isinstance(value, Decimal):
        assert same_as_its_writer(ArrowRecordWriter(), columns, {"c0": value, "c1": None})
    member = value if isinstance(value, bool | int | float) else text
    assert same_as_its_writer(StrictJsonWriter(), columns, json.dumps({"c0": member, "c1": "x"}))


class Shouting(StrictDelimitedInputWriter):
    """A record writer of somebody else, derived from one of ours."""

    def encode(self, records: Any, columns: Sequence[Column]) -> Any:
        """All in capitals."""
        return super().encode(records.upper(), columns)


def test_a_writer_of_another_class_has_no_short_way() -> None:
    columns = [Column("c0", parse_type("string"))]
    assert not SingleRecords(Shouting(), columns).take("a")
    assert SingleRecords(StrictDelimitedInputWriter(), columns).take("a")


@pytest.mark.parametrize("record", [b"\xff", 7, None, ["1"], pa.table({"c0": [1]})])
def test_what_is_no_record_goes_the_long_way(record: Any) -> None:
    columns = [Column("c0", parse_type("int"))]
    assert not SingleRecords(StrictDelimitedInputWriter(), columns).take(record)
    with pytest.raises(SerializationError):
        StrictDelimitedInputWriter().encode(record, columns).require_all()


def test_a_partition_is_taken_once_its_first_record_was_accepted() -> None:
    columns = [Column("a", parse_type("int")), Column("p", parse_type("string"))]
    singles = SingleRecords(StrictDelimitedInputWriter(), columns, 1)
    assert not singles.take("1,x")
    singles.accepted("1,x")
    assert singles.take("2,x")
    assert not singles.take("3,y")
    rows = singles.drain()
    assert rows is not None
    assert rows.to_pylist() == [{"a": 2, "p": "x"}]

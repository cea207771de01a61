"""acidsql/streaming/arrow_kinds.py"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from acidsql.model.types import parse_type
from acidsql.streaming.arrow_kinds import other_kind

WALL_CLOCK, INSTANT = pa.timestamp("us"), pa.timestamp("ns", "Europe/Berlin")
ENTRY = pa.struct([("key", pa.int8()), ("value", INSTANT)])


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.uint64(), "decimal(3,1)"),
        (pa.float16(), "int"),
        (pa.decimal256(50, 2), "double"),
        (pa.large_string(), "char(3)"),
        (pa.dictionary(pa.int8(), pa.string_view()), "varchar(3)"),
        (pa.binary(4), "binary"),
        (pa.date64(), "date"),
        (pa.bool_(), "boolean"),
        (WALL_CLOCK, "timestamp"),
        (INSTANT, "timestamp with local time zone"),
        (pa.null(), "int"),
        (pa.list_(ENTRY), "map<int,timestamp with local time zone>"),
        # What is of no kind, or of another shape, is left to the conversion.
        (pa.duration("s"), "bigint"),
        (pa.list_(pa.int8()), "struct<a:int>"),
        (pa.struct([("b", pa.int8())]), "struct<a:string>"),
        (pa.int8(), "array<string>"),
        (pa.int8(), "void"),
    ],
)
def test_the_kind_of_the_column(given: Any, kind: str) -> None:
    assert other_kind(given, parse_type(kind)) is None


@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        (pa.string(), "decimal(3,1)", "it is a text, not a number"),
        (pa.int8(), "varchar(3)", "it is a number, not a text"),
        (pa.bool_(), "tinyint", "it is true or false, not a number"),
        (pa.string_view(), "binary", "it is a text, not bytes"),
        (WALL_CLOCK, "date", "it is a time without a zone, not a date"),
        (pa.date32(), "timestamp", "it is a date, not a time without a zone"),
        (pa.run_end_encoded(pa.int32(), pa.int8()), "string", "it is a number, not a text"),
        (pa.struct([("A", pa.int8())]), "struct<a:string>", "it is a number, not a text"),
    ],
)
def test_another_kind(given: Any, kind: str, reason: str) -> None:
    assert other_kind(given, parse_type(kind)) == reason


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (INSTANT, "timestamp"),
        (WALL_CLOCK, "timestamp with local time zone"),
        (pa.list_view(INSTANT), "array<timestamp>"),
        (pa.map_(pa.int8(), WALL_CLOCK), "map<int,timestamp with local time zone>"),
        (pa.list_(ENTRY), "map<int,timestamp>"),
        (pa.list_(pa.struct([("A", INSTANT)])), "array<struct<a:timestamp>>"),
    ],
)
def test_zones_must_agree_at_any_depth(given: Any, kind: str) -> None:
    assert "zone" in str(other_kind(given, parse_type(kind)))

"""The description of an export: what a foreign or damaged one says is an error of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import CorruptFileError
from acidsql.layout.export_metadata import parse_metadata

OF_HIVE = Path(__file__).parents[2] / "data/exports/hive4/p/_metadata"


def described() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(OF_HIVE.read_text())
    return whole


def refused(text: str, why: str = "Error: ") -> None:
    with pytest.raises(CorruptFileError, match="does not describe an exported table") as caught:
        parse_metadata(text, "f")
    assert why in str(caught.value)


def test_what_hive_has_written() -> None:
    names = parse_metadata(OF_HIVE.read_text(), "f").partitions
    assert [name.items for name in names] == [
        (("d", "a b"), ("n", "1")),
        (("d", "c/d"), ("n", "2")),
    ]


def test_a_partition_that_is_listed_twice_would_double_its_rows() -> None:
    whole = described()
    refused(json.dumps({**whole, "partitions": whole["partitions"] * 2}), "listed twice")


def test_a_text_that_is_nested_too_deep() -> None:
    refused("[" * 100_000, "RecursionError")


def test_a_number_without_end() -> None:
    whole = described()
    endless = whole["table"].replace('"6":{"i32":2}', '"6":{"i32":1e999}')
    refused(json.dumps({**whole, "table": endless}), "OverflowError")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"table": 1}', '{"table": "{}"}', "null"])
def test_what_is_no_description(text: str) -> None:
    refused(text)

"""Values of older types, as Hive 4.0.1 printed them after CHANGE COLUMN."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.errors import StorageError
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.orc.evolution import current_rows
from acidsql.orc.schema import arrow_type

BIG = Decimal("12345678901234567890.123456789012345678")
CENTS = Decimal("-0.05")
TINY = Decimal("-0.000000000000000001")


def converted(old: str, new: str, values: list[Any]) -> list[Any]:
    kind = parse_type(old)
    array = pa.array(values, arrow_type(kind))
    rows = pa.StructArray.from_arrays([array], ["c"])
    columns = (Column("c", kind),), (Column("c", parse_type(new)),)
    return [row["c"] for row in current_rows(rows, *columns, "f").to_pylist()]


@pytest.mark.parametrize(
    ("old", "new", "values", "printed"),
    [
        ("int", "string", [-(2**31), 0, None], ["-2147483648", "0", None]),
        ("int", "varchar(5)", [2147483647, 16777217], ["21474", "16777"]),
        ("smallint", "char(5)", [-32768, 300], ["-3276", "300"]),
        ("int", "float", [2147483647, 16777217], [2147483648.0, 16777216.0]),
        ("bigint", "float", [2**60 + 2**36 + 1, 9007199791611905], [2.0**60, 9007199254740992.0]),
        ("bigint", "double", [2**63 - 1, 2**53 + 1], [2.0**63, 2.0**53]),
        ("int", "decimal(10,2)", [2147483647, 16777217], [None, Decimal("16777217.00")]),
        ("bigint", "decimal(20,4)", [2**63 - 1, 2**53 + 1], [None, Decimal(2**53 + 1)]),
        ("decimal(10,2)", "string", [Decimal("1.50"), CENTS, None], ["1.5", "-0.05", None]),
        ("decimal(38,18)", "varchar(40)", [TINY, BIG, Decimal(0)], [f"{TINY:f}", str(BIG), "0"]),
        ("decimal(38,18)", "char(5)", [TINY, BIG], ["-0.00", "12345"]),
        ("decimal(38,18)", "decimal(10,2)", [Decimal("1.5"), TINY, BIG], [Decimal("1.5"), 0, None]),
        ("decimal(38,18)", "double", [TINY, BIG], [-1e-18, 1.2345678901234567e19]),
        ("decimal(10,2)", "float", [CENTS], [-0.05000000074505806]),
        ("date", "varchar(9)", [-719162, 18321], ["0001-01-0", "2020-02-2"]),
        ("string", "char(5)", ["äöü€😀x", " 12 "], ["äöü€😀", " 12 "]),
        ("char(7)", "string", ["abc    ", "       "], ["abc", ""]),
        ("varchar(7)", "varchar(5)", ["äöü€😀xy", "abc "], ["äöü€😀", "abc "]),
    ],
)  # fmt: skip
def test_values_become_what_hive_makes_of_them(
    old: str, new: str, values: list[Any], printed: list[Any]
) -> None:
    assert converted(old, new, values) == printed


@pytest.mark.parametrize("old", ["double", "float", "timestamp"])
def test_texts_that_depend_on_who_reads_are_refused(old: str) -> None:
    with pytest.raises(StorageError, match='column "c" of type string cannot be read'):
        converted(old, "string", [None])

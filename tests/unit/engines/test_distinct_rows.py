"""Rows that are equal in some columns, and partitions of rows, which are told by them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.engines.distinct_rows import distinct_rows
from acidsql.engines.partition_codes import partition_codes, partition_column
from acidsql.model.names import PartitionName

Row = tuple[Any, ...]
VALUES = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.lists(st.tuples(VALUES, st.one_of(st.none(), st.sampled_from("ab")), VALUES), min_size=1)


@given(ROWS)
def test_rows_are_alike_if_all_their_values_are(rows: list[Row]) -> None:
    kinds = (pa.int64(), pa.string(), pa.int32())
    columns = [pa.array(c, k) for c, k in zip(zip(*rows, strict=True), kinds, strict=True)]
    first, groups = distinct_rows(columns)
    assert [rows[first[group]] for group in groups] == rows
    assert len(first) == len(set(rows))


def test_no_rows() -> None:
    first, groups = distinct_rows([pa.array([], pa.string())])
    assert len(first) == len(groups) == 0


def test_more_partitions_than_64_bits_can_number() -> None:
    """Seven columns of 1,024 values each: 2 to the 70th combinations."""
    names = [f"p{index}" for index in range(7)]
    values = [[str(row + index) for row in range(1024)] for index in range(7)]
    rows = pa.table({partition_column(i): column for i, column in enumerate(values)})
    codes, texts = partition_codes(rows, names)
    expected = [
        str(PartitionName.of(list(zip(names, row, strict=True))))
        for row in zip(*values, strict=True)
    ]
    assert [texts[code] for code in codes] == expected

"""Delimited text is split by Arrow as it is in Python, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from acidsql.streaming import field_columns
from acidsql.streaming.field_columns import split_fields

ODD = ["", " ", "\\N", "\\n", '"', '"a', "'", "\\", "\r", "\x00", "\ufeff", "é", "NULL", "nan", "#"]
LINES = st.lists(
    st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=3)), min_size=1, max_size=3),
    min_size=1,
    max_size=5,
)


@pytest.fixture(autouse=True, scope="module")
def of_any_length() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_columns, "_LEAST_BYTES", 1)
        yield


def in_python(lines: bytes, delimiter: str) -> list[list[str | None]]:
    split = lines.decode().removesuffix("\n").split("\n")
    return [[None if f == "\\N" else f for f in line.split(delimiter)] for line in split]


@given(LINES, st.sampled_from(',;\t|\x01 ^\x00"\\\r'), st.booleans(), st.integers(1, 3))
@example([['"a', 'b"'], ["c", "d"]], ",", True, 2)
@example([[""], ["a"], [""]], ",", True, 1)
@example([["a", "b"], [""], ["c", "d"]], ",", True, 2)
def test_columns_are_those_of_python(
    lines: list[list[str]], delimiter: str, ends: bool, columns: int
) -> None:
    text = "\n".join(delimiter.join(fields) for fields in lines).encode() + b"\n" * ends
    found = split_fields(text, delimiter, columns)
    if found is None:
        return
    rows = [list(row) for row in zip(*(column.to_pylist() for column in found), strict=True)]
    assert rows == in_python(text, delimiter)


def test_common_lines_are_split() -> None:
    found = split_fields(b"1,a,\\N\n2,,x\n", ",", 3)
    assert found is not None
    assert [column.to_pylist() for column in found] == [["1", "2"], ["a", ""], [None, "x"]]


@pytest.mark.parametrize(
    "text", [b"1,a\r\n", b"\xef\xbb\xbf1,a\n", b"\xff,a\n", b"1\n", b"1,2,3\n"]
)
def test_what_python_must_split(text: bytes) -> None:
    assert split_fields(text, ",", 2) is None

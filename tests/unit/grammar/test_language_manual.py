"""docs/language-manual.md says what the parser does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.grammar.parse import parse

PAGE = Path(__file__).parents[3] / "docs" / "language-manual.md"
ROW = re.compile(r"^\| .+? \| `(.+?)` \| (yes|no)\b", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text())


def test_every_row_of_the_page_is_looked_at() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = [line for line in lines if line.startswith(("| statement |", "| --- |"))]
    assert len(ROWS) == len(lines) - len(heads) > 100


@pytest.mark.parametrize(("sql", "answer"), ROWS, ids=[sql for sql, _ in ROWS])
def test_an_example_is_understood_or_refused_with_a_hint(sql: str, answer: str) -> None:
    if answer == "yes":
        parse(sql)
        return
    with pytest.raises(UnsupportedStatementError) as caught:
        parse(sql)
    assert caught.value.hint

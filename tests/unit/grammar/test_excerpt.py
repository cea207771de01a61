"""acidsql/grammar/excerpt.py"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.grammar.excerpt import WIDTH, excerpt


@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        ("SELECT a\n  FROM t\n WHERE", (2, 8), "  FROM t\n       ^"),
        ("SELECT\ta b", (1, 10), "  SELECT a b\n           ^"),
        ("SELECT 表表, b", (1, 12), "  SELECT 表表, b\n               ^"),
        ("UPDATE a SET v = ", (1, 18), "  UPDATE a SET v =\n                   ^"),
        ("SELECT a", (9, 9), "  SELECT a\n          ^"),
        ("", (1, 1), "  \n  ^"),
    ],
)
def test_the_caret_stands_below_the_place(text: str, place: tuple[int, int], shown: str) -> None:
    assert excerpt(text, *place) == shown


def test_lines_are_those_of_the_script() -> None:
    """The statement begins at 7:5, behind another one; only its first line is moved by that."""
    assert excerpt("SELECT a,\nb FORM t", 7, 12, 7, 5) == "  SELECT a,\n         ^"
    assert excerpt("SELECT a,\nb FORM t", 8, 3, 7, 5) == "  b FORM t\n    ^"


@pytest.mark.parametrize("column", [1, 8, 4000, 8001])
def test_a_long_line_is_cut_around_the_place(column: int) -> None:
    line, caret = excerpt("a123456+" * 1000, 1, column).splitlines()
    assert len(line) <= WIDTH + 2
    assert column > 8000 or line[caret.index("^")] == ("a123456+" * 1000)[column - 1]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, 'hush' FORM t",
        "SELECT a FORM t -- hush",
        "SELECT a /* hush */ FORM t",
        "SELECT a, r'hush' FORM t",
        'SELECT a, "hush" FORM t',
        "SELECT /*+ hush */ a FORM t",
        "SELECT a 'x\nhush' FORM t",
        "SELECT a FORM t WHERE a = 'hush",
        "SET fs.secret.key = hush; SELECT 'a",
        "SET a = x hush y",
        "EXPLAIN FORMATTED SET fs.secret.key = hush",
    ],
)
def test_strings_and_comments_may_hold_secrets_and_are_left_out(text: str) -> None:
    for line in range(1, text.count("\n") + 2):
        for column in (1, 5, 10, 15, 30):
            assert "hush" not in excerpt(text, line, column)


@given(st.text("a.'`\"/*+-\n\t\x1b表é\u202e"), st.integers(1, 5), st.integers(1, 60))
def test_any_text_gives_two_lines_without_control_characters(
    text: str, line: int, column: int
) -> None:
    shown, caret = excerpt(text, line, column).split("\n")
    assert caret.strip() == "^"
    assert not set(shown) & set("\x1b\u202e\t")

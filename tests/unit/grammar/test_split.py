"""Scripts are cut where Spark would cut them, and every place is exact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.split import ScriptStatement, split

PIECES = [
    "SELECT",
    " ",
    "\n",
    "a",
    "1.5",
    "'x;y'",
    "'it\\'s;'",
    "'a''b'",
    '"q;\'"',
    "`b;``'`",
    "-- note; 'open\n",
    "/* c; /* inner; */ ' */",
    "/*+ HINT(a) */",
    "r'\\'",
    "(",
    ")",
    "é",
    "::",
    "-",
    "/",
    "*",
]
CODE = ["SELECT", "a", "1.5", "'x;y'", "`b;``'`", "r'\\'", "é"]

statements = st.builds(
    lambda first, rest: first + " " + " ".join(rest) + "\n",
    st.sampled_from(CODE),
    st.lists(st.sampled_from(PIECES), max_size=8),
)


@given(st.lists(statements, max_size=5))
def test_joined_statements_split_back(texts: list[str]) -> None:
    found = list(split(";".join(texts)))
    assert [s.text for s in found] == [text.strip() for text in texts]


@given(st.lists(statements, max_size=5))
def test_a_statement_stands_where_it_says(texts: list[str]) -> None:
    script = " ;\n ".join(texts)
    lines = script.split("\n")
    for statement in split(script):
        rest = "\n".join(
            [lines[statement.line - 1][statement.column - 1 :], *lines[statement.line :]]
        )
        assert rest.startswith(statement.text)


def test_empty_statements_vanish() -> None:
    assert list(split(" ;; -- only a comment;\n ; /* and ; another */ ;")) == []


def test_comments_stay_with_their_statement() -> None:
    assert list(split("-- first\nUSE a -- why;\n;\n  USE b")) == [
        ScriptStatement("-- first\nUSE a -- why;", 1, 1),
        ScriptStatement("USE b", 4, 3),
    ]


def test_a_comment_goes_on_after_a_backslash_at_the_end_of_its_line() -> None:
    assert [s.text for s in split("SELECT 1 -- a \\\n; b\n; SELECT 2")] == [
        "SELECT 1 -- a \\\n; b",
        "SELECT 2",
    ]


@pytest.mark.parametrize(
    ("script", "message", "line", "column"),
    [
        ("USE a;\n SELECT 'x; \n y", "unclosed string", 2, 9),
        ('USE a; SELECT "x;', "unclosed string", 1, 15),
        ("USE a;\nSELECT `x;", "unclosed back quote", 2, 8),
        ("USE a;\n\n/* /* */ SELECT 1;", "unclosed comment", 3, 1),
        ("USE a; SELECT /*+ x", "unclosed hint", 1, 15),
    ],
)
def test_statements_before_a_broken_one_come_first(
    script: str, message: str, line: int, column: int
) -> None:
    found = split(script)
    assert next(found).text == "USE a"
    with pytest.raises(SqlSyntaxError, match=message) as caught:
        next(found)
    assert (caught.value.line, caught.value.column) == (line, column)

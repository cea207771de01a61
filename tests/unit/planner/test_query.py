"""acidsql/planner/query.py"""

from __future__ import annotations

import pytest

from acidsql.grammar.parse import parse
from acidsql.planner.query import names_columns
from acidsql.statements.query import Query


@pytest.mark.parametrize(
    ("text", "count", "named"),
    [
        ("SELECT a, b AS c, s.x, 'd', 1 + 1 FROM u", 5, (True, True, True, False, False)),
        ("SELECT 'a', *, 'b' AS b FROM u", 4, (False, None, None, True)),
        ("SELECT 'a', u.*, 'b', v.*, c, 'd' FROM u, v", 7, (False, *[None] * 4, True, False)),
        ("SELECT * FROM u", 3, (None, None, None)),
        ("SELECT 'a', b UNION ALL SELECT c, d FROM u", 2, (False, True)),
        ("(SELECT 'a' AS a, 'b')", 2, (True, False)),
        ("WITH q AS (SELECT 'a') SELECT 'b' FROM q", 1, (False,)),
        # Some items stand for several columns: nothing is sure.
        ("SELECT posexplode(x) AS (a, b), 'c' FROM u", 3, (None, None, None)),
        ("SELECT inline(x), 'c' FROM u", 3, (None, None, None)),
        ("TABLE u", 2, (None, None)),
    ],
)
def test_columns_that_the_text_names(text: str, count: int, named: tuple[bool | None, ...]) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    assert names_columns(query.source, count) == named

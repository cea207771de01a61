"""acidsql/planner/query_names.py"""

from __future__ import annotations

import pytest

from acidsql.grammar.parse import parse
from acidsql.planner.query_names import names_columns
from acidsql.statements.fragment import Fragment
from acidsql.statements.query import Query


@pytest.mark.parametrize(
    ("text", "count", "named"),
    [
        ("SELECT a, b AS c, s.x, 'd', 1 + 1 FROM u", 5, (True, True, True, False, False)),
        ("SELECT 'a', *, 'b' AS b FROM u", 4, (False, True, True, True)),
        ("SELECT 'a', u.*, 'b', v.*, c, 'd' FROM u, v", 7, (False, *[None] * 4, True, False)),
        ("SELECT * FROM u", 3, (True, True, True)),
        ("SELECT u.*, 1, v.* EXCEPT (a) FROM u JOIN v USING (b)", 5, (None,) * 5),
        ("SELECT * FROM u LEFT SEMI JOIN (SELECT 1) USING (b)", 1, (True,)),
        ("SELECT *, 2 FROM (SELECT 'a', b AS `b-b` FROM u) v", 3, (False, True, False)),
        ("SELECT v.* FROM u, (SELECT w.*, 'a' FROM w) AS v", 3, (True, True, False)),
        ("SELECT * FROM (SELECT 'a', b FROM u) JOIN w USING (b)", 3, (None,) * 3),
        ("SELECT * FROM u, LATERAL (SELECT a + 1)", 3, (True, True, False)),
        ("SELECT * FROM VALUES ('a', 1) AS v(`b-b`, `2`), (SELECT 1) AS w(x)", 3, (True,) * 3),
        ("SELECT * FROM explode(array(1))", 1, (None,)),
        ("SELECT * FROM u LATERAL VIEW explode(a) v AS `b-b`", 2, (True, True)),
        ("SELECT s.* FROM u", 2, (None, None)),
        ("WITH q AS (SELECT a, 'b' FROM u) SELECT q.*, 1 FROM q", 3, (True, False, False)),
        ("WITH q(`b-b`) AS (SELECT 'a') SELECT * FROM q", 1, (True,)),
        ("WITH RECURSIVE q AS (SELECT 1 UNION ALL SELECT * FROM q) SELECT * FROM q", 1, (False,)),
        ("WITH RECURSIVE q AS (SELECT * FROM q) SELECT * FROM q", 1, (None,)),
        ("SELECT * FROM u PIVOT (sum(a) FOR b IN (2026, 'c' AS d))", 3, (True,) * 3),
        ("SELECT * FROM u PIVOT (sum(a) s, max(a) AS m FOR b IN (2026))", 3, (True,) * 3),
        ("SELECT * FROM u PIVOT (sum(a), max(a) AS m FOR b IN (2026))", 3, (None,) * 3),
        ("SELECT * FROM u PIVOT (sum(a) FOR b IN (1 + 1))", 2, (None,) * 2),
        ("SELECT * FROM (SELECT 1, a FROM u) PIVOT (sum(a) FOR b IN (2))", 2, (None,) * 2),
        ("SELECT * FROM u UNPIVOT (a FOR b IN (`c-c`, d))", 3, (True,) * 3),
        ("SELECT 'a', b UNION ALL SELECT c, d FROM u", 2, (False, True)),
        ("(SELECT 'a' AS a, 'b')", 2, (True, False)),
        ("WITH q AS (SELECT 'a') SELECT 'b' FROM q", 1, (False,)),
        # Some items stand for several columns: nothing is sure.
        ("SELECT posexplode(x) AS (a, b), 'c' FROM u", 3, (None, None, None)),
        ("SELECT inline(x), 'c' FROM u", 3, (None, None, None)),
        ("TABLE u", 2, (True, True)),
        ("VALUES (1, 2)", 2, (None, None)),
    ],
)
def test_columns_that_the_text_names(text: str, count: int, named: tuple[bool | None, ...]) -> None:
    assert names_columns(_source(text), count) == named


@pytest.mark.parametrize(
    ("text", "count", "named"),
    [
        ("SELECT u.*, 'b', v.*, 'd' FROM u, v", 7, (True, True, False, True, True, True, False)),
        ("SELECT *, 1, w.* FROM u, w", 5, (True, True, None, None, None)),
        ("SELECT v.*, 'a', w.* FROM v, w", 6, (True, True, True, False, True, True)),
        ("SELECT s.v.*, 'b' FROM v", 3, (True, True, False)),
        (
            "WITH u AS (SELECT 1) SELECT u.*, 'b', v.* FROM u, v",
            5,
            (False, False, True, True, True),
        ),
        ("SELECT u.*, 'b', v.* FROM u, v", 5, (None,) * 5),
    ],
)
def test_stars_between_which_something_stands(
    text: str, count: int, named: tuple[bool | None, ...]
) -> None:
    source = _source(text)
    known = {"u": 2, "v": 3}
    widths = {ref.start: known[ref.table] for ref in source.tables if ref.table in known}
    assert names_columns(source, count, widths) == named


def _source(text: str) -> Fragment:
    query = parse(text)
    assert isinstance(query, Query)
    return query.source

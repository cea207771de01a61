"""acidsql/planner/evolution.py"""

from __future__ import annotations

import pytest

from acidsql.grammar.parse import parse
from acidsql.planner.evolution import brings_columns, named_columns, unnamed_columns
from acidsql.statements.fragment import Fragment
from acidsql.statements.insert import Insert
from acidsql.statements.merge import Merge


def _insert(source: str) -> Insert:
    statement = parse(f"INSERT WITH SCHEMA EVOLUTION INTO t BY NAME {source}")
    assert isinstance(statement, Insert)
    return statement


@pytest.mark.parametrize(
    ("source", "count", "unnamed"),
    [
        ("SELECT a, b AS c, s.x, 'd', 1 + 1 FROM u", 5, {3, 4}),
        ("SELECT 'a', *, 'b' FROM u", 7, {0, 6}),
        ("SELECT 'a', u.*, 'b', v.*, c, 'd' FROM u, v", 9, {0, 8}),
        ("SELECT * FROM u", 3, set()),
        ("SELECT 'a', b UNION ALL SELECT c, d FROM u", 2, {0}),
        ("(SELECT 'a' AS a, 'b')", 2, {1}),
        ("WITH q AS (SELECT 'a') SELECT 'b' FROM q", 1, {0}),
        # Some items stand for several columns: nothing is sure.
        ("SELECT posexplode(x) AS (a, b), 'c' FROM u", 3, set()),
        ("SELECT inline(x), 'c' FROM u", 3, set()),
        ("TABLE u", 2, set()),
    ],
)
def test_columns_without_a_name(source: str, count: int, unnamed: set[int]):
    found = _insert(source).source
    assert isinstance(found, Fragment)
    assert unnamed_columns(found, count) == unnamed


def test_values_bring_no_columns():
    assert not brings_columns(_insert("VALUES (1, 2)"))
    assert brings_columns(_insert("SELECT * FROM VALUES (1, 2)"))


def test_columns_that_clauses_name():
    statement = parse(
        "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON t.k = s.k"
        " WHEN MATCHED AND s.d THEN DELETE WHEN MATCHED THEN UPDATE SET a = 1, t.b = 2, c.x = 3"
        " WHEN NOT MATCHED AND s.d THEN INSERT (k, e) VALUES (1, 2)"
        " WHEN NOT MATCHED THEN INSERT VALUES (1)"
        " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET f = 4"
    )
    assert isinstance(statement, Merge)
    assert [identifier.name for identifier in named_columns(statement)] == ["a", "b", "k", "e", "f"]

"""acidsql/planner/evolution.py"""

from __future__ import annotations

from acidsql.grammar.parse import parse
from acidsql.planner.evolution import brings_columns, named_columns
from acidsql.statements.insert import Insert
from acidsql.statements.merge import Merge


def _insert(source: str) -> Insert:
    statement = parse(f"INSERT WITH SCHEMA EVOLUTION INTO t BY NAME {source}")
    assert isinstance(statement, Insert)
    return statement


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

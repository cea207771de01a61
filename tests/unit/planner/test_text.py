"""A fragment's text reaches Spark as it was written, whatever is in it."""

from __future__ import annotations

from acidsql.grammar.parse import parse
from acidsql.planner.text import Lowering
from acidsql.statements import Query
from grammar_tests.planning import DeclaredNames


def test_a_text_may_hold_any_character() -> None:
    names = DeclaredNames.of(["t (s string)"])
    sql = "SELECT 'a\x00', '\x01' FROM t WHERE s = '\x00\ue000'"
    query = parse(sql)
    assert isinstance(query, Query)
    lowered = Lowering(names, {}).text(query.source)
    assert [str(s) for s in lowered.sources] == ["default.t"]
    assert str(lowered) == sql.replace("FROM t", "FROM default.t AS `t`")

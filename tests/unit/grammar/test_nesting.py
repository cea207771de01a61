"""acidsql/grammar/nesting.py"""

from __future__ import annotations

import sys
import threading

import pytest

from acidsql.errors import SqlSyntaxError, UnsupportedStatementError
from acidsql.grammar.nesting import NESTING_MAX, on_deep_stack
from acidsql.grammar.parse import parse

FORMS = {
    "parentheses": ("(", "1", ")"),
    "cases": ("CASE WHEN a THEN ", "1", " ELSE 0 END"),
    "calls": ("f(", "1", ")"),
    "casts": ("CAST(", "1", " AS int)"),
    "subqueries": ("(SELECT ", "1", ")"),
    "sources": ("(SELECT * FROM ", "t", ")"),
    "indexes": ("a[", "1", "]"),
}


@pytest.mark.parametrize("form", FORMS)
def test_statements_may_be_nested_so_deep_and_no_deeper(form: str) -> None:
    before, inside, after = FORMS[form]
    limit = sys.getrecursionlimit()
    of_table = ("SELECT * FROM {}",)
    of_value = ("SELECT {}", "UPDATE t SET a = {}")
    for statement in of_table if form == "sources" else of_value:
        parse(statement.format(before * NESTING_MAX + inside + after * NESTING_MAX))
        deeper = NESTING_MAX + 1
        with pytest.raises(SqlSyntaxError, match="nested more than 500 deep"):
            parse(statement.format(before * deeper + inside + after * deeper))
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("text", ["SELECT " + "NOT " * 9000 + "a", "SELECT " + "- " * 15000 + "1"])
def test_what_is_too_deep_in_another_way_is_refused_too(text: str) -> None:
    with pytest.raises(SqlSyntaxError, match="nested too deeply"):
        parse(text)


def test_many_parentheses_beside_each_other_are_not_deep() -> None:
    parse("SELECT " + " + ".join(["(a)"] * 2000))
    parse("SELECT " + " + ".join(["CASE WHEN a THEN 1 END"] * 600) + ", a.end, `case`")


def test_a_type_is_nested_100_deep_at_most() -> None:
    parse("CREATE TABLE t (a " + "array<" * 100 + "int" + ">" * 100 + ")")
    with pytest.raises(UnsupportedStatementError, match="nested at most 100 deep"):
        parse("CREATE TABLE t (a " + "array<" * 5000 + "int" + ">" * 5000 + ")")


def test_threads_share_the_limit_and_the_last_one_lowers_it() -> None:
    limit = sys.getrecursionlimit()
    first_is_in, second_is_done = threading.Event(), threading.Event()

    def first() -> int:
        first_is_in.set()
        assert second_is_done.wait(10)
        return sys.getrecursionlimit()

    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(on_deep_stack(first)))
    thread.start()
    assert first_is_in.wait(10)
    assert on_deep_stack(sys.getrecursionlimit) > limit
    second_is_done.set()
    thread.join()
    assert seen[0] > limit
    assert sys.getrecursionlimit() == limit

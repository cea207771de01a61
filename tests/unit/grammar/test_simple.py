"""acidsql/grammar/simple.py: the trees are those that sqlglot makes"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from acidsql.grammar.dialect import SPECIAL_WORDS, PlacedParseError, parse_expression_tree
from acidsql.grammar.lexer import lex
from acidsql.grammar.simple import simple_tree

WORDS = st.sampled_from(sorted(word for word in SPECIAL_WORDS if word.isidentifier()))
NAMES = st.one_of(st.sampled_from(["a", "Qty", "_x1", "s"]), WORDS)
OPERANDS = st.one_of(
    NAMES,
    st.tuples(NAMES, NAMES).map(".".join),
    st.sampled_from(["1", "2.50", "'x'", '"y z"', "null", "TRUE", "false", "''"]),
)
COMPARISONS = st.tuples(
    OPERANDS, st.sampled_from(["=", "==", "<", "<=", ">", ">=", "<>"]), OPERANDS
).map(" ".join)


def places(tree: exp.Expr) -> list[tuple[int, int]]:
    return [(n.meta["start"], n.meta["end"]) for n in tree.find_all(exp.Identifier)]


@given(
    st.one_of(OPERANDS, st.lists(COMPARISONS, min_size=1, max_size=4).map(" AND ".join)),
    st.integers(0, 5),
)
def test_a_simple_tree_is_that_of_sqlglot(text: str, before: int) -> None:
    tokens = [t._replace(start=t.start + before, end=t.end + before) for t in lex(text)]
    tree = simple_tree(tokens, before)
    if tree is None:
        return
    assert tree == parse_expression_tree(text)
    assert places(tree) == places(parse_expression_tree(text))


@pytest.mark.parametrize(
    "text",
    ["a", "t.a", "1", "'x'", "t.a = s.b", "a = 1 AND t.b <> 'x' AND c >= 2.5", "a == NULL"],
)
def test_simple(text: str) -> None:
    assert simple_tree(list(lex(text)), 0) == parse_expression_tree(text)


OTHERS = """a AND b|a = 1 OR b = 2|a = = 1|a < > 1|a => b|a <=> b|a = 1 AND|a =|-1|current_date|f(a)
a.b.c|'a\\nb'|r'x'|1L|a = b = c|AND|`a`|?|a <|AND a = 1|a = 1 AND AND b = 2|1 a|a b c"""


@pytest.mark.parametrize("text", OTHERS.replace("\n", "|").split("|"))
def test_others_are_left_to_sqlglot(text: str) -> None:
    assert simple_tree(list(lex(text)), 0) is None


def test_special_words_are_no_names() -> None:
    for word in ("CURRENT_DATE", "CASE", "INTERVAL", "current_timestamp", "NOT", "EXISTS"):
        assert simple_tree(list(lex(word)), 0) is None
    with pytest.raises(PlacedParseError):
        parse_expression_tree("CASE")

"""acidsql/grammar/simple.py: the trees are those that sqlglot makes"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from acidsql.grammar.dialect import SPECIAL_WORDS, PlacedParseError, parse_expression_tree
from acidsql.grammar.lexer import lex
from acidsql.grammar.simple import _CALLS, simple_tree

WORDS = st.sampled_from(sorted(word for word in SPECIAL_WORDS if word.isidentifier()))
NAMES = st.one_of(st.sampled_from(["a", "Qty", "_x1", "s"]), WORDS)
PLAIN = st.one_of(
    NAMES,
    st.tuples(NAMES, NAMES).map(".".join),
    st.sampled_from(["1", "2.50", "'x'", '"y z"', "null", "TRUE", "false", "''"]),
)
FUNCTIONS = st.sampled_from([*sorted(_CALLS), "Coalesce", "trim", "f"])
OPERANDS = st.recursive(
    PLAIN,
    lambda inside: st.tuples(FUNCTIONS, st.lists(inside, max_size=3)).map(
        lambda call: f"{call[0]}({', '.join(call[1])})"
    ),
    max_leaves=4,
)
COMPARISONS = st.tuples(
    OPERANDS, st.sampled_from(["=", "==", "<", "<=", ">", ">=", "<>"]), OPERANDS
).map(" ".join)


def places(tree: exp.Expr) -> list[tuple[str, int | None, int | None]]:
    nodes = tree.find_all(exp.Identifier, exp.Func)
    return [(type(n).__name__, n.meta.get("start"), n.meta.get("end")) for n in nodes]


@given(
    st.one_of(OPERANDS, st.lists(COMPARISONS, min_size=1, max_size=4).map(" AND ".join)),
    st.integers(0, 5),
)
def test_a_simple_tree_is_that_of_sqlglot(text: str, before: int) -> None:
    tokens = [t._replace(start=t.start + before, end=t.end + before) for t in lex(text)]
    tree = simple_tree(tokens, before)
    if tree is None:
        return
    try:
        expected = parse_expression_tree(text)
    except PlacedParseError as error:
        raise AssertionError(f"sqlglot refuses {text}") from error
    assert tree == expected
    assert places(tree) == places(expected)


@pytest.mark.parametrize(
    "text",
    [
        *("a", "t.a", "1", "'x'", "t.a = s.b", "a = 1 AND t.b <> 'x' AND c >= 2.5", "a == NULL"),
        *("coalesce(s.a, t.a, 'x')", "Upper(trim(a)) = lower(b)", "NVL(a, 1)", "current_date()"),
        *("concat(a, 'x', t.b)", "abs(length(a))", "current_timestamp()"),
    ],
)
def test_simple(text: str) -> None:
    assert simple_tree(list(lex(text)), 0) == parse_expression_tree(text)


OTHERS = """upper(a, b)|upper()|coalesce(a b)|trim(BOTH a)|coalesce(a,)|nvl(a)|upper(a) + 1
f(upper(a))|abs(a)(b)|a.upper(b)|concat(DISTINCT a)|coalesce((a), b)|upper(a) AND b|upper(a = 1)
a AND b|a = 1 OR b = 2|a = = 1|a < > 1|a => b|a <=> b|a = 1 AND|a =|-1|current_date|f(a)
a.b.c|'a\\nb'|r'x'|1L|a = b = c|AND|`a`|?|a <|AND a = 1|a = 1 AND AND b = 2|1 a|a b c"""


@pytest.mark.parametrize("text", OTHERS.replace("\n", "|").split("|"))
def test_others_are_left_to_sqlglot(text: str) -> None:
    assert simple_tree(list(lex(text)), 0) is None


def test_special_words_are_no_names() -> None:
    for word in ("CURRENT_DATE", "CASE", "INTERVAL", "current_timestamp", "NOT", "EXISTS"):
        assert simple_tree(list(lex(word)), 0) is None
    with pytest.raises(PlacedParseError):
        parse_expression_tree("CASE")

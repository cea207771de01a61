"""EXPLAIN: the words between it and the statement. acidsql's plans have one form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # It loads sqlglot, which `excerpt` has no need of.
    from acidsql.grammar.cursor import Cursor

_FORMS = (
    *("EXTENDED", "FORMATTED", "CODEGEN", "COST", "JOINCOST", "CBO", "AST", "LOGICAL", "REWRITE"),
    *("REOPTIMIZATION", "DEBUG", "DDL", "DEPENDENCY", "AUTHORIZATION", "ANALYZE"),
    *("VECTORIZATION", "ONLY", "SUMMARY", "OPERATOR", "EXPRESSION", "DETAIL"),
)
"""Words of Hive and Spark that ask for another form of the plan, or for more beside it."""


EXPLAIN_WORDS = frozenset({"EXPLAIN", "LOCKS", *_FORMS})
"""All words that may stand before the statement."""


def parse_explain_words(cursor: Cursor) -> tuple[bool, tuple[str, ...]]:
    """Step over EXPLAIN and the words before the statement.

    Whether LOCKS is one of them, and the words that change nothing.
    """
    cursor.expect("EXPLAIN")
    locks, ignored = False, []
    while True:
        if cursor.accept("LOCKS"):
            locks = True
        elif cursor.sees_any(*_FORMS) and not cursor.sees("ANALYZE", "TABLE"):
            ignored.append(cursor.step().text.upper())
        else:
            return locks, tuple(ignored)

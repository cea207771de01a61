"""Functions that may be called without parentheses, such as ``current_date``."""

from __future__ import annotations

from acidsql.grammar.lexer import UnclosedError, lex

_FUNCTIONS = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER"})
"""Those that sqlglot does not take for columns."""


def called(text: str) -> str:
    """An expression with parentheses behind each function that it calls without.

    Spark would take the bare word for a column if one of that name is there. A text with an
    unclosed quote or comment comes back as it is, for Spark to refuse.

    >>> called("d <= current_date AND t.current_date < `current_date`")
    'd <= current_date() AND t.current_date < `current_date`'
    """
    if not any(name in text.upper() for name in _FUNCTIONS):
        return text
    try:
        tokens = list(lex(text))
    except UnclosedError:
        return text
    before = ["", *(token.text for token in tokens)]
    after = [*(token.text for token in tokens[1:]), ""]
    pieces, at = [], 0
    for token, previous, following in zip(tokens, before, after, strict=False):
        if token.word in _FUNCTIONS and previous != "." and following not in ("(", "."):
            pieces += [text[at : token.end], "()"]
            at = token.end
    return "".join([*pieces, text[at:]])

"""Quotes inside of texts.

Spark takes ``'it''s'`` for one text, with a quote in it. Hive takes it for the texts ``it`` and
``s``, which it puts together.
"""

from __future__ import annotations

from itertools import pairwise

from acidsql.grammar.lexer import Kind, lex

_QUOTES = ("'", '"')


def escaped_quotes(text: str) -> str:
    """The text of a query or an expression with a backslash and a quote for each doubled quote.

    Both engines read that alike.
    """
    if not any(quote * 2 in text for quote in _QUOTES):
        return text
    pieces, at = [], 0
    # The lexer takes 'it''s' for two texts, one right behind the other.
    for one, other in pairwise(lex(text)):
        quote = other.text[:1]
        is_doubled = one.end == other.start and one.text[:1] == quote in _QUOTES
        if is_doubled and one.kind is other.kind is Kind.STRING:
            pieces += [text[at : one.end - 1], f"\\{quote}"]
            at = other.start + 1
    return "".join([*pieces, text[at:]])

"""Quotes inside of texts.

Spark takes ``'it''s'`` for one text, with a quote in it. Hive takes it for the texts ``it`` and
``s``, which it puts together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from acidsql.grammar.lexer import Kind, lex

_QUOTES = ("'", '"')


def escaped_quotes(text: str) -> str:
    """The text of a query or an expression with a backslash and a quote for each doubled quote.

    Hive reads it as Spark reads ``text``.
    """
    return _without_doubled(text, lambda quote: f"\\{quote}")


def parted_quotes(text: str) -> str:
    """The text of a query or an expression with a space between doubled quotes.

    Spark reads it as Hive reads ``text``: as two texts that are put together.
    """
    return _without_doubled(text, lambda quote: f"{quote} {quote}")


def _without_doubled(text: str, instead: Callable[[str], str]) -> str:
    """The text with something ``instead`` of each doubled quote inside of a text."""
    if not any(quote * 2 in text for quote in _QUOTES):
        return text
    pieces, at = [], 0
    # The lexer takes 'it''s' for two texts, one right behind the other.
    for one, other in pairwise(lex(text)):
        quote = other.text[:1]
        is_doubled = one.end == other.start and one.text[:1] == quote in _QUOTES
        if is_doubled and one.kind is other.kind is Kind.STRING:
            pieces += [text[at : one.end - 1], instead(quote)]
            at = other.start + 1
    return "".join([*pieces, text[at:]])

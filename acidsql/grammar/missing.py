"""Pieces that a statement lacks: a value before AND, a table behind FROM, a parenthesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from acidsql.grammar.lexer import Kind, Source, Token
from acidsql.grammar.near import name_hint

_WANTED = {
    **dict.fromkeys(("FROM", "JOIN"), "a table"),
    **dict.fromkeys(("UNION", "INTERSECT", "EXCEPT", "MINUS"), "a query"),
    **dict.fromkeys(("SELECT", "DISTINCT", "WHERE", "HAVING", "QUALIFY", "ON", "BY"), "a value"),
    **dict.fromkeys(("AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "BETWEEN", "LIKE"), "a value"),
    **dict.fromkeys(("ILIKE", "RLIKE", "LIMIT", "OFFSET", "IN"), "a value"),
    **dict.fromkeys(("=", "<", ">", "+", "-", "/", "%", ",", "|", "&", "^"), "a value"),
    "AS": "a name",
}
"""A keyword or symbol → what must stand behind it."""
_ENDS = frozenset(
    {"", ")", ",", "]", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "AND", "OR", "THEN"}
    | {"ELSE", "WHEN", "END", "ON", "JOIN", "UNION", "INTERSECT", "EXCEPT", "INNER", "CROSS", ";"}
)
"""Keywords and symbols that can never be what must stand there; "" is the end."""
_PARTNERS = {"(": ")", "[": "]", "CASE": "END"}
_CLOSERS = frozenset(")]")


def refuse_missing(source: Source, at: int, end: int) -> None:
    """Raise SqlSyntaxError for the first place where a value, table or query is missing.

    ``at`` and ``end`` are indexes in the source's tokens. The token before them is looked at, too.
    """
    tokens = source.tokens
    for index in range(max(at - 1, 0), end):
        if index and tokens[index - 1].text in (".", ":"):
            continue
        word, after = _text(tokens, index), index + 1
        if word == "IN" and _text(tokens, after) == "(":
            after += 1
        wanted, follows = _WANTED.get(word), _text(tokens, after)
        is_end = follows in _ENDS or _begins_insert(tokens, after)
        if wanted is None or not is_end or _means_another(tokens, index, follows):
            continue
        _refuse_at(source, after, wanted)


def _refuse_at(source: Source, index: int, wanted: str) -> NoReturn:
    tokens = source.tokens
    before = tokens[index - 1]
    is_end = _text(tokens, index) in ("", ";")
    found = "the end of the text" if is_end else f'"{tokens[index].text}"'
    place = tokens[index].start if index < len(tokens) else before.end
    hint = name_hint(tokens, index)
    source.syntax_error(f'expected {wanted} after "{before.text}", found {found}', place, hint=hint)


def refuse_unbalanced(source: Source, tokens: Sequence[Token]) -> None:
    """Raise SqlSyntaxError for a parenthesis, bracket or CASE that has no partner, at its place."""
    opened: list[Token] = []
    for token in tokens:
        text = token.text if token.kind is Kind.SYMBOL else token.word
        if text in _PARTNERS:
            opened.append(token)
        elif text == "END":
            if opened and opened[-1].word == "CASE":
                opened.pop()
        elif text in _CLOSERS:
            if not opened:
                source.syntax_error(f'unmatched "{text}"', token.start)
            partner = _PARTNERS[opened[-1].text.upper()]
            if partner != text:
                _refuse_open(source, opened[-1])
            opened.pop()
    if opened:
        _refuse_open(source, opened[-1])


def _refuse_open(source: Source, token: Token) -> NoReturn:
    what = "CASE without END" if token.word else f'unclosed "{token.text}"'
    source.syntax_error(what, token.start)


def _means_another(tokens: Sequence[Token], index: int, follows: str) -> bool:
    """Whether DISTINCT belongs to ``a IS [NOT] DISTINCT FROM b``."""
    before = _text(tokens, index - 1) if index else ""
    return (_text(tokens, index), follows) == ("DISTINCT", "FROM") and before in ("IS", "NOT")


def _begins_insert(tokens: Sequence[Token], index: int) -> bool:
    """Whether a further INSERT of ``FROM … INSERT … INSERT …`` is next."""
    words = _text(tokens, index), _text(tokens, index + 1)
    return words in (("INSERT", "INTO"), ("INSERT", "OVERWRITE"))


def _text(tokens: Sequence[Token], index: int) -> str:
    """A keyword in upper case or a symbol; "" beyond the end, "x" for any other token."""
    if index >= len(tokens):
        return ""
    token = tokens[index]
    return token.text.upper() if token.kind in (Kind.WORD, Kind.SYMBOL) else "x"

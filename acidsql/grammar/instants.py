"""Hive's words for an instant → Spark's ``TIMESTAMP_LTZ``, which is shorter and takes their place.

They are ``TIMESTAMPLOCALTZ '…'``, the types ``timestamp with local time zone`` and, in a CAST,
``timestamplocaltz``. `hive_words` asks for Hive's words back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from acidsql.grammar.casts import cast_places
from acidsql.grammar.escapes import string_value
from acidsql.grammar.lexer import Kind, Source, Token, lex

_WORD = "TIMESTAMP_LTZ"
_HIVE = "TIMESTAMPLOCALTZ"
_LONG = ["TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE"]
_TYPE = "timestamp with local time zone"
_HINTS = re.compile(r"timestamplocaltz|\blocal\b", re.IGNORECASE)
"""What a text with such words has."""
_INSTANT = re.compile(
    r"""(?P<day>\d{4}-\d\d-\d\d)
        (?P<time>[ ]\d\d:\d\d:\d\d(?:\.(?P<fraction>\d+))?)?
        (?:[ ]?(?P<zone>[+-][\d:]+|(?!T\d)[A-Za-z][\w/+:-]*))?""",
    re.VERBOSE | re.ASCII,
)
_ABBREVIATIONS = frozenset(
    {"ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT"}
    | {"EST", "HST", "IET", "IST", "JST", "MIT", "MST", "NET", "NST", "PLT", "PNT", "PRT", "PST"}
    | {"SST", "VST"}
)
"""Names of several zones each. Spark knows one zone by each of them, and Hive none."""
_MICROSECONDS = 6


def instant_words(
    source: Source, tokens: Sequence[Token], text: str
) -> Iterator[tuple[int, int, str]]:
    """The stretches of the source's text in which such words stand, and what is to replace them.

    ``text`` is that of the tokens. SqlSyntaxError for a literal that is no instant, for Spark would
    cut or misread it.
    """
    if not _HINTS.search(text):
        return
    types = _types(tokens)
    for index, token in enumerate(tokens):
        end = _end_of_words(tokens, index, types)
        if end is None:
            continue
        if end < len(tokens) and tokens[end].kind is Kind.STRING:
            _check(source, tokens[end])
        # A line break stays where it is, behind the word: what follows keeps its line.
        if "\n" in source.text[token.start : token.start + len(_WORD)]:
            source.syntax_error(
                "a line ends behind TIMESTAMP", token.start, hint="Write its next words beside it."
            )
        yield token.start, tokens[end - 1].end, _WORD


def hive_instants(text: str) -> str:
    """The text of a query or an expression with Hive's words for instants, which has Spark's."""
    if _WORD not in text.upper():
        return text
    tokens = list(lex(text))
    types = _types(tokens)
    pieces, at = [], 0
    for index, token in enumerate(tokens):
        if token.word != _WORD or (index and tokens[index - 1].text == "."):
            continue
        is_literal = _is_literal(tokens, index)
        if not is_literal and index not in types:
            continue
        end = tokens[index + 1].start if index + 1 < len(tokens) else len(text)
        gap = text[token.end : end]
        if gap.isspace() and "\n" not in gap:  # which fills up the place of the longer words
            gap = " " if is_literal else ""
        pieces += [text[at : token.start], _HIVE if is_literal else _TYPE, gap]
        at = end
    return "".join([*pieces, text[at:]])


def _end_of_words(tokens: Sequence[Token], index: int, types: set[int]) -> int | None:
    """Behind which token the words end that begin with this one; None if it begins none."""
    if index and tokens[index - 1].text == ".":
        return None
    if [token.word for token in tokens[index : index + len(_LONG)]] == _LONG:
        return index + len(_LONG)
    if tokens[index].word != _HIVE:
        return None
    return index + 1 if index in types or _is_literal(tokens, index) else None


def _is_literal(tokens: Sequence[Token], index: int) -> bool:
    """Whether a text stands behind the word."""
    return index + 1 < len(tokens) and tokens[index + 1].kind is Kind.STRING


def _types(tokens: Sequence[Token]) -> set[int]:
    """The indexes at which the types of CASTs begin."""
    return {place.type_at for place in cast_places(tokens)}


def _check(source: Source, literal: Token) -> None:
    """Raise SqlSyntaxError unless Spark reads the text of a literal as Hive does."""
    text = string_value(literal.text).strip()
    found = _INSTANT.fullmatch(text)
    wrong = "it is no timestamp with a time zone" if found is None else _fault(found)
    if wrong is not None:
        source.syntax_error(
            f"'{text[:60]}' is not understood: {wrong}",
            literal.start,
            hint="Write it like '2026-12-31 23:59:59.5 Europe/Berlin', or with +01:00.",
        )


def _fault(found: re.Match[str]) -> str | None:
    """What is wrong with a text that looks like an instant, or None."""
    time, zone, fraction = found["time"] or "", found["zone"], found["fraction"] or ""
    try:
        datetime.fromisoformat(found["day"] + time.partition(".")[0])
    except ValueError:
        return "there is no such day or time"
    if zone and not time:
        return "the time of day is missing"
    if zone in _ABBREVIATIONS:
        return f"{zone} is the name of several zones"
    if len(fraction.rstrip("0")) > _MICROSECONDS:
        return "a second has six digits behind the point"
    return None

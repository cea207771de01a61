"""Hive's words for an instant → Spark's ``TIMESTAMP_LTZ``, which is shorter and takes their place.

They are ``TIMESTAMPLOCALTZ '…'``, the types ``timestamp with local time zone`` and, in a CAST,
``timestamplocaltz``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from acidsql.grammar.cursor import string_value
from acidsql.grammar.lexer import Kind, Source, Token

_WORD = "TIMESTAMP_LTZ"
_HIVE = "TIMESTAMPLOCALTZ"
_LONG = ["TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE"]
_CASTS = ("CAST", "TRY_CAST")
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
    openers: list[str] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if token.text == "(":
            openers.append(before.word if before else "")
        elif token.text == ")" and openers:
            openers.pop()
        end = _end_of_words(tokens, index, openers)
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


def _end_of_words(tokens: Sequence[Token], index: int, openers: Sequence[str]) -> int | None:
    """Behind which token the words end that begin with this one; None if it begins none."""
    before = tokens[index - 1] if index else None
    if before is not None and before.text == ".":
        return None
    if [token.word for token in tokens[index : index + len(_LONG)]] == _LONG:
        return index + len(_LONG)
    if tokens[index].word != _HIVE:
        return None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    is_literal = after is not None and after.kind is Kind.STRING
    is_cast = bool(openers) and openers[-1] in _CASTS
    is_type = is_cast and before is not None and before.word == "AS"
    return index + 1 if is_literal or is_type else None


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

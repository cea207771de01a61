"""Constants of type timestamp, which is wall-clock time: ``TIMESTAMP '…'`` and casts of texts.

Spark makes instants of them, in the zone of the session. There, a time that the zone skips in
spring would become the one an hour later, and so it would in a comparison with a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidsql.grammar.casts import cast_places
from acidsql.grammar.escapes import string_value
from acidsql.grammar.lexer import Kind, Token, UnclosedError, lex

_WORD = "TIMESTAMP"
_SUFFIX = "_NTZ"
_YEAR, _CLOCK = r"[+-]?\d{4,6}", r"\d{1,2}(?::\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)?"
_NO_ZONE = re.compile(rf"\s*{_YEAR}(?:-\d{{1,2}}(?:-\d{{1,2}}(?:[ T]{_CLOCK})?)?)?\s*", re.ASCII)
"""A time that names no zone, and has a year at least. Spark makes an instant of any other."""


def wall_clocks(text: str) -> str:
    """A text for Spark, in which constants of type timestamp are of Spark's type for wall clocks.

    A text with an unclosed quote or comment comes back as it is, for Spark to refuse.

    >>> wall_clocks("ts < TIMESTAMP '2026-03-29 02:40:00' OR ts = CAST('2026-01-01' AS timestamp)")
    "ts < TIMESTAMP_NTZ '2026-03-29 02:40:00' OR ts = CAST('2026-01-01' AS timestamp_NTZ)"
    >>> wall_clocks("TIMESTAMP '2026-03-29 02:40:00Z', CAST(a AS timestamp), t.timestamp")
    "TIMESTAMP '2026-03-29 02:40:00Z', CAST(a AS timestamp), t.timestamp"
    """
    if _WORD not in text.upper():
        return text
    try:
        tokens = list(lex(text))
    except UnclosedError:
        return text
    pieces, at = [], 0
    for end in sorted({*_literals(tokens), *_casts(tokens), *_colons(tokens)}):
        pieces += [text[at:end], _SUFFIX]
        at = end
    return "".join([*pieces, text[at:]])


def written_word(token: Token) -> str:
    """The text of a token as it may stand in the user's text, if it is of `wall_clocks`."""
    is_ours = token.word == _WORD + _SUFFIX and token.text.endswith(_SUFFIX)
    return token.text.removesuffix(_SUFFIX) if is_ours else token.text


def _literals(tokens: Sequence[Token]) -> Iterator[int]:
    """The ends of the words of ``TIMESTAMP '…'``."""
    for index, token in enumerate(tokens):
        is_name = index > 0 and tokens[index - 1].text == "."
        if token.word == _WORD and not is_name and _is_clock(tokens, index + 1):
            yield token.end


def _casts(tokens: Sequence[Token]) -> Iterator[int]:
    """The ends of the types of ``CAST('…' AS timestamp)``."""
    for place in cast_places(tokens):
        is_of_one = place.type_at == place.cast + 4 and place.end == place.type_at + 1
        if is_of_one and tokens[place.type_at].word == _WORD and _is_clock(tokens, place.cast + 2):
            yield tokens[place.type_at].end


def _colons(tokens: Sequence[Token]) -> Iterator[int]:
    """The ends of the types of ``'…'::timestamp``."""
    for index, token in enumerate(tokens[:-3]):
        found = tokens[index + 1 : index + 4]
        if token.kind is Kind.STRING and [t.word or t.text for t in found] == [":", ":", _WORD]:
            is_alone = index == 0 or tokens[index - 1].kind is not Kind.STRING
            if is_alone and _is_clock(tokens, index):
                yield found[-1].end


def _is_clock(tokens: Sequence[Token], index: int) -> bool:
    """Whether a text of one piece is next, which is a time without a zone."""
    found = tokens[index : index + 2]
    if not found or [t.kind is Kind.STRING for t in found] not in ([True], [True, False]):
        return False
    return _NO_ZONE.fullmatch(string_value(found[0].text)) is not None

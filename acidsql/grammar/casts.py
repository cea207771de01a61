"""Where the CASTs of a statement stand among its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acidsql.grammar.lexer import Token

_CASTS = ("CAST", "TRY_CAST")


class CastPlace(NamedTuple):
    """The indexes of the word CAST, of the first token of its type, and of its last parenthesis."""

    cast: int
    type_at: int
    end: int


def cast_places(tokens: Sequence[Token]) -> Iterator[CastPlace]:
    """The places of ``CAST(e AS type)`` and ``TRY_CAST(e AS type)``, inner ones first."""
    opened: list[tuple[int, int | None]] = []
    for index, token in enumerate(tokens):
        if token.text == "(":
            opened.append((index, None))
        elif token.word == "AS" and opened:
            opened[-1] = (opened[-1][0], index + 1)
        elif token.text == ")" and opened:
            at, type_at = opened.pop()
            if type_at is not None and _is_cast(tokens, at - 1):
                yield CastPlace(at - 1, type_at, index)


def _is_cast(tokens: Sequence[Token], index: int) -> bool:
    """Whether the word at the index is CAST, and no name such as ``t.cast``."""
    if index < 0 or tokens[index].word not in _CASTS:
        return False
    return index == 0 or tokens[index - 1].text != "."

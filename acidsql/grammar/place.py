"""The place of a name in a statement, for errors that are found after parsing."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.grammar.lexer import Kind, Source, Token
from acidsql.grammar.replaced import Replaced


def place_of_name(
    text: str | Replaced, parts: Sequence[str] = (), line: int = 1, column: int = 1
) -> tuple[int, int]:
    """Line and column of the first name that consists of these parts.

    If there is none, they are those of the first word.

    >>> place_of_name("SELECT a, 't.x', T . `x` FROM t", ["t", "x"])
    (1, 18)
    >>> place_of_name("/* why */ SELECT 1")
    (1, 11)
    """
    wanted = [part.lower() for part in parts]
    source = Source(text, line, column)
    tokens = source.tokens
    for index, token in enumerate(tokens if wanted else ()):
        found = tokens[index : index + 2 * len(wanted) - 1]
        names, dots = [_name(t) for t in found[::2]], [t.text for t in found[1::2]]
        if names == wanted and dots == ["."] * (len(wanted) - 1):
            return source.place(token.start)
    return source.place(tokens[0].start if tokens else 0)


def _name(token: Token) -> str | None:
    if token.kind is Kind.QUOTED:
        return token.text[1:-1].replace("``", "`").lower()
    return token.text.lower() if token.kind is Kind.WORD else None

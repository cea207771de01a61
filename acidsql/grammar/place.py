"""Where a name stands in a statement, for errors that are found after parsing."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.grammar.lexer import Kind, Source, Token, lex


def place_of_name(
    text: str, parts: Sequence[str], line: int = 1, column: int = 1
) -> tuple[int, int] | None:
    """Line and column of the first name of these parts, None if it is not in the text.

    >>> place_of_name("SELECT a, 't.x', T . `x` FROM t", ["t", "x"])
    (1, 18)
    """
    wanted = [part.lower() for part in parts]
    tokens = list(lex(text))
    for index, token in enumerate(tokens):
        found = tokens[index : index + 2 * len(wanted) - 1]
        names, dots = [_name(t) for t in found[::2]], [t.text for t in found[1::2]]
        if names == wanted and dots == ["."] * (len(wanted) - 1):
            return Source(text, line, column).place(token.start)
    return None


def _name(token: Token) -> str | None:
    if token.kind is Kind.QUOTED:
        return token.text[1:-1].replace("``", "`").lower()
    return token.text.lower() if token.kind is Kind.WORD else None

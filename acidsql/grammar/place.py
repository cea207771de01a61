"""The place of a name in a statement, for errors that are found after parsing."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.grammar.lexer import Kind, Source, Token, UnclosedError, lex
from acidsql.grammar.replaced import Replaced
from acidsql.grammar.wall_clocks import written_word

_BEGINNING_MIN = 3
"""Tokens of the shortest beginning of a piece that tells where the piece is."""


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


def place_of_piece(
    text: str | Replaced,
    piece: str,
    line: int = 1,
    column: int = 1,
    number: tuple[int, int] | None = None,
) -> tuple[int, int] | None:
    """Line and column of the first place where the text has the tokens of a piece, or None.

    With a `number_of_piece` it is the place of that number, if the text has as many of them. The
    names of tables in the piece may be others than in the text: if the whole piece is not there, it
    is enough that its beginning stands at one place only.

    >>> place_of_piece("SELECT t.id, id FROM t", "id"), place_of_piece("SELECT 1", "x")
    ((1, 14), None)
    >>> place_of_piece("SELECT id, id", "id", number=(1, 2))
    (1, 12)
    >>> place_of_piece("SELECT 1, (SELECT sum(a) FROM t)", "SELECT sum(a) FROM view AS t")
    (1, 12)
    """
    try:
        wanted = [_spelled(token) for token in lex(piece, runs=True)]
    except UnclosedError:
        return None
    source = Source(text, line, column)
    written = [_spelled(token) for token in source.tokens]
    found = _places(written, wanted)
    if number is not None and len(found) == number[1]:
        found = found[number[0] :]
    while not found and len(wanted) > _BEGINNING_MIN:
        wanted.pop()
        found = _places(written, wanted)
        found = found if len(found) == 1 else []
    return source.place(source.tokens[found[0]].start) if found else None


def number_of_piece(text: str, piece: str, at: int) -> tuple[int, int] | None:
    """Which of the equal pieces in a text is the one at an offset, and how many there are.

    None if none is there.

    >>> number_of_piece("SELECT id AS a FROM t JOIN u ON id = 1", "id", 32)
    (1, 2)
    """
    try:
        tokens = list(lex(text, runs=True))
        wanted = [_spelled(token) for token in lex(piece, runs=True)]
    except UnclosedError:
        return None
    found = _places([_spelled(token) for token in tokens], wanted)
    starts = [tokens[index].start for index in found]
    return (starts.index(at), len(starts)) if at in starts else None


def _places(written: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted tokens begin among the written ones, and are no part of a longer name."""
    places = []
    for index, text in enumerate(written):
        end = index + len(wanted)
        if not wanted or text != wanted[0] or written[index:end] != wanted:
            continue
        neighbours = [written[n] for n in (index - 1, end) if 0 <= n < len(written)]
        if "." not in neighbours:
            places.append(index)
    return places


def _spelled(token: Token) -> str:
    """A token as it is compared: the case of words does not count."""
    text = written_word(token)
    return text.upper() if token.kind is Kind.WORD else text


def _name(token: Token) -> str | None:
    if token.kind is Kind.QUOTED:
        return token.text[1:-1].replace("``", "`").lower()
    return token.text.lower() if token.kind is Kind.WORD else None

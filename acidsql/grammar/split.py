"""Script → the texts of its statements, with line and column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.lexer import Token, UnclosedError, lex


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement of a script, with its comments but without its semicolon.

    ``line`` and ``column`` are the place of the first character of ``text`` in the script.
    """

    text: str
    line: int
    column: int


def split(text: str) -> Iterator[ScriptStatement]:
    r"""The statements one by one. Pieces with only comments and white space are left out.

    Lazy: SqlSyntaxError for an unclosed quote or comment comes after the statements before it.

    >>> [s.text for s in split("USE a; -- done;\nSELECT ';';;")]
    ['USE a', "-- done;\nSELECT ';'"]
    """
    places = _Places(text)
    tokens = lex(text, runs=True)
    start, filled = 0, False
    while True:
        token = _next(tokens, places)
        if token is None or token.text == ";":
            end = len(text) if token is None else token.start
            if filled:
                yield _statement(text, start, end, places)
            if token is None:
                return
            start, filled = token.end, False
        else:
            filled = True


class _Places:
    """Turns offsets into line and column. Offsets must be asked for in rising order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line = 1
        self.line_start = 0
        self.at = 0

    def place(self, offset: int) -> tuple[int, int]:
        self.line += self.text.count("\n", self.at, offset)
        newline = self.text.rfind("\n", self.at, offset)
        if newline >= 0:
            self.line_start = newline + 1
        self.at = offset
        return self.line, offset - self.line_start + 1


def _next(tokens: Iterator[Token], places: _Places) -> Token | None:
    try:
        return next(tokens, None)
    except UnclosedError as error:
        line, column = places.place(error.offset)
        raise SqlSyntaxError(str(error), line=line, column=column) from None


def _statement(text: str, start: int, end: int, places: _Places) -> ScriptStatement:
    piece = text[start:end]
    line, column = places.place(start + len(piece) - len(piece.lstrip()))
    return ScriptStatement(piece.strip(), line, column)

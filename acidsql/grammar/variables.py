"""Variables in the statements of scripts: each ``${name}`` becomes the variable's value.

The rules are those of Hive's VariableSubstitution and SystemVariables: values are text, a value may
hold variables again, and a variable without a value stays as it is. Three things differ. Variables
in comments stay. A value can neither end the statement nor begin a comment, so it never decides
which part of a script runs. And the text has a limit, since each round may double it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.lexer import UnclosedError, lex
from acidsql.grammar.replaced import Piece, Replaced

_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")
LENGTH_MAX = 16 << 20
"""The most characters of a statement after its variables were replaced."""
COUNT_MAX = 50_000
"""The most variables that are replaced in one round."""

ValueOf = Callable[[str], "str | None"]


class _TooLongError(Exception):
    """The text has more characters or variables than a statement may have."""


def replace_variables(
    text: str, value_of: ValueOf, depth: int = 40, *, line: int = 1, column: int = 1
) -> Replaced:
    """The text with the values of its variables. ``value_of`` gives None for an unknown one.

    SqlSyntaxError, at ``line`` and ``column``, if values hold variables more than ``depth`` rounds
    deep, and for a text that would be too long.

    >>> values = {"day": "'2026-${month}-01'", "month": "11"}
    >>> replace_variables("SELECT ${day}, '${x}' -- ${day}", values.get).text
    "SELECT '2026-11-01', '${x}' -- ${day}"
    """
    replaced = Replaced(text, text, [Piece(0, 0, is_value=False)])
    if not _VARIABLE.search(text):
        return replaced
    comments = list(_comments(text))
    for _ in range(depth + 1):
        try:
            after = _round(replaced, value_of, comments)
        except _TooLongError:
            raise SqlSyntaxError(
                "with its variables replaced, the statement is too long",
                detail=f"It has more than {LENGTH_MAX} characters or {COUNT_MAX} variables.",
                line=line,
                column=column,
            ) from None
        if after is None:
            return replaced
        replaced = after
    raise SqlSyntaxError(
        f"the values of variables hold variables more than {depth} times over",
        detail="A variable may hold itself.",
        hint="SET hive.variable.substitute.depth = n allows more.",
        line=line,
        column=column,
    )


def _round(replaced: Replaced, value_of: ValueOf, comments: list[range]) -> Replaced | None:
    """The text with each variable replaced once; None if there is none."""
    parts: list[str] = []
    pieces: list[Piece] = []
    at = length = 0
    for match in _VARIABLE.finditer(replaced.text):
        value = None if _is_in(comments, replaced, match.start()) else value_of(match[1])
        if value is None:
            continue
        pieces += _moved(replaced, at, match.start(), length)
        length += match.start() - at
        pieces.append(Piece(length, replaced.source_of(match.start()), is_value=True))
        parts += [replaced.text[at : match.start()], value]
        length += len(value)
        at = match.end()
        if length > LENGTH_MAX or len(parts) > 2 * COUNT_MAX:
            raise _TooLongError
    if not parts:
        return None
    pieces += _moved(replaced, at, len(replaced.text), length)
    if length + len(replaced.text) - at > LENGTH_MAX:
        raise _TooLongError
    return Replaced("".join([*parts, replaced.text[at:]]), replaced.written, pieces)


def _moved(replaced: Replaced, start: int, end: int, to: int) -> Iterator[Piece]:
    """The pieces of the text from ``start`` to ``end``, as they lie when it begins at ``to``."""
    for piece, _ in replaced.pieces_between(start, end):
        yield piece._replace(start=to + piece.start - start)


def _is_in(comments: list[range], replaced: Replaced, offset: int) -> bool:
    piece = replaced.piece_at(offset)
    return not piece.is_value and any(replaced.source_of(offset) in c for c in comments)


def _comments(text: str) -> Iterator[range]:
    """Where comments lie in a text. What comes after an unclosed quote is no comment."""
    at = 0
    try:
        for token in lex(text):
            if text[at : token.start].strip():
                yield range(at, token.start)
            at = token.end
    except UnclosedError:
        return
    if text[at:].strip():
        yield range(at, len(text))

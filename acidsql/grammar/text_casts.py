"""CAST to char(n) and varchar(n), which cuts the text, in Hive as in the SQL standard.

Spark takes these types for string, and cuts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.grammar.lexer import Kind, Source, Token
from acidsql.model.types import CharType, parse_type
from acidsql.statements.fragment import TextCast

_CASTS = ("CAST", "TRY_CAST")
_TYPES = ("CHAR", "CHARACTER", "VARCHAR")


@dataclass(slots=True)
class _Opened:
    """A parenthesis: the index of the CAST before it, if any, and that of its AS."""

    cast: int | None
    type_at: int | None = None


def text_casts(source: Source, tokens: Sequence[Token], start: int) -> Iterator[TextCast]:
    """The CASTs to char(n) and varchar(n) among the tokens, which begin at ``start`` of the source.

    SqlSyntaxError for a length that there is not. UnsupportedStatementError for such a type inside
    of another one, and behind ``::``.
    """
    if not any(token.word in _TYPES for token in tokens):
        return
    opened: list[_Opened] = []
    for index, token in enumerate(tokens):
        if token.text == "(":
            opened.append(_Opened(_cast_before(tokens, index)))
        elif token.text == ")" and opened:
            last = opened.pop()
            if last.cast is not None and last.type_at is not None:
                yield from _cast(source, tokens, last.cast, last.type_at, index, start)
        elif token.word == "AS" and opened:
            opened[-1].type_at = index + 1
        elif (
            _is_text_type(tokens, index)
            and [t.text for t in tokens[index - 2 : index]] == [":"] * 2
        ):
            _refuse(source, token, "behind ::")


def _cast_before(tokens: Sequence[Token], index: int) -> int | None:
    """The index of the CAST that a parenthesis belongs to; None if it belongs to none."""
    if not index or tokens[index - 1].word not in _CASTS:
        return None
    return None if index > 1 and tokens[index - 2].text == "." else index - 1


def _is_text_type(tokens: Sequence[Token], index: int) -> bool:
    return (
        tokens[index].word in _TYPES and index + 1 < len(tokens) and tokens[index + 1].text == "("
    )


def _cast(
    source: Source, tokens: Sequence[Token], cast: int, type_at: int, end: int, start: int
) -> Iterator[TextCast]:
    """The CAST that ends with the parenthesis at ``end``, if it is one to such a type."""
    named = tokens[type_at:end]
    if not any(_is_text_type(tokens, index) for index in range(type_at, end)):
        return
    if not _is_text_type(tokens, type_at) or len(named) != 4 or named[2].kind is not Kind.NUMBER:
        _refuse(source, named[0], "inside of another type")
    try:
        kind = parse_type("".join(token.text for token in named))
    except ValueError as error:
        source.syntax_error(str(error), named[0].start)
    assert isinstance(kind, CharType)
    yield TextCast(
        tokens[cast].start - start,
        named[0].start - start,
        named[-1].end - start,
        tokens[end].end - start,
        kind,
    )


def _refuse(source: Source, token: Token, where: str) -> None:
    source.refuse(
        f"{token.text} {where} is not supported in a CAST",
        token.start,
        hint="Write CAST(… AS varchar(n)) of each text, or CAST to string.",
    )

"""CAST to char(n) and varchar(n), which cuts the text, in Hive as in the SQL standard.

Spark takes these types for string, and cuts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from acidsql.grammar.casts import CastPlace, cast_places
from acidsql.grammar.lexer import Kind, Source, Token
from acidsql.model.types import CharType, parse_type
from acidsql.statements.fragment import TextCast

_COLONS = [":", ":"]
CHAR_TYPES = ("CHAR", "CHARACTER", "VARCHAR")


def text_casts(source: Source, tokens: Sequence[Token], start: int) -> Iterator[TextCast]:
    """The CASTs to char(n) and varchar(n) among the tokens, which begin at ``start`` of the source.

    SqlSyntaxError for a length that there is not. UnsupportedStatementError for such a type inside
    of another one, and behind ``::``.
    """
    if not any(token.word in CHAR_TYPES for token in tokens):
        return
    for place in cast_places(tokens):
        yield from _text_cast(source, tokens, place, start)
    for index, token in enumerate(tokens):
        if _is_text_type(tokens, index) and [t.text for t in tokens[index - 2 : index]] == _COLONS:
            _refuse(source, token, "behind ::")


def with_names(casts: Sequence[TextCast], tree: exp.Expr) -> tuple[TextCast, ...]:
    """The CASTs of a tree, with the names of those that are columns of a SELECT.

    As in Spark, the CAST of a column keeps the column's name.
    """
    selects = tree.find_all(exp.Select) if casts else ()
    items = [item for select in selects for item in select.expressions]
    cut = [item for item in items if isinstance(item, exp.Cast) and "written" in item.to.meta]
    found = list(casts)
    for column in (cast.this.unnest() for cast in cut):
        if not isinstance(column, exp.Column):
            continue
        start, name = column.parts[0].meta["start"], column.name
        around = [n for n, cast in enumerate(found) if cast.start < start < cast.type_start]
        if around:
            innermost = max(around, key=lambda n: found[n].start)
            found[innermost] = replace(found[innermost], name=name)
    return tuple(found)


def _is_text_type(tokens: Sequence[Token], index: int) -> bool:
    return (
        tokens[index].word in CHAR_TYPES
        and index + 1 < len(tokens)
        and tokens[index + 1].text == "("
    )


def _text_cast(
    source: Source, tokens: Sequence[Token], place: CastPlace, start: int
) -> Iterator[TextCast]:
    """The CAST at the place, if it is one to such a type."""
    named = tokens[place.type_at : place.end]
    if not any(_is_text_type(tokens, index) for index in range(place.type_at, place.end)):
        return
    if (
        not _is_text_type(tokens, place.type_at)
        or len(named) != 4
        or named[2].kind is not Kind.NUMBER
    ):
        _refuse(source, named[0], "inside of another type")
    try:
        kind = parse_type("".join(token.text for token in named))
    except ValueError as error:
        source.syntax_error(str(error), named[0].start)
    assert isinstance(kind, CharType)
    yield TextCast(
        tokens[place.cast].start - start,
        named[0].start - start,
        named[-1].end - start,
        tokens[place.end].end - start,
        kind,
    )


def _refuse(source: Source, token: Token, where: str) -> None:
    source.refuse(
        f"{token.text} {where} is not supported in a CAST",
        token.start,
        hint="Write CAST(… AS varchar(n)) of each text, or CAST to string.",
    )

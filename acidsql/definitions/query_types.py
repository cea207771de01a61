"""The columns of a query where its rows are stored: their names and types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidsql.errors import UnsupportedStatementError
from acidsql.model.types import (
    VOID,
    ArrayType,
    ColumnType,
    MapType,
    StructType,
    parse_type,
)
from acidsql.planner.names import Names
from acidsql.planner.query import cast_types, is_union
from acidsql.planner.query_names import names_columns, widths_of
from acidsql.ports.engine import Frame
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Fragment, Identifier
from acidsql.statements.query import Query

_CHAR = re.compile(r"(var)?char\(")

_NAME = re.compile(r"[^\W\d][\w ]*")
"""A name that a user gave. The names that Spark makes of expressions do not match."""


def stored_types(frame: Frame, query: Query, *common: Query) -> list[str]:
    """The types of the columns of a query's frame in Spark's words. It may name ``common`` ones.

    For a union, Spark reports the first side's char(n) or varchar(n), though rows of the other
    sides may be longer. There the type is string. Spark calls two types "timestamp": an instant,
    and what ``CAST(… AS timestamp)`` yields, which is Hive's timestamp. It makes a string of what
    a CAST to char(n) or varchar(n) yields. The query's text tells them apart.
    """
    united = any(map(is_union, (query, *common)))
    kinds = ["string" if united and _CHAR.match(kind) else kind for kind in frame.types]
    told = cast_types(query.source, len(kinds))
    return [
        kind if known is None or kind not in ("string", "timestamp") else str(known)
        for kind, known in zip(kinds, told, strict=True)
    ]


def column_names(source: Fragment, columns: Sequence[str], names: Names) -> list[str]:
    """The names of a query's columns in lower case: the user's, or Hive's for others, as ``_c1``.

    ``columns`` are the names that the engine gives them.
    """
    told = names_columns(source, len(columns), widths_of(source, names))
    pairs = zip(columns, told, strict=True)
    return [c.lower() if is_given(c, t) else f"_c{n}" for n, (c, t) in enumerate(pairs)]


def is_given(name: str, told: bool | None) -> bool:
    """Whether a user gave the name: as `names_columns` ``told``, or else as the name looks."""
    return _NAME.fullmatch(name) is not None if told is None else told


def definition_of(
    number: int, text: str, kind: str, name: Identifier, *, is_named: bool | None = None
) -> ColumnDefinition:
    """The definition of a column that takes the ``number``-th column of a query, of type ``kind``.

    ``text`` is its name, and ``is_named`` is what `names_columns` says of it.
    UnsupportedStatementError if there is no such name or type in a table.
    """
    if not is_given(text, is_named):
        raise UnsupportedStatementError(
            f"column {number} of the query has no name: {text}",
            hint="Name the expression: write e AS name.",
            line=name.line,
            column=name.column,
        )
    why = _refusal(kind)
    if why is not None:
        raise UnsupportedStatementError(
            f'column "{text}" of the query is {kind}: {why}',
            hint=f"Write CAST(… AS type) AS {text}.",
            code=10305 if kind == str(VOID) else None,
            line=name.line,
            column=name.column,
        )
    return ColumnDefinition(name, kind, None)


def _refusal(kind: str) -> str | None:
    """Why no column can be of this type; None if one can."""
    try:
        parsed = parse_type(kind)
    except ValueError as error:
        return str(error)
    return "void columns cannot be declared" if parsed == VOID else None


def new_field(kind: ColumnType, text: str) -> str | None:
    """The first field, at any depth, that a value of type ``text`` has and ``kind`` lacks.

    ``text`` is in Spark's words. None if there is no such field.
    """
    try:
        return _new_field(kind, parse_type(text))
    except ValueError:
        return None


def _new_field(kind: ColumnType, found: ColumnType) -> str | None:
    inner: Iterator[str | None]
    match kind, found:
        case StructType(fields), StructType(others):
            own = dict(fields)
            inner = (name if name not in own else _new_field(own[name], k) for name, k in others)
        case ArrayType(element), ArrayType(other):
            inner = iter([_new_field(element, other)])
        case MapType(key, value), MapType(other_key, other_value):
            inner = iter([_new_field(key, other_key), _new_field(value, other_value)])
        case _:
            return None
    return next((name for name in inner if name is not None), None)

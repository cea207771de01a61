"""The named statements in the server's notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from psycopg import Connection, Cursor, RawCursor

from acidsql.backends.relational.connection import Row
from acidsql.backends.relational.queries import load_queries

_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Query:
    """A statement with ``$1``, ``$2``, … and the names of the parameters bound there."""

    text: bytes
    names: tuple[str, ...]


def to_server(statement: str) -> Query:
    r"""The statement with PostgreSQL's notation of parameters, without comments.

    >>> to_server("-- a: b\nSELECT CAST(:id AS BIGINT), :a, :id;")
    Query(text=b'SELECT CAST($1 AS BIGINT), $2, $1;', names=('id', 'a'))
    """
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"${names.setdefault(found[1], len(names) + 1)}"

    text = _PARAMETER.sub(number, _COMMENT.sub("", statement))
    return Query(text.encode(), tuple(names))


@cache
def queries() -> Mapping[str, Query]:
    """Every named statement of this database."""
    return {n: to_server(text) for n, text in load_queries("acidsql.backends.postgres").items()}


def execute(
    connection: Connection[Row], query: str, parameters: Mapping[str, object] | None = None
) -> Cursor[Row]:
    """Carry out one named statement at once, outside of the store transactions."""
    found = queries()[query]
    values = [(parameters or {})[name] for name in found.names]
    return RawCursor(connection).execute(found.text, values)

"""The named statements as the driver wants them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from psycopg import Connection, Cursor

from acidsql.backends.relational.connection import Row
from acidsql.backends.relational.queries import load_queries

_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")


def to_driver(statement: str) -> bytes:
    r"""``:name`` as psycopg writes it, without comments.

    >>> to_driver("-- a: b\nSELECT CAST(:id AS BIGINT);")
    b'SELECT CAST(%(id)s AS BIGINT);'
    """
    text = _COMMENT.sub("", statement)
    if "%" in text:
        raise ValueError(f"psycopg would take the % for a parameter: {text[:60]!r}")
    return _PARAMETER.sub(r"%(\1)s", text).encode()


@cache
def _queries() -> Mapping[str, bytes]:
    return {n: to_driver(text) for n, text in load_queries("acidsql.backends.postgres").items()}


def execute(
    connection: Connection[Row], query: str, parameters: Mapping[str, object] | None = None
) -> Cursor[Row]:
    """Carry out a named statement. Only one without parameters may consist of several."""
    text = _queries()[query]
    if parameters:
        return connection.execute(text, parameters)
    return connection.execute(text, prepare=False)

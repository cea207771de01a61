"""Expressions of the values that are written into a column."""

from __future__ import annotations

import re

from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column
from acidsql.model.types import VOID, spark_type
from acidsql.plans.sql_text import SqlText

_STAR = re.compile(r"(^|[(,.])\s*\*")


def stored(value: SqlText, column: Column) -> SqlText:
    """The value cast to the column's type under ANSI rules; an error if it does not fit.

    The newline ends a comment that the value may end in. Void goes to the writer as boolean, which
    its files hold.
    """
    cast = SqlText.of("CAST((", value, f"\n) AS {spark_type(column.type)})")
    return SqlText.of("CAST(", cast, " AS boolean)") if column.type == VOID else cast


def kept(alias: str, column: Column) -> SqlText:
    """The value that the column has in the row of this alias, as it is stored."""
    value = SqlText.of(f"{quote(alias)}.{quote(column.name)}")
    return stored(value, column) if column.type == VOID else value


def has_star(text: str) -> bool:
    """Whether the text may have a star for columns. One that multiplies stands behind a value.

    A comment may stand between a star and what it is of, so a text with one may have a star.

    >>> [has_star(text) for text in ("s.*", "hash( *)", "s./**/ *", "s.k * 2", "(s.k)*2")]
    [True, True, True, False, False]
    """
    return any(mark in text for mark in ("/*", "--")) or _STAR.search(text) is not None


def boolean(condition: SqlText) -> SqlText:
    """The condition of a WHERE or ON. NULL alone, which Spark refuses there, holds for no row."""
    is_null = str(condition).strip("() \t\r\n").upper() == "NULL"
    return SqlText.of("false") if is_null else condition

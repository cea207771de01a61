"""Expressions whose values are on their way into a column."""

from __future__ import annotations

from acidsql.model.table import Column
from acidsql.model.types import spark_type
from acidsql.plans.sql_text import SqlText


def stored(value: SqlText, column: Column) -> SqlText:
    """The value cast to the column's type under ANSI rules; an error if it does not fit.

    A newline closes a comment the value may end in.
    """
    return SqlText.of("CAST((", value, f"\n) AS {spark_type(column.type)})")

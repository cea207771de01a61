"""A query whose values go into columns: values by the session's rules, casts by ANSI rules.

Where the rules of the session are ANSI, one query has both. Elsewhere the values stand in an inner
query, and the casts in one around it: a query is analysed by one kind of rules as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.job import Job, unlike
from acidsql.engines.spark.select import select
from acidsql.engines.spark.settings import ansi, is_ansi
from acidsql.engines.spark.values import stored
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column, Table
from acidsql.plans.sql_text import SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class Casts:
    """Makes the values of one query; `select` is its end."""

    job: Job
    table: Table
    _apart: bool = field(init=False)
    _inner: dict[str, SqlText] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._apart = not is_ansi(self.job.spark)

    def stored(self, value: SqlText, column: Column, acting: str | None = None) -> SqlText:
        """The value as the column stores it. It is not evaluated where ``acting`` is false."""
        if self._apart:
            # In parentheses, of which the newline ends a comment that the value may end in.
            enclosed = SqlText.of("(", value, "\n)")
            if acting is not None:
                enclosed = SqlText.of(f"CASE WHEN {acting} THEN ", enclosed, " END")
            value = self._in_inner(f"new {column.name}", enclosed)
        return stored(value, column)

    def kept(self, value: SqlText, column: Column) -> SqlText:
        """A value that the column has already."""
        return self._in_inner(f"old {column.name}", value) if self._apart else value

    def select(
        self, columns: Sequence[str | SqlText], values: Mapping[str, SqlText], rest: SqlText
    ) -> DataFrame:
        """The query of the ``columns``, and of ``values`` by name. ``rest`` begins with FROM.

        The values consist of what `stored` and `kept` gave, and of names of the columns.
        """
        named = {name: SqlText.of(value, f" AS {quote(name)}") for name, value in values.items()}
        inner = [SqlText.of(value, f" AS {quote(name)}") for name, value in self._inner.items()]
        listed = [*map(SqlText.of, columns), *(inner if self._apart else named.values())]
        rows = self.job.sql(SqlText.of("SELECT ", SqlText.join(", ", listed), " ", rest))
        if not self._apart or not values:
            return rows
        names = map(quote, rows.columns[: len(columns)])
        with clear_errors(), ansi(self.job.spark):
            return select(rows, [*names, *map(str, named.values())])

    def _in_inner(self, name: str, value: SqlText) -> SqlText:
        """The name of the value in the inner query. Spark's errors show it."""
        taken = [*(column.name for column in self.table.all_columns), *self._inner]
        name = unlike(taken, name)
        self._inner[name] = value
        return SqlText.of(quote(name))

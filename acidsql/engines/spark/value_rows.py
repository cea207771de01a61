"""Several rows of VALUES, each value cast to its column's type by itself.

Spark gives all values of a column in VALUES one type. What a row says would depend on others: 5 in
a text column would be 5.00 beside 2.55.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain, count
from typing import TYPE_CHECKING

from acidsql.engines.spark.errors import clear_errors, value_name
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.settings import ansi, is_ansi
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column
from acidsql.model.types import VOID, spark_type
from acidsql.plans.insert import ValueRows
from acidsql.plans.sql_text import SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Row = Sequence[SqlText]

_VALUES_MAX = 500
"""How many values one query computes side by side, if they are not cast where they stand."""


def value_rows(rows: ValueRows, columns: Sequence[Column], job: Job) -> DataFrame:
    """The rows, with values of the types of the ``columns``.

    Where the rules of the session are ANSI, each value is cast where it stands. By other rules such
    a cast would change a value that does not fit, or lose it. A SELECT computes values that Spark
    refuses in VALUES.
    """
    if is_ansi(job.spark) and not rows.in_select:
        return job.sql(_values([_cast(row, columns) for row in rows.rows]))
    step = max(1, _VALUES_MAX // len(columns))
    parts = [rows.rows[at : at + step] for at in range(0, len(rows.rows), step)]
    frames = [_cast_apart(part, columns, job) for part in parts]
    return reduce(lambda some, more: some.unionAll(more), frames)


def _cast_apart(rows: Sequence[_Row], columns: Sequence[Column], job: Job) -> DataFrame:
    """The rows, computed side by side by the session's rules, and cast around that by ANSI rules.

    Side by side, each value keeps its own type.
    """
    numbers = count()
    names = [[value_name(next(numbers), value) for value in row] for row in rows]
    # Inside of a call, Spark refuses functions that make rows. sqlglot does not know them all.
    values = [SqlText.of("if(true, (", value, "\n), NULL)") for row in rows for value in row]
    beside = SqlText.of("SELECT ", SqlText.join(", ", values))
    computed = job.sql(beside).toDF(*chain.from_iterable(names))
    each = ", ".join(_struct([SqlText.of(quote(n)) for n in row], columns) for row in names)
    with clear_errors(), ansi(job.spark):
        return computed.selectExpr(f"inline(array({each}))")


def _struct(values: _Row, columns: Sequence[Column]) -> str:
    """A struct of the cast values. In an array of them, it does not matter which may be null."""
    named = (f"{value} AS c{at}" for at, value in enumerate(_cast(values, columns)))
    return f"struct({', '.join(named)})"


def _values(rows: Iterable[_Row]) -> SqlText:
    enclosed = [SqlText.of("(", SqlText.join(", ", row), ")") for row in rows]
    return SqlText.of("VALUES ", SqlText.join(", ", enclosed))


def _cast(values: _Row, columns: Sequence[Column]) -> _Row:
    """The values as their columns will have them. The newline ends a comment."""
    return [
        value
        if column.type == VOID
        else SqlText.of("CAST((", value, f"\n) AS {spark_type(column.type)})")
        for value, column in zip(values, columns, strict=True)
    ]

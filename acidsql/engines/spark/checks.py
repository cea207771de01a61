"""CHECK: conditions that each new row must keep. A row for which one is NULL keeps it (Hive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.engines.spark.columns import rebuilt, remembering_types
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.select import select
from acidsql.engines.spark.settings import ansi
from acidsql.model.constraint import checks
from acidsql.model.names import quote_identifier as quote
from acidsql.model.names import string_literal as literal
from acidsql.model.table import Table
from acidsql.model.types import CharType, ColumnType
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEW = InputSource(name="new rows")


def checked(job: Job, table: Table, rows: DataFrame, acting: str = "true") -> DataFrame:
    """The rows, whose evaluation fails at one that violates a CHECK of the table.

    ``rows`` have the table's columns, of the types that will be stored. The condition ``acting``
    tells which of them are new rows. A CHECK is part of the table, so it is asked by ANSI rules,
    whatever those of the session are.
    """
    found = checks(table.constraints)
    if not found:
        return rows
    job.inputs[_NEW.name] = _with_stored_texts(rows, table)
    carrier = table.columns[0].name
    whens = [
        SqlText.of(
            f" WHEN ({acting}) AND NOT coalesce((", check.text,
            f"\n), true) THEN raise_error({literal(check.violated(table.name))})",
        )
        for check in found
    ]  # fmt: skip
    # Some column has to bear the error: a column that is not written would not be computed.
    value = SqlText.of("CASE", *whens, f" ELSE {quote(carrier)} END AS {quote(carrier)}")
    columns = [value if n == carrier else SqlText.of(quote(n)) for n in rows.columns]
    with ansi(job.spark):
        return job.sql(SqlText.of("SELECT ", SqlText.join(", ", columns), " FROM ", _NEW))


def _with_stored_texts(rows: DataFrame, table: Table) -> DataFrame:
    """The rows with each char(n) and varchar(n) as a query will see it.

    A text that is too long stays as it is, for the writer to refuse.
    """
    kinds = {c.name: c.type for c in table.columns}
    seen = {n: rebuilt(quote(n), kinds[n], _stored_text) for n in rows.columns if n in kinds}
    if all(expression == quote(name) for name, expression in seen.items()):
        return rows
    frame = select(rows, [f"{seen.get(n, quote(n))} AS {quote(n)}" for n in rows.columns])
    return remembering_types(frame, table.columns)


def _stored_text(expression: str, kind: ColumnType) -> str | None:
    if not isinstance(kind, CharType):
        return None
    fitted = f"left({expression}, {kind.length})"
    if kind.name == "char":
        fitted = f"rpad({fitted}, {kind.length}, ' ')"
    return f"if(char_length(rtrim({expression})) > {kind.length}, {expression}, {fitted})"

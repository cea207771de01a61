"""What the engine tells without reading a table: types of columns, names of functions."""

from __future__ import annotations

from acidsql.errors import AnalysisError
from acidsql.model.ids import NO_TXN
from acidsql.model.names import quote_identifier
from acidsql.model.snapshot import ValidTxnList
from acidsql.plans.query import QueryPlan
from acidsql.plans.sql_text import SqlText
from acidsql.ports.engine import Engine, ReadContext
from acidsql.statements.fragment import Identifier


def function_names(engine: Engine) -> list[str]:
    """The functions that a query may call, sorted: Spark's own, and those registered with it."""
    nothing = ReadContext(ValidTxnList(NO_TXN), {})
    rows = engine.query(QueryPlan(rows=SqlText.of("SHOW ALL FUNCTIONS")), nothing).rows()
    return sorted(str(name) for (name,) in rows)


def function_lines(engine: Engine, name: Identifier, *, extended: bool) -> list[str]:
    """What Spark says of a function or an operator: names, class and usage, a line in each item.

    AnalysisError, with the place of the name, if there is no such function.
    """
    nothing = ReadContext(ValidTxnList(NO_TXN), {})
    words = "DESCRIBE FUNCTION EXTENDED" if extended else "DESCRIBE FUNCTION"
    asked = QueryPlan(rows=SqlText.of(f"{words} {quote_identifier(name.name)}"))
    try:
        rows = list(engine.query(asked, nothing).rows())
    except AnalysisError as error:
        error.line, error.column = name.line, name.column
        raise
    return [line.rstrip() for (text,) in rows for line in str(text).strip().split("\n")]


def query_types(engine: Engine, query: SqlText) -> list[str]:
    """The types of the columns of a query that names no table. It is not run.

    May start Spark. AnalysisError if the query does not make sense.
    """
    nothing = ReadContext(ValidTxnList(NO_TXN), {})
    return engine.query(QueryPlan(rows=query), nothing).types

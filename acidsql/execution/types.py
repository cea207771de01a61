"""What the engine tells without reading a table: types of columns, names of functions."""

from __future__ import annotations

from acidsql.model.ids import NO_TXN
from acidsql.model.snapshot import ValidTxnList
from acidsql.plans.query import QueryPlan
from acidsql.plans.sql_text import SqlText
from acidsql.ports.engine import Engine, ReadContext


def function_names(engine: Engine) -> list[str]:
    """The functions that a query may call, sorted: Spark's own, and those registered with it."""
    nothing = ReadContext(ValidTxnList(NO_TXN), {})
    rows = engine.query(QueryPlan(rows=SqlText.of("SHOW ALL FUNCTIONS")), nothing).rows()
    return sorted(str(name) for (name,) in rows)


def query_types(engine: Engine, query: SqlText) -> list[str]:
    """The types of the columns of a query that names no table. It is not run.

    May start Spark. AnalysisError if the query does not make sense.
    """
    nothing = ReadContext(ValidTxnList(NO_TXN), {})
    return engine.query(QueryPlan(rows=query), nothing).types

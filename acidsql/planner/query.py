"""A query → plan."""

from __future__ import annotations

from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering
from acidsql.plans.query import QueryPlan
from acidsql.statements.query import Query


def plan_query(statement: Query, names: Names, arguments: Arguments) -> QueryPlan:
    """The query's own text over the snapshot's tables."""
    source = statement.source
    return QueryPlan(rows=Lowering(names, arguments, source.mentions_row_id).text(source))

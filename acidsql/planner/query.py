"""A query → plan."""

from __future__ import annotations

from sqlglot import exp

from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.text import Lowering
from acidsql.plans.query import QueryPlan
from acidsql.statements.query import Query


def plan_query(statement: Query, names: Names, arguments: Arguments) -> QueryPlan:
    """The plan of a query: the user's own text with its tables as open sources."""
    source = statement.source
    return QueryPlan(rows=Lowering(names, arguments).text(source))


def names_columns(query: Query) -> tuple[bool, ...] | None:
    """For each column of the query, whether its text names it; None if that is not sure."""
    select = query.source.tree
    if not isinstance(select, exp.Select) or select.is_star:
        return None
    return tuple(isinstance(item, exp.Alias | exp.Column) for item in select.expressions)


def is_union(query: Query) -> bool:
    """Whether a UNION stands anywhere in the query."""
    return query.source.tree.find(exp.Union) is not None

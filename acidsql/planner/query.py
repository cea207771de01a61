"""A query → plan."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from acidsql.model.types import INSTANT, ColumnType, parse_type
from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.query_names import SEVERAL
from acidsql.planner.text import Lowering
from acidsql.plans.query import QueryPlan
from acidsql.statements.fragment import Fragment
from acidsql.statements.query import Query


def plan_query(statement: Query, names: Names, arguments: Arguments) -> QueryPlan:
    """The plan of a query: the user's own text with its tables as open sources."""
    source = statement.source
    return QueryPlan(rows=Lowering(names, arguments).text(source))


def cast_types(source: Fragment, count: int) -> tuple[ColumnType | None, ...]:
    """For each of the query's ``count`` columns, the type that its text says and Spark forgets.

    That of a CAST to char(n), varchar(n) or a timestamp with local time zone, and of a literal of
    an instant; None for other columns. Not in a union, which may have other values, too.
    """
    if source.tree.find(exp.SetOperation) is not None:
        return (None,) * count
    return tuple(None if item is None else _cast_type(item) for item in _items(source, count))


def _cast_type(item: exp.Expr) -> ColumnType | None:
    cast = item.unalias().unnest()
    if not isinstance(cast, exp.Cast):
        return None
    if cast.to.this == exp.DType.TIMESTAMPLTZ:
        return INSTANT
    written = cast.to.meta.get("written")
    return None if written is None else parse_type(written)


def _items(source: Fragment, count: int) -> Sequence[exp.Expr | None]:
    """The item of the select list for each of the query's ``count`` columns; None if not sure."""
    tree = source.tree
    while isinstance(tree, exp.Subquery | exp.SetOperation):
        tree = tree.this
    items = tree.expressions if isinstance(tree, exp.Select) else []
    stars = [at for at, item in enumerate(items) if item.is_star]
    if any(isinstance(item, SEVERAL) for item in items) or (not stars and len(items) != count):
        return (None,) * count
    if not stars:
        return items
    first, last = items[: stars[0]], items[stars[-1] + 1 :]
    return (*first, *(None,) * (count - len(first) - len(last)), *last)


def is_union(query: Query) -> bool:
    """Whether a UNION stands anywhere in the query."""
    return query.source.tree.find(exp.Union) is not None

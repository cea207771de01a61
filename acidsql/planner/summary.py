"""Summaries: queries that statistics may answer.

Such a query asks for nothing but ``count(*)``, and counts, least and greatest values of columns,
over all rows of one table. It is recognised by what its tree consists of: whatever is not known
here, such as a WHERE, DISTINCT, a hint or a sample, makes the query another one.
"""

from __future__ import annotations

from sqlglot import exp

from acidsql.model.statistics import Function, has_range
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import Names
from acidsql.plans.query import QueryPlan, Summary
from acidsql.plans.sql_text import TableSource
from acidsql.statements.fragment import Fragment
from acidsql.statements.query import Query

_FUNCTIONS: dict[type[exp.Expr], Function] = {exp.Count: "count", exp.Min: "min", exp.Max: "max"}
_PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Select: {"expressions", "from_"},
    exp.From: {"this"},
    exp.Table: {"this", "db", "alias"},
    exp.TableAlias: {"this"},
    exp.Alias: {"this", "alias"},
    exp.Identifier: {"this", "quoted"},
    exp.Count: {"this", "big_int"},
    exp.Min: {"this"},
    exp.Max: {"this"},
    exp.Column: {"this", "table"},
    exp.Literal: {"this", "is_string"},
    exp.Star: set(),
}
"""The nodes that the tree of a summary may have, and the parts that each of them may have."""


def as_summary(plan: QueryPlan, statement: Query, names: Names) -> QueryPlan:
    """The plan with its summaries, if it is a summary of one ACID table; else the plan itself."""
    source = statement.source
    match list(plan.rows.sources):
        case [TableSource(hidden=(), with_deleted=False) as only] if len(source.tables) == 1:
            table = names.find_table(only.table)
            if table is not None and table.kind is not TableKind.PLAIN:
                return plan.model_copy(update={"summaries": summaries(source, table)})
    return plan


def summaries(query: Fragment, table: Table) -> tuple[Summary, ...]:
    """The columns of a summary of the table, which is the only table of the query; else ()."""
    tree = query.tree
    if not isinstance(tree, exp.Select) or not all(map(_is_known, tree.walk())):
        return ()
    if not isinstance(tree.args["from_"].this, exp.Table):
        return ()
    name = query.tables[0].visible_name.lower()
    found = [_summary(item.unalias(), name, table) for item in tree.expressions]
    known = tuple(summary for summary in found if summary is not None)
    return known if len(known) == len(found) else ()


def _is_known(node: exp.Expr) -> bool:
    parts = _PARTS.get(type(node))
    return parts is not None and parts.issuperset(k for k, v in node.args.items() if v)


def _summary(item: exp.Expr, name: str, table: Table) -> Summary | None:
    """The summary that an item of the select list is, None if it is none."""
    function = _FUNCTIONS.get(type(item))
    if function is None:
        return None
    asked = item.this
    if function == "count" and (isinstance(asked, exp.Star) or _is_number(asked)):
        return Summary(function=function)
    if not isinstance(asked, exp.Column) or not isinstance(asked.this, exp.Identifier):
        return None
    column = table.column(asked.name)
    qualifier = asked.table.lower()
    # A column of that name may be a struct, of which a field is asked.
    is_own = not qualifier or (qualifier == name and table.column(qualifier) is None)
    if column is None or not is_own or not (function == "count" or has_range(column.type)):
        return None
    return Summary(function=function, column=column.name)


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string

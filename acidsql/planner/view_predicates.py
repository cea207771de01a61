"""Predicates on the columns of a view → predicates on the tables in its query.

A WHERE around a view can prune a scan inside of it if it would drop the same rows inside. So the
query must be one SELECT that makes a row of each joined row by itself: without groups, windows,
limits, and functions that are not known to look at one row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from acidsql.model.predicate import Predicate
from acidsql.model.table import Table
from acidsql.model.view import View
from acidsql.planner.predicates import is_node_of, tables_of
from acidsql.statements.fragment import Fragment

Given = Mapping[int, tuple[Predicate, ...]]
NOTHING_GIVEN: Given = {}

_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "distinct", "order", "hint"})
"""The clauses that a SELECT may have. DISTINCT and ORDER BY mind no rows that are dropped."""

_ROW_BY_ROW = (
    *(exp.Column, exp.Identifier, exp.Alias, exp.Literal, exp.Null, exp.Boolean, exp.Paren),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.DPipe, exp.Concat),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam),
    *(exp.Case, exp.If, exp.Coalesce, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Year, exp.Month),
)
"""The nodes that a select list may have."""


def handed_down(
    view: View,
    source: Fragment,
    relations: Sequence[Table | View | None],
    predicates: Sequence[Predicate],
) -> Given:
    """The predicates that hold for each table or view in a view's query, by its index there.

    ``source`` is the query, and ``relations`` are what its names stand for. ``predicates`` hold for
    every row of the view that counts.
    """
    select = source.tree
    if not predicates or not isinstance(select, exp.Select) or not _is_row_by_row(select):
        return {}
    if len(select.expressions) != len(view.columns):
        return {}
    found: dict[int, list[Predicate]] = {}
    for column, node in zip(view.columns, select.expressions, strict=True):
        inner = node.unalias()
        index = _index(inner, select, source) if isinstance(inner, exp.Column) else None
        relation = relations[index] if index is not None else None
        own = relation.column(inner.name) if relation is not None else None
        if index is None or own is None or own.type != column.type:
            continue
        moved = [replace(p, column=own.name) for p in predicates]
        named = [m for p, m in zip(predicates, moved, strict=True) if p.column == column.name]
        found.setdefault(index, []).extend(named)
    return {index: tuple(some) for index, some in found.items() if some}


def _is_row_by_row(select: exp.Select) -> bool:
    clauses = {key for key, value in select.args.items() if value}
    return clauses <= _CLAUSES and all(
        isinstance(node, _ROW_BY_ROW) for item in select.expressions for node in item.walk()
    )


def _index(column: exp.Column, select: exp.Select, source: Fragment) -> int | None:
    """The index of the table that a column of the select list is of; None if that is not sure."""
    nodes = tables_of(select)
    if len(column.parts) > 2 or (not column.table and len(nodes) > 1):
        return None
    qualifier = column.table.lower()
    found: list[int | None] = []
    for node in nodes:
        if qualifier and node.alias_or_name.lower() != qualifier:
            continue
        indexes = [i for i, ref in enumerate(source.tables) if is_node_of(node, ref)]
        bent = node.args.get("sample") or node.args.get("pivots") or node.args.get("joins")
        renamed = isinstance(node, exp.Table) and node.alias_column_names
        found += [None] if bent or renamed or not indexes else indexes
    return found[0] if len(found) == 1 else None

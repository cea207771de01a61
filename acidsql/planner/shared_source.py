"""Which rows may be computed by each of their readers."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from acidsql.plans.sql_text import InputSource, SqlText, TableSource
from acidsql.statements.fragment import Fragment

_ROW_BY_ROW = (
    *(exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Subquery, exp.With, exp.CTE, exp.Where),
    *(exp.Identifier, exp.Column, exp.Dot, exp.Star, exp.Alias, exp.Paren, exp.Placeholder),
    *(exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Not, exp.Connector, exp.Case, exp.If),
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.Between),
    *(exp.In, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Cast, exp.DataType),
    *(exp.Coalesce, exp.Lower, exp.Upper, exp.Trim),
)
"""What a query may consist of whose every row comes from one row of a table, always the same."""


def is_row_by_row(query: Fragment, text: SqlText, alike: Collection[str] = ()) -> bool:
    """Whether a query only filters and computes rows of tables, each for itself.

    Then each reader may compute it again: it costs a scan, to which the reader's own WHERE applies.
    ``alike`` are the names of inputs that have the same rows for each reader.
    """
    known = [
        source
        for source in text.sources
        if isinstance(source, TableSource)
        or (isinstance(source, InputSource) and source.name in alike)
    ]
    only_known = len(known) == len(query.tables)
    return only_known and all(isinstance(node, _ROW_BY_ROW) for node in query.tree.walk())

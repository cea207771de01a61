"""Names in a query that would mean something else if a table got one more column.

A name belongs to the nearest thing that has it: a column of FROM comes before an alias of the
select list, before a column of the query around a subquery, and before a function like
``current_date``. So a table that has the name already changes nothing by further columns, and one
that does not have it may take it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sqlglot import exp

from acidsql.grammar.walk import direct_sources, selects_seen
from acidsql.planner.predicates import is_node_of
from acidsql.statements.fragment import Fragment

_FUNCTIONS = (
    *(exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentUser, exp.CurrentRole),
    exp.SessionUser,
)
_BARE_FUNCTION = re.compile(r"\b(?:current_\w+|session_user)\b(?!\s*\()", re.IGNORECASE)
"""Functions that need no parentheses. Others without them are columns in the tree."""

Columns = Collection[str]


def capturing_tables(source: Fragment, columns: Sequence[Columns | None]) -> set[int]:
    """The indexes of the query's tables that may take a name if they get another column.

    ``columns`` are the names of the columns that each has now, in lower case; None for what is no
    table or view of the catalog, and is left out.
    """
    has_bare_functions = _BARE_FUNCTION.search(source.text) is not None
    found: set[int] = set()
    for node in source.tree.walk():
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            found |= _capturing(node, [p.name.lower() for p in node.parts], source, columns)
        elif isinstance(node, _FUNCTIONS) and has_bare_functions:
            found |= _capturing(node, [node.sql_name().lower()], source, columns)
    return found


def _capturing(
    node: exp.Expr, parts: Sequence[str], source: Fragment, columns: Sequence[Columns | None]
) -> set[int]:
    """The tables that may take one name, whose ``parts`` are in lower case."""
    found: set[int] = set()
    for select in selects_seen(node):
        sources = [item for item, _ in direct_sources(select)]
        qualifiers = {item.alias_or_name.lower() for item in sources}
        if any(part in qualifiers for part in parts[: len(parts) - 1][:2]):
            break
        tables = [
            (index, columns[index] or ())
            for item in sources
            for index, ref in enumerate(source.tables)
            if isinstance(item, exp.Table) and is_node_of(item, ref) and columns[index] is not None
        ]
        found |= {index for index, known in tables if parts[0] not in known}
        if any(parts[0] in known for _, known in tables):
            break
    return found

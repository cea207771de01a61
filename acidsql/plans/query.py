"""The plan of a query."""

from __future__ import annotations

from typing import Literal

from acidsql.model.statistics import Function
from acidsql.plans.node import Node
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import SqlText


class Summary(Node):
    """``function(column)`` over all rows of a table; without a column ``count(*)``."""

    function: Function
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.function}({self.column or '*'})"


class QueryPlan(Node):
    """Read the rows of one SQL query.

    ``summaries`` are its columns if it is a summary: if it asks for nothing but counts, least and
    greatest values of all rows of its only table. Statistics may answer it. Else ().
    ``common`` are the expressions of a WITH in front of the statement that the query is a part of.
    """

    kind: Literal["query"] = "query"
    rows: SqlText
    summaries: tuple[Summary, ...] = ()
    common: tuple[SharedSource, ...] = ()

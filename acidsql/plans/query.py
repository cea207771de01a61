"""The plan of a query."""

from __future__ import annotations

from typing import Literal

from acidsql.plans.node import Node
from acidsql.plans.sql_text import SqlText


class QueryPlan(Node):
    """Read the rows of one SQL query."""

    kind: Literal["query"] = "query"
    rows: SqlText

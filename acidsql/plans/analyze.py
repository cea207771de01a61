"""The plan of ANALYZE TABLE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.plans.node import Node
from acidsql.plans.query import QueryPlan


class AnalyzePlan(Node):
    """Count the rows of a table, or of each partition that has the values of ``partition``.

    ``partition`` None stands for the whole table. ``columns`` are those whose values are looked at,
    and ``ranges`` those of them whose least and greatest value is kept. ``query`` yields one row:
    the number of rows, two numbers for each of ``columns``, two texts for each of ``ranges``. None
    for NOSCAN.
    """

    kind: Literal["analyze"] = "analyze"
    table: TableName
    partition: tuple[tuple[str, str | None], ...] | None = None
    columns: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    query: QueryPlan | None = None

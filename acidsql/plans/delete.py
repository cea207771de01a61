"""The plan of a DELETE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node
from acidsql.plans.sql_text import SqlText


class DeletePlan(Node):
    """One delete delta with the row ids that satisfy ``where``."""

    kind: Literal["delete"] = "delete"
    table: TableName
    alias: str
    where: SqlText | None
    predicates: tuple[Predicate, ...] = ()
    row_id: bool = False

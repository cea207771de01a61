"""The plan of a TRUNCATE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.plans.node import Node


class TruncatePlan(Node):
    """A base, or a file, without rows in every partition not excluded by ``static_partition``.

    ``static_partition`` gives the value texts of some of the partition columns, or of none.
    """

    kind: Literal["truncate"] = "truncate"
    table: TableName
    static_partition: tuple[tuple[str, str | None], ...] = ()
    target: TableKind = TableKind.FULL_ACID

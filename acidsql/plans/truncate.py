"""The plan of a TRUNCATE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.plans.node import Node


class TruncatePlan(Node):
    """Write a base without rows into every partition that ``static_partition`` does not exclude.

    If the ``target`` is a plain table, it is a file without rows. ``static_partition`` gives the
    value texts of some of the partition columns, or of none.
    """

    kind: Literal["truncate"] = "truncate"
    table: TableName
    static_partition: tuple[tuple[str, str | None], ...] = ()
    target: TableKind = TableKind.FULL_ACID

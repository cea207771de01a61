"""The plan of a TRUNCATE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.plans.node import Node


class TruncatePlan(Node):
    """A base without rows in every partition that ``static_partition`` does not exclude.

    ``static_partition`` gives the value texts of some of the partition columns, or of none.
    """

    kind: Literal["truncate"] = "truncate"
    table: TableName
    static_partition: tuple[tuple[str, str | None], ...] = ()

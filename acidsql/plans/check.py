"""The plan of CHECK TABLE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import PartitionName, TableName
from acidsql.plans.node import Node


class CheckPlan(Node):
    """A table, or one partition of it, whose directories and files are looked through."""

    kind: Literal["check"] = "check"
    table: TableName
    partition: PartitionName | None

"""The plan of CHECK TABLE."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import PartitionName, TableName
from acidsql.plans.node import Node


class CheckPlan(Node):
    """Check the directories and files of a table, or of one partition of it."""

    kind: Literal["check"] = "check"
    table: TableName
    partition: PartitionName | None

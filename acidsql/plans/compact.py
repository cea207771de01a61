"""The plan of a compaction."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import PartitionName, TableName
from acidsql.plans.node import Node


class CompactPlan(Node):
    """Compact one table or partition: "minor", deltas into one delta; "major", all into a base."""

    kind: Literal["compact"] = "compact"
    table: TableName
    partition: PartitionName | None
    type: Literal["minor", "major"]

"""The plan of a compaction."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import PartitionName, TableName
from acidsql.model.sort_order import SortColumn
from acidsql.plans.node import Node


class CompactPlan(Node):
    """Compact one table or partition.

    "minor" makes one delta of the deltas, "major" a base of everything, "rebalance" a base whose
    files have equally many rows: ``buckets`` files (None: as many as now), their rows in ``order``
    (none: in that of the row ids). ``properties`` override those of the table.
    """

    kind: Literal["compact"] = "compact"
    table: TableName
    partition: PartitionName | None
    type: Literal["minor", "major", "rebalance"]
    buckets: int | None = None
    order: tuple[SortColumn, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def compression(self) -> str | None:
        """The codec that the properties ask for; None if they say nothing.

        Hive's prefix "tblprops." stands before properties of the table.
        """
        given = dict(self.properties)
        return given.get("orc.compress", given.get("tblprops.orc.compress"))

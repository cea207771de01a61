"""What ANALYZE TABLE finds has no place in a Hive Metastore.

Hive changes tables without a sign from which acidsql would notice that its statistics are not true
any more: Hive 3 truncates a table without a write id, for example.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.errors import UnsupportedStatementError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.statistics import Statistics


class WithoutStatistics:
    """The verbs of `Catalog` about statistics."""

    keeps_statistics = False

    def keep_statistics(
        self, name: TableName, kept: Mapping[PartitionName | None, Statistics]
    ) -> None:
        """UnsupportedStatementError."""
        raise UnsupportedStatementError("a Hive Metastore keeps no statistics of acidsql")

    def statistics(
        self, name: TableName, partition: PartitionName | None = None
    ) -> Statistics | None:
        """None."""
        return None

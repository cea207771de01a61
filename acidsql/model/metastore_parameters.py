"""The parameters of a table that a Hive Metastore changes by itself."""

from __future__ import annotations

STATISTICS = ("COLUMN_STATS_ACCURATE", "numRows", "rawDataSize")
"""Parameters about rows. The first says whether these and the columns' statistics are right.

If it says so, Hive answers queries from them (hive.compute.query.using.stats).
"""

KEPT_BY_METASTORE = frozenset(
    {
        *STATISTICS,
        "totalSize",
        "numFiles",
        "numFilesErasureCoded",
        "numPartitions",
        "transient_lastDdlTime",
        "last_modified_by",
        "last_modified_time",
        "STATS_GENERATED",
        "STATS_GENERATED_VIA_STATS_TASK",
        "DO_NOT_UPDATE_STATS",
        "CAPABILITIES",
    }
)
"""Parameters that the metastore changes by itself. They are no properties of the table."""

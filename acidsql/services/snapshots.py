"""What a transaction sees of tables, put together for an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.catalog import Catalog
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table
from acidsql.plans.engine import PartitionLocation, TableSnapshot


def table_snapshot(catalog: Catalog, table: Table, write_ids: ValidWriteIdList) -> TableSnapshot:
    """A table with all its directories."""
    return TableSnapshot(table, tuple(table_directories(catalog, table)), write_ids)


def table_snapshots(
    catalog: Catalog, tables: Sequence[Table], write_ids: Mapping[TableName, ValidWriteIdList]
) -> dict[TableName, TableSnapshot]:
    """`table_snapshot` for each table."""
    return {t.name: table_snapshot(catalog, t, write_ids[t.name]) for t in tables}


def table_directories(catalog: Catalog, table: Table) -> list[PartitionLocation]:
    """The directories of a table: its partitions', or its own."""
    if not table.partition_columns:
        return [PartitionLocation(None, table.location)]
    return [PartitionLocation(p.name, p.location) for p in catalog.partitions(table.name)]

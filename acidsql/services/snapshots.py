"""What a transaction sees of tables, put together for an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.catalog import Catalog
from acidsql.commit import Uncommitted
from acidsql.model.table import Table
from acidsql.plans.engine import PartitionLocation, ReadContext, TableSnapshot
from acidsql.txn.transaction import OpenTxn


def read_context(
    catalog: Catalog,
    txn: OpenTxn,
    tables: Sequence[Table],
    arguments: Mapping[str, Any],
    uncommitted: Uncommitted | None = None,
) -> ReadContext:
    """The transaction's view of some tables, with the partitions that only it knows."""
    write_ids = txn.snapshot([t.name for t in tables])
    snapshots = {}
    for table in tables:
        places = table_directories(catalog, table)
        if uncommitted is not None:
            known = {place.name for place in places}
            own = uncommitted.new_partitions(table.name)
            places += [place for place in own if place.name not in known]
        snapshots[table.name] = TableSnapshot(
            table, tuple(places), write_ids[table.name], txn.require_open
        )
    return ReadContext(txn.valid_txns, snapshots, arguments)


def table_directories(catalog: Catalog, table: Table) -> list[PartitionLocation]:
    """The directories of a table: its partitions', or its own."""
    if not table.partition_columns:
        return [PartitionLocation(None, table.location)]
    return [PartitionLocation(p.name, p.location) for p in catalog.partitions(table.name)]

"""The partitions of a table, as the metastore's own structs, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from acidsql.backends.metastore.capabilities import ASKER
from acidsql.backends.metastore.client import Call, MetastoreClient
from acidsql.backends.metastore.errors import MetaError, RefusedError
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.tables import (
    Struct,
    partition_from,
    partition_name_from,
    whole_partitions,
)
from acidsql.model.names import PartitionName

BATCH = 300
"""Partitions in one call: as many as in Hive's clients (hive.metastore.batch.retrieve.max)."""


class PartitionCalls:
    """The calls about partitions. ``table`` is always the server's own Table struct."""

    def __init__(self, client: MetastoreClient) -> None:
        self._client = client

    def names(self, table: Struct) -> list[str]:
        """The names of all partitions; [] for a table without partition columns."""
        if not table.partitionKeys:
            return []
        found: list[str] = self._client.call(
            "get_partition_names", table.dbName, table.tableName, -1
        )
        return found

    def every(
        self,
        table: Struct,
        wanted: Callable[[PartitionName], bool] = lambda _: True,
        *,
        keep_unknown: bool = True,
    ) -> Iterator[Struct]:
        """The partitions whose names are wanted. The server sends all names, but only these."""
        names = self.names(table)
        for some in batches([n for n in names if wanted(partition_name_from(n, table))]):
            yield from self.named(table, some, keep_unknown=keep_unknown)

    def named(self, table: Struct, names: Sequence[str], *, keep_unknown: bool) -> list[Struct]:
        """The partitions of these names, except names that are not there. At most some hundred."""
        request = hms.GetPartitionsByNamesRequest(
            db_name=table.dbName, tbl_name=table.tableName, names=names, **ASKER
        )
        found: list[Struct] = self._client.call_known(
            Call("get_partitions_by_names_req", (request,), lambda result: result.partitions),
            Call("get_partitions_by_names", (table.dbName, table.tableName, names)),
            keep_unknown=keep_unknown,
        )
        return whole_partitions(found)

    def filtered(self, table: Struct, text: str) -> list[Struct] | None:
        """The partitions that pass a filter in the server's language; None if they are too many.

        Also None if the server cannot filter: it filters by integers only with its own SQL, which
        may be switched off (metastore.try.direct.sql).
        """
        try:
            found: list[Struct] = self._client.call(
                "get_partitions_by_filter", table.dbName, table.tableName, text, BATCH + 1
            )
        except (MetaError, RefusedError):
            return None
        return whole_partitions(found) if len(found) <= BATCH else None

    def add(self, table: Struct, partitions: Sequence[Struct]) -> list[Struct]:
        """Add partitions. Those that are there already stay as they are, and are returned."""
        request = hms.AddPartitionsRequest(
            dbName=table.dbName,
            tblName=table.tableName,
            parts=partitions,
            ifNotExists=True,
            needResult=True,
        )
        added = self._client.call("add_partitions_req", request, keep_unknown=True).partitions
        new = {tuple(p.values) for p in (partitions if added is None else whole_partitions(added))}
        others = [p for p in partitions if tuple(p.values) not in new]
        names = [str(partition_from(p, table).name) for p in others]
        return self.named(table, names, keep_unknown=False) if names else []

    def drop(self, table: Struct, names: Sequence[str]) -> None:
        """Drop partitions. Their files stay."""
        request = hms.DropPartitionsRequest(
            dbName=table.dbName,
            tblName=table.tableName,
            parts=hms.RequestPartsSpec(names=names),
            deleteData=False,
            ifExists=True,
            needResult=False,
        )
        self._client.call("drop_partitions_req", request)

    def alter(self, table: Struct, partitions: Sequence[Struct]) -> None:
        """Replace the partitions that have the same values."""
        context = hms.EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true"})
        for some in batches(partitions):
            request = hms.AlterPartitionsRequest(
                dbName=table.dbName,
                tableName=table.tableName,
                partitions=some,
                environmentContext=context,
            )
            older = (table.dbName, table.tableName, some, context)
            self._client.call_known(
                Call("alter_partitions_req", (request,)),
                Call("alter_partitions_with_environment_context", older),
                keep_unknown=True,
            )

    def rename(self, values: Sequence[str], struct: Struct) -> None:
        """Replace the partition with these values by another one."""
        request = hms.RenamePartitionRequest(
            catName=struct.catName,  # this call fails without the name of the server's catalog
            dbName=struct.dbName,
            tableName=struct.tableName,
            partVals=values,
            newPart=struct,
        )
        self._client.call_known(
            Call("rename_partition_req", (request,)),
            Call("rename_partition", (struct.dbName, struct.tableName, values, struct)),
            keep_unknown=True,
            repeatable=False,
        )


def batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    """The items in lists of no more than `BATCH`."""
    for start in range(0, len(items), BATCH):
        yield list(items[start : start + BATCH])

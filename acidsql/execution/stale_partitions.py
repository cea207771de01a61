"""New partitions whose directories hold rows of committed writes: those rows would come back.

A partition that the catalog does not name has no rows. But its directory may be there: somebody has
copied it, or a process died before it could remove it. An INSERT that makes the partition anew must
not show such rows as its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.errors import AnalysisError
from acidsql.layout.dir_names import (
    DeltaDir,
    highest_write_id,
    lowest_write_id,
    parse_directory,
)
from acidsql.layout.listing import may_be_streamed
from acidsql.model.ids import WriteId
from acidsql.model.predicate import membership
from acidsql.model.snapshot import Range
from acidsql.ports.catalog import Catalog
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage, without_login


def refuse_stale_partitions(
    new: Iterable[PartitionLocation],
    snapshot: TableSnapshot,
    own: WriteId,
    catalog: Catalog,
    storage: Storage,
) -> None:
    """AnalysisError if a new partition of a transactional table shows rows that are not its own.

    ``new`` are those that the snapshot has not; ``own`` is the write id of the statement.
    """
    for place in new:
        stale = _stale(place.location, snapshot, own, storage)
        if stale is None or place.name is None:
            continue
        known = catalog.partitions_for(snapshot.table, membership([place.name]))
        if any(partition.name == place.name for partition in known):
            continue  # another writer has made it meanwhile
        raise AnalysisError(
            f"the new partition {place.name} of {snapshot.table.name} has rows already",
            detail=f"{without_login(place.location)}/{stale} has rows of an earlier write.",
            hint="Remove the directory if its rows are to be gone. ADD PARTITION makes a partition"
            " of them.",
        )


def _stale(location: str, snapshot: TableSnapshot, own: WriteId, storage: Storage) -> str | None:
    """A directory in the location whose rows readers would see beside the statement's own."""
    for name in storage.list_directories(location):
        found = parse_directory(name)
        if found is None:
            continue
        low, high = lowest_write_id(found), highest_write_id(found)
        if low <= own <= high:
            continue  # its own, or that of its batch
        valid = snapshot.write_ids.range_valid(low, high)
        # A stream that died before it made the partition known may have left a delta of its batch,
        # of which earlier transactions were committed: they wrote elsewhere.
        is_streamed = isinstance(found, DeltaDir) and may_be_streamed(found)
        if valid is Range.ALL or (valid is Range.SOME and not is_streamed):
            return name
    return None

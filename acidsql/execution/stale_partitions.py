"""New partitions whose directories hold rows of committed writes: those rows would come back.

A partition that the catalog does not name has no rows. But its directory may be there: somebody has
copied it, or a process died before it could remove it. An INSERT that makes the partition anew must
not show such rows as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidsql.errors import AnalysisError
from acidsql.layout.dir_names import (
    BaseDir,
    DeltaDir,
    highest_write_id,
    lies_hidden,
    lowest_write_id,
    named_write_ids,
    parse_directory,
)
from acidsql.layout.listing import may_be_streamed
from acidsql.model.ids import NO_TXN, WriteId
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
    directories = map(parse_directory, storage.list_directories(location))
    others = [d for d in directories if d and not _is_own(d, own)]
    emptied = _emptied(location, others, snapshot, own, storage)
    for found in others:
        low, high = lowest_write_id(found), highest_write_id(found)
        if high <= emptied:
            continue
        valid = snapshot.write_ids.range_valid(low, high)
        # A stream that died before it made the partition known may have left a delta of its batch,
        # of which earlier transactions were committed: they wrote elsewhere.
        is_streamed = isinstance(found, DeltaDir) and may_be_streamed(found)
        if valid is Range.ALL or (valid is Range.SOME and not is_streamed):
            return found.name
    return None


def _is_own(directory: BaseDir | DeltaDir, own: WriteId) -> bool:
    """Whether the directory is that of the statement, or of its batch."""
    low, high = named_write_ids(directory)
    return low <= own <= high


def _emptied(
    location: str,
    directories: Sequence[BaseDir | DeltaDir],
    snapshot: TableSnapshot,
    own: WriteId,
    storage: Storage,
) -> WriteId:
    """The write id up to which a base without rows hides all rows; 0 if there is no such base.

    With hive.acid.droppartition.usebase, a DROP PARTITION of Hive 4 leaves one. Its cleaner removes
    what the base hides. A base above ``own`` would hide the statement's rows, too. One of a
    compaction may be that of an aborted transaction.
    """
    bases = [
        d
        for d in directories
        if isinstance(d, BaseDir) and d.write_id < own and d.visibility_id == NO_TXN
    ]
    for base in sorted(bases, key=highest_write_id, reverse=True):
        files = storage.list_files(f"{location}/{base.name}")
        # Hive does not see a base without any file.
        is_empty = bool(files) and all(lies_hidden(file.path) for file in files)
        is_committed = snapshot.write_ids.range_valid(base.write_id, base.write_id) is Range.ALL
        if is_empty and is_committed:
            return base.write_id
    return WriteId(0)

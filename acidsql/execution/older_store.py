"""Writes are refused if the store is older than the directories: names hold ids it has not given
out.

A store is older after it was brought back from a backup beside newer directories. It would give out
write ids that writes there have already. The new rows would be mixed with old ones or hidden by
them, and the files of an aborted write, which are found by its write id, would be removed with old
ones. An id that the store gave out says nothing: an aborted transaction may have left the
directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acidsql.errors import StorageError
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import table_directories
from acidsql.layout.acid_state import older_store_hint
from acidsql.layout.dir_names import highest_write_id, impossible_number, parse_directory
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import PartitionName
from acidsql.model.table import Table, TableKind
from acidsql.plans.insert import InsertPlan, LiteralRows, literal_partitions
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import TableWrite, fixed_partition, partition_predicates
from acidsql.ports.storage import Storage
from acidsql.process.threads import STORAGE_THREADS, in_threads
from acidsql.txn.manager import TxnManager


@dataclass(frozen=True, slots=True)
class UnknownIds:
    """A directory with an id that the store has not given out.

    ``write_id`` and ``txn_id`` are the highest that the store gave out.
    """

    path: str
    write_id: WriteId
    txn_id: TxnId


def refuse_older_store(plan: TableWrite, target: Table, scope: Scope) -> None:
    """StorageError if the store is older than the directories that the write may reach.

    Asked before the write gets its write id, which would be one of theirs. A session looks once at
    what writes of one table and the same partitions reach, since its store does not go back while
    it is connected.
    """
    if target.kind is TableKind.PLAIN:
        return
    columns = {c.name for c in target.partition_columns}
    predicates = tuple(p for p in partition_predicates(plan, target) if p.column in columns)
    reached = (target.name, target.location, predicates)
    if reached in scope.compared:
        return
    known = table_directories(scope.store, target, predicates)
    new = [f"{target.location}/{name}" for name in _named(plan, target)]
    places = list(dict.fromkeys([*(p.location for p in known), *new]))
    found = unknown_ids(target, places, scope.store, scope.storage)
    if found is not None:
        raise StorageError(
            f"the transaction store does not know the write that left {found.path}",
            detail=f"The store has given out write ids up to {found.write_id} of {target.name} and"
            f" transactions up to {found.txn_id}. It is older than the files, perhaps because it"
            " was restored from a backup.",
            hint=older_store_hint(target.name),
        )
    scope.compared.add(reached)


def unknown_ids(
    table: Table, places: Sequence[str], txns: TxnManager, storage: Storage
) -> UnknownIds | None:
    """The directory with the highest write id or txn id that the store has not given out, if any.

    An id that no store can have given out does not count: no reader takes it, and no store comes up
    to it. The store is asked after the listing, since a writer has its ids before it makes a
    directory.
    """
    listed = in_threads(storage.list_directories, places, STORAGE_THREADS)
    names = [
        (f"{place}/{name}", name) for place, ns in zip(places, listed, strict=True) for name in ns
    ]
    found = [
        (path, directory)
        for path, name in names
        if (directory := parse_directory(name)) is not None and not impossible_number(directory)
    ]
    if not found:
        return None
    valid_txns = txns.valid_txns()
    write_id = txns.valid_write_ids([table.name], valid_txns)[table.name].high_watermark
    txn_id = valid_txns.high_watermark
    unknown = [
        (path, d) for path, d in found if highest_write_id(d) > write_id or d.visibility_id > txn_id
    ]
    if not unknown:
        return None
    path, _ = max(unknown, key=lambda pair: (highest_write_id(pair[1]), pair[1].visibility_id))
    return UnknownIds(path, write_id, txn_id)


def _named(plan: TableWrite, target: Table) -> Iterable[PartitionName]:
    """The partitions that the plan names, which the catalog may not know."""
    columns = [c.name for c in target.partition_columns]
    if not isinstance(plan, InsertPlan | LoadPlan) or not columns:
        return ()
    if isinstance(plan, InsertPlan) and isinstance(plan.rows, LiteralRows):
        return literal_partitions(plan, plan.rows, columns)
    named = fixed_partition(plan, target)
    return () if named is None else (named,)

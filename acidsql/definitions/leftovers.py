"""What aborted writes left, removed before a definition takes the place out of the cleaner's sight.

The store remembers an aborted transaction for as long as it has a record of a partition it wrote
into, and the cleaner drops the record with the files, which it looks for where the partition is.
Once the store forgets, write ids count as committed. So whoever drops such a record, or has a
partition lie elsewhere, removes the files first.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.execution.scope import Scope
from acidsql.layout.obsolete import aborted
from acidsql.model.naming import partition_path
from acidsql.model.own_path import OwnPath
from acidsql.model.table import Table, TableKind
from acidsql.ports.catalog import Partition
from acidsql.ports.storage import list_marked_files


def remove_leftovers(table: Table, locations: Sequence[str], scope: Scope) -> None:
    """Remove the directories of aborted writes anywhere below some directories of a table.

    Its writers are locked out. No snapshot reads what is removed. StorageError if something stays.
    """
    if table.kind is TableKind.PLAIN:
        return
    txns = scope.store.valid_txns()
    write_ids = scope.store.valid_write_ids([table.name], txns)[table.name]
    if not write_ids.aborted:
        return
    for location in locations:
        files, markers = list_marked_files(location, scope.storage)
        for path in aborted(files, write_ids, txns, markers, table.kind):
            scope.storage.remove(OwnPath(location, path))


def leave_own_places(table: Table, partitions: Sequence[Partition], scope: Scope) -> None:
    """`remove_leftovers` where partitions that will lie elsewhere would lie of themselves.

    Whoever wrote into one before the catalog knew it, wrote there.
    """
    own = [(p, partition_path(table.location, p.name)) for p in partitions]
    remove_leftovers(table, [place for p, place in own if p.location != place], scope)

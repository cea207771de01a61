"""Leftovers: the files of aborted writes. Some definitions must remove them before they commit.

The store remembers an aborted transaction as long as it has a record of a partition that the
transaction wrote into. The cleaner removes the files, which it looks for in the partition's
directory, and then the record. Once the store has forgotten a transaction, its write ids count as
committed. So a definition that drops such a record, or gives a partition another directory, must
remove the files first: afterwards the cleaner does not find them.
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
    """Remove the directories of aborted writes below some directories of a table.

    The caller's lock keeps writers out. No snapshot reads the removed directories. StorageError if
    one cannot be removed.
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


def clear_default_places(table: Table, partitions: Sequence[Partition], scope: Scope) -> None:
    """Remove leftovers from the default directories of partitions that will lie elsewhere.

    A write into a partition that the catalog did not know yet went to the default directory.
    """
    own = [(p, partition_path(table.location, p.name)) for p in partitions]
    remove_leftovers(table, [place for p, place in own if p.location != place], scope)

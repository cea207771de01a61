"""Which files of a plain or an insert-only table a snapshot reads."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.engines.selection import (
    SelectedFile,
    Selection,
    directory_state,
    require_directory,
)
from acidsql.layout.acid_state import AcidState
from acidsql.layout.dir_names import lies_hidden
from acidsql.layout.listing import DataFile, data_file
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import TableKind
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage


def select_row_files(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionLocation],
    txns: ValidTxnList,
    storage: Storage,
) -> Selection:
    """The files in reading order. StorageError for what cannot be listed."""
    found: list[SelectedFile] = []
    for index, partition in enumerate(partitions):
        for file in row_files(snapshot, partition, txns, storage):
            path = f"{partition.location}/{file.path}"
            found.append(SelectedFile(index, path, file.size, file.bucket_id, row_filter=False))
    return Selection(tuple(partitions), tuple(found), ())


def row_files(
    snapshot: TableSnapshot, partition: PartitionLocation, txns: ValidTxnList, storage: Storage
) -> list[DataFile]:
    """The files of one directory. MissingFileError if the directory is missing."""
    if snapshot.table.kind is TableKind.INSERT_ONLY:
        return data_files(directory_state(snapshot, partition, txns, storage))
    listed = storage.list_files(partition.location)
    if not listed:
        require_directory(snapshot, partition.location, storage)
    shown = [f for f in listed if f.size and not lies_hidden(f.path)]
    return [data_file(f.path, f.size) for f in shown]


def data_files(state: AcidState) -> list[DataFile]:
    """The files of the base and the deltas of an insert-only table, which has no deletes."""
    bases = () if state.base is None else (state.base,)
    return [file for directory in (*bases, *state.deltas) for file in directory.files]

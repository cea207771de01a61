"""Which files of a table a snapshot reads: listings in, the layout's decision out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from acidsql.errors import UnsupportedStatementError
from acidsql.layout.acid_state import AcidState, SelectedDir, acid_state
from acidsql.layout.listing import DataFile
from acidsql.model.ids import BucketId
from acidsql.model.snapshot import ValidTxnList
from acidsql.plans.engine import PartitionLocation, TableSnapshot
from acidsql.storage import Storage, read_markers

_LISTING_THREADS = 16


@dataclass(frozen=True, slots=True)
class SelectedFile:
    """A file to read.

    ``partition`` is the index of its directory in the selection. ``row_filter`` says that it may
    hold events the snapshot does not see.
    """

    partition: int
    path: str
    size: int
    bucket_id: BucketId | None
    row_filter: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """The files of the directories of one table, in reading order."""

    partitions: tuple[PartitionLocation, ...]
    inserts: tuple[SelectedFile, ...]
    deletes: tuple[SelectedFile, ...]

    @property
    def size(self) -> int:
        """The bytes of the insert files."""
        return sum(f.size for f in self.inserts)


def select_files(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionLocation],
    txns: ValidTxnList,
    storage: Storage,
) -> Selection:
    """What the snapshot reads of these directories. StorageError for what cannot be listed."""
    with ThreadPoolExecutor(_LISTING_THREADS) as pool:
        states = list(pool.map(lambda p: directory_state(snapshot, p, txns, storage), partitions))
    inserts: list[SelectedFile] = []
    deletes: list[SelectedFile] = []
    for index, (partition, state) in enumerate(zip(partitions, states, strict=True)):
        _refuse_foreign_files(snapshot, partition, state)
        bases = () if state.base is None else (state.base,)
        for directory in (*bases, *state.deltas):
            inserts += _files(index, partition, directory)
        for directory in state.delete_deltas:
            deletes += _files(index, partition, directory)
    return Selection(tuple(partitions), tuple(inserts), tuple(deletes))


def directory_state(
    snapshot: TableSnapshot, partition: PartitionLocation, txns: ValidTxnList, storage: Storage
) -> AcidState:
    """The layout's decision about one directory."""
    files = storage.list_files(partition.location)
    markers = read_markers(files, partition.location, storage)
    return acid_state(files, snapshot.write_ids, txns, markers, snapshot.table.kind)


def _files(index: int, partition: PartitionLocation, directory: SelectedDir) -> list[SelectedFile]:
    def selected(file: DataFile) -> SelectedFile:
        path = f"{partition.location}/{file.path}"
        return SelectedFile(index, path, file.size, file.bucket_id, directory.needs_row_filter)

    return [selected(f) for f in directory.files]


def _refuse_foreign_files(
    snapshot: TableSnapshot, partition: PartitionLocation, state: AcidState
) -> None:
    """What is understood by the layout but not read yet must not be passed over in silence."""
    raw = [d.path for d in (state.base, *state.deltas) if d is not None and d.raw]
    streamed = [f.path for d in state.deltas for f in d.files if f.side_file is not None]
    for what, found in (
        ("files from before the table became ACID", [f.path for f in state.originals]),
        ("files of LOAD DATA", raw),
        ("files that a streaming writer has open", streamed),
    ):
        if found:
            raise UnsupportedStatementError(
                f'table "{snapshot.table.name}" holds {what}, which cannot be read yet',
                detail=f"{partition.location}: {', '.join(found[:3])}",
                hint="A major compaction by Hive turns them into a base.",
            )

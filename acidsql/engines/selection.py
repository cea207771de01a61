"""Which files of a table a snapshot reads: listings in, the layout's decision out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from acidsql.errors import CorruptFileError, MissingFileError, StorageError
from acidsql.layout.acid_state import (
    AcidState,
    SelectedDir,
    acid_state_and_history,
    lost_parts,
    not_enough_history,
    older_store_hint,
)
from acidsql.layout.dir_names import FLUSH_LENGTH_SUFFIX, BaseDir, DeltaDir
from acidsql.layout.listing import DataFile, ListedFile
from acidsql.layout.missing import missing_writes
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import BUCKET_ID_MAX, STATEMENT_ID_MAX, RowId, encode_bucket
from acidsql.model.snapshot import Range, ValidTxnList
from acidsql.model.table import TableKind
from acidsql.orc.belonging import require_columns, require_kind, require_plain
from acidsql.orc.footer import FileTail, read_tail
from acidsql.orc.reader import opened_source, valid_length
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage, list_marked_files, missing_directory
from acidsql.process.threads import STORAGE_THREADS, in_threads

_ORIGINAL = WriteId(0)


@dataclass(frozen=True, slots=True)
class SelectedFile:
    """A file to read.

    ``partition`` is the index of its directory in the selection. ``row_filter`` says that the file
    may hold events that the snapshot does not see. ``first`` is set for a file of plain rows, an
    original or a loaded one: the row id of its first row, from which the others are counted.
    ``length`` is set for a file that is still streamed into: how many of its bytes are valid.
    ``tail`` is set if it was needed or asked for. ``only_inserts`` is that of its directory.
    """

    partition: int
    path: str
    size: int
    bucket_id: BucketId | None
    row_filter: bool
    first: RowId | None = None
    side_file: str | None = None
    length: int | None = None
    tail: FileTail | None = None
    only_inserts: bool = False


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
    *,
    tails: bool = False,
) -> Selection:
    """The files that the snapshot reads in these directories; with ``tails`` insert files have
    theirs.

    StorageError for a directory or file that cannot be listed or read.
    """
    states = in_threads(
        lambda p: directory_state(snapshot, p, txns, storage), partitions, STORAGE_THREADS
    )
    inserts: list[SelectedFile] = []
    deletes: list[SelectedFile] = []
    for index, (partition, state) in enumerate(zip(partitions, states, strict=True)):
        inserts += insert_files(index, partition, state)
        deletes += delete_files(index, partition, state)
    opened = opened_files(inserts, storage, tails=tails)
    if snapshot.table.is_unchanged:
        for file in opened:
            if file.tail is not None and file.first is None:
                require_columns(file.tail, file.path, snapshot.table.columns)
    return Selection(tuple(partitions), opened, tuple(deletes))


def directory_state(
    snapshot: TableSnapshot, partition: PartitionLocation, txns: ValidTxnList, storage: Storage
) -> AcidState:
    """Which files of one directory the snapshot reads, as the layout decides.

    StorageError if files that the snapshot needs are gone; MissingFileError if the directory is, or
    that of a committed write.
    """
    files, markers = list_marked_files(partition.location, storage)
    if not files:
        require_directory(snapshot, partition.location, storage)
    _require_written(snapshot, partition, files, txns, storage)
    lost = lost_parts(files, txns)
    if lost is not None:
        raise StorageError(
            f"the snapshot does not know the compaction that wrote {partition.location}/{lost},"
            " and the directories that were compacted are gone",
            detail="Either the transaction store is older than the files, perhaps because it was"
            " restored from a backup, or the read has timed out.",
            hint=older_store_hint(snapshot.table.name),
        )
    state, has_history = acid_state_and_history(
        files, snapshot.write_ids, txns, markers, snapshot.table.kind
    )
    if not has_history:
        # A compaction overtook the snapshot. If the snapshot's transaction is still open after the
        # listing, nothing that it needs had been cleaned when the files were listed.
        if snapshot.require_open is None:
            raise not_enough_history(snapshot.write_ids)
        snapshot.require_open()
    return state


def _require_written(
    snapshot: TableSnapshot,
    partition: PartitionLocation,
    files: Sequence[ListedFile],
    txns: ValidTxnList,
    storage: Storage,
) -> None:
    """MissingFileError if a write that the snapshot knows as committed has no directory."""
    if partition.name is not None or not snapshot.write_ids.written:
        return
    lost = missing_writes(files, (), snapshot.write_ids.written, snapshot.write_ids, txns)
    if lost and not storage.missing_is_empty:
        name = DeltaDir(lost[0], lost[0]).name
        raise MissingFileError(
            f"write id {lost[0]} was committed to table {snapshot.table.name}, and no file has it",
            detail=f"Neither a file of {name} nor a compaction of it lies in {partition.location}.",
            hint="Bring the files back; CHECK TABLE names all that are missing. To give up"
            " their rows, overwrite the table with what is left of it, in a session with"
            " acidsql.missing.directory.is.empty = true.",
        )


def must_exist(snapshot: TableSnapshot, storage: Storage) -> bool:
    """Whether each directory of the table has to be there.

    An object store has no directory where nothing was written, unless a marker stands for it. There
    the answer is yes only once a write to a transactional table was committed.
    """
    if storage.has_directories:
        return True
    written = snapshot.write_ids.range_valid(WriteId(1), snapshot.write_ids.high_watermark)
    return snapshot.table.kind is not TableKind.PLAIN and written is not Range.NONE


def require_directory(snapshot: TableSnapshot, location: str, storage: Storage) -> None:
    """MissingFileError if a directory of the table, in which no file was found, is missing."""
    if must_exist(snapshot, storage) and storage.is_missing(location):
        raise missing_directory(location, snapshot.table.name)


def insert_files(
    index: int, partition: PartitionLocation, state: AcidState, *, with_base: bool = True
) -> list[SelectedFile]:
    """The files that add rows, not opened yet.

    With ``with_base`` those of the base and the original files are among them.
    """
    found: list[SelectedFile] = []
    if with_base:
        found += [_original(index, partition, file) for file in state.originals]
    bases = (state.base,) if with_base and state.base is not None else ()
    for directory in (*bases, *state.deltas):
        found += _files(index, partition, directory)
    return found


def delete_files(index: int, partition: PartitionLocation, state: AcidState) -> list[SelectedFile]:
    """The files of delete events."""
    return [file for d in state.delete_deltas for file in _files(index, partition, d)]


def opened_files(
    files: Sequence[SelectedFile], storage: Storage, *, tails: bool = False
) -> tuple[SelectedFile, ...]:
    """The files with their valid lengths and row numbers, which are read from the files themselves.

    Files that turn out to have no rows are left out. StorageError for a file that cannot be read,
    or whose content does not fit its place.
    """
    if not tails and all(f.first is None and f.side_file is None for f in files):
        return tuple(files)
    opened = in_threads(lambda f: _opened(f, storage, tails=tails), files, STORAGE_THREADS)
    return tuple(_numbered(f for f in opened if f is not None))


def source_of(path: str, storage: Storage) -> BinaryIO | str:
    """What the ORC reader opens: a local path, or a stream."""
    return storage.local_path(path) or storage.open_input(path)


def tail_of(path: str, storage: Storage) -> FileTail:
    """The tail of a file. MissingFileError or CorruptFileError as from `read_tail`."""
    with opened_source(source_of(path, storage), path) as source:
        return read_tail(source, path)


def _files(index: int, partition: PartitionLocation, directory: SelectedDir) -> list[SelectedFile]:
    return [_selected(index, partition, directory, file) for file in directory.files]


def _selected(
    index: int, partition: PartitionLocation, directory: SelectedDir, file: DataFile
) -> SelectedFile:
    location = partition.location
    path = f"{location}/{file.path}"
    first = _first_row(path, file.bucket_id, *plain_row_ids(directory)) if directory.raw else None
    if not file.size and file.side_file is None:
        raise CorruptFileError(
            f'file "{path}" has no bytes',
            detail="A file of events has a footer at least: it has lost its rows.",
        )
    side = None if file.side_file is None else f"{location}/{file.side_file}"
    if side is None and directory.may_grow:
        # The listing may have missed it: the writer may have begun the file meanwhile.
        side = f"{path}{FLUSH_LENGTH_SUFFIX}"
    return SelectedFile(
        index,
        path,
        file.size,
        file.bucket_id,
        directory.needs_row_filter,
        first,
        side,
        only_inserts=directory.only_inserts,
    )


def _original(index: int, partition: PartitionLocation, file: DataFile) -> SelectedFile:
    path = f"{partition.location}/{file.path}"
    first = _first_row(path, file.bucket_id, _ORIGINAL, StatementId(0))
    return SelectedFile(index, path, file.size, file.bucket_id, False, first)


def plain_row_ids(directory: SelectedDir) -> tuple[WriteId, StatementId]:
    """The write id and statement id of plain rows, which have none of their own."""
    if isinstance(directory.directory, BaseDir):
        return directory.directory.write_id, StatementId(0)
    return directory.directory.min_write_id, directory.directory.statement_id or StatementId(0)


def _first_row(
    path: str, bucket_id: BucketId | None, write_id: WriteId, statement_id: StatementId
) -> RowId:
    """The row id of the first row of the first plain file of its bucket."""
    if bucket_id is None:
        raise StorageError(
            f'file "{path}" has no bucket number in its name',
            detail="Files from before a table became ACID, or of LOAD DATA, are called 000000_0 or"
            " 000000_0_copy_1. Hive cannot read a table with any other file either.",
            hint="Is the table partitioned, or is the file not meant to be there?",
        )
    if bucket_id > BUCKET_ID_MAX or statement_id > STATEMENT_ID_MAX:
        raise StorageError(
            f'the rows of file "{path}" cannot have row ids',
            detail=f"The last bucket of a row id is {BUCKET_ID_MAX}, the last statement"
            f" {STATEMENT_ID_MAX}.",
        )
    return RowId(write_id, encode_bucket(bucket_id, statement_id), 0)


def _opened(file: SelectedFile, storage: Storage, *, tails: bool) -> SelectedFile | None:
    """The file with length and tail; None if it has no rows."""
    if file.side_file is not None:
        file = replace(file, length=streamed_length(file.side_file, storage))
        if file.length == 0:
            return None  # the writer has committed nothing yet
    if not tails and file.first is None and file.length is None:
        return file
    tail = read_tail(source_of(file.path, storage), file.path, file.length)
    if not tail.rows:
        return None
    if not tail.is_acid and file.first is None:
        raise CorruptFileError(
            f'file "{file.path}" is not an ACID file',
            detail=f"Its columns are {', '.join(tail.column_names)}.",
        )
    if tail.is_acid:
        require_kind(tail, file.path, is_delete=False)
    if tail.is_acid and file.first is not None:
        if file.first.write_id == _ORIGINAL:
            require_plain(tail, file.path)
        return replace(file, first=None, tail=tail)
    return replace(file, tail=tail)


def streamed_length(side_file: str, storage: Storage) -> int | None:
    """How many bytes of a file are valid by its side file; None if all of them are.

    The writer removes the side file once the file has its last byte.
    """
    try:
        with storage.open_input(side_file) as stream:
            return valid_length(stream.read(), side_file)
    except MissingFileError:
        return None


def _numbered(files: Iterable[SelectedFile]) -> Iterable[SelectedFile]:
    """The files with the row numbers of plain rows, which go on from file to file of a bucket.

    The files count in the order of their paths. Hive's OrcRawRecordMerger numbers so per write id,
    statement and bucket.
    """
    counts: dict[tuple[int, WriteId, int], int] = {}
    for file in files:
        if file.first is None or file.tail is None:
            yield file
            continue
        key = (file.partition, file.first.write_id, file.first.bucket_property)
        number = counts.get(key, 0)
        counts[key] = number + file.tail.rows
        yield replace(file, first=replace(file.first, row_number=number))

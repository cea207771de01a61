"""Files of a listing, and which of a directory's files hold rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.layout.dir_names import (
    FLUSH_LENGTH_SUFFIX,
    BaseDir,
    DeltaDir,
    file_bucket_id,
    lies_hidden,
    parse_bucket_file,
    parse_original_file,
)
from acidsql.model.ids import BucketId
from acidsql.model.table import TableKind


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of a recursive listing: path relative to the listed directory, size in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that holds rows.

    ``bucket_id`` is None when the name gives none. While a streaming writer has the file open,
    ``side_file`` is the path of the file that says how many of its bytes are valid.
    """

    path: str
    size: int
    bucket_id: BucketId | None
    side_file: str | None = None


def data_file(path: str, size: int, side_file: str | None = None) -> DataFile:
    """The data file, with the bucket its name gives."""
    return DataFile(path, size, file_bucket_id(path.rpartition("/")[2]), side_file)


def directory_files(
    directory: BaseDir | DeltaDir,
    path: str,
    files: Sequence[ListedFile],
    compacted: bool,
    kind: TableKind,
) -> tuple[bool, tuple[DataFile, ...]]:
    """Whether the files of a directory are raw, and those that hold rows, in path order.

    ``files`` are relative to the directory. Files in directories inside it count as its own, as in
    Hive 4. Empty files are left out, except files of events that no writer leaves empty: to read
    those must be an error.
    """
    shown = [f for f in files if not lies_hidden(f.path)]
    if kind is TableKind.INSERT_ONLY:
        return False, _data_files(path, [f for f in shown if f.size > 0], {})
    raw = _is_raw(directory, shown, compacted)
    side_files = {f.path for f in shown if f.path.endswith(FLUSH_LENGTH_SUFFIX)}
    match directory:
        case DeltaDir() if raw:
            shown = [f for f in shown if parse_original_file(_name(f)) is not None]
        case DeltaDir():
            shown = [f for f in shown if _name(f).startswith("bucket_")]
        case BaseDir():
            pass
    streamed = isinstance(directory, DeltaDir) and may_be_streamed(directory)
    sides = {f.path: f.path + FLUSH_LENGTH_SUFFIX for f in shown} if streamed else {}
    sides = {f: s for f, s in sides.items() if s in side_files}
    # A file without events still has a footer, so an empty file is damaged. It stays in the
    # listing, and reading it is an error: without it rows would be lost, or deleted rows would come
    # back. An empty file that a streaming writer has open stays, too, because its side file says
    # how much was committed.
    is_delete = isinstance(directory, DeltaDir) and directory.is_delete
    shown = [
        f
        for f in shown
        if f.path not in side_files
        and (f.size > 0 or f.path in sides or is_delete or (not raw and _has_lost_rows(f)))
    ]
    return raw, _data_files(path, shown, sides)


def _data_files(
    path: str, files: Sequence[ListedFile], sides: dict[str, str]
) -> tuple[DataFile, ...]:
    return tuple(
        data_file(
            f"{path}/{f.path}", f.size, f"{path}/{sides[f.path]}" if f.path in sides else None
        )
        for f in sorted(files, key=lambda file: file.path)
    )


def _is_raw(directory: BaseDir | DeltaDir, files: Sequence[ListedFile], compacted: bool) -> bool:
    """Whether LOAD DATA put plain files here, by their names; Hive looks into a footer as well."""
    match directory:
        case BaseDir() if compacted:
            return False
        case DeltaDir() if directory.is_delete or directory.min_write_id != directory.max_write_id:
            return False
    return any(parse_original_file(_name(f)) is not None for f in files)


def may_be_streamed(delta: DeltaDir) -> bool:
    """Whether the delta may be that of a streaming writer's batch."""
    return (
        not delta.is_delete
        and delta.min_write_id != delta.max_write_id
        and delta.visibility_id == 0
    )


def _has_lost_rows(empty: ListedFile) -> bool:
    """Whether an empty file has lost its contents.

    Hive 4's vectorised writer may lose the rows of an INSERT into a bucketed table. It then leaves
    an empty ``bucket_N_A``, which all of Hive's readers skip. No writer leaves an empty
    ``bucket_N``.
    """
    bucket = parse_bucket_file(_name(empty))
    return bucket is not None and bucket.attempt is None


def _name(file: ListedFile) -> str:
    return file.path.rpartition("/")[2]

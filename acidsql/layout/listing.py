"""Files of a listing, and which of a directory's files hold rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.layout.dir_names import (
    FLUSH_LENGTH_SUFFIX,
    BaseDir,
    DeltaDir,
    file_bucket_id,
    is_hidden,
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

    ``bucket_id`` is None when the name gives none. ``side_file`` is the path of the file that says
    how much of this one is valid, while a streaming writer has it open.
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
    Hive 4. Empty files are left out, but for those of events that nobody writes empty.
    """
    shown = [f for f in files if not any(map(is_hidden, f.path.split("/")))]
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
    streamed = isinstance(directory, DeltaDir) and _may_be_streamed(directory)
    sides = {f.path: f.path + FLUSH_LENGTH_SUFFIX for f in shown} if streamed else {}
    sides = {f: s for f, s in sides.items() if s in side_files}
    # An empty file of events is no file of no events: read, it fails, and loses or brings back no
    # row. Nor does one that is streamed into say that nothing was committed: its side file does.
    is_delete = isinstance(directory, DeltaDir) and directory.is_delete
    shown = [
        f
        for f in shown
        if f.path not in side_files
        and (f.size > 0 or f.path in sides or is_delete or (not raw and _is_cut_off(f)))
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
    """Whether LOAD DATA put plain files here; by name, Hive would look into a footer as well."""
    match directory:
        case BaseDir() if compacted:
            return False
        case DeltaDir() if directory.is_delete or directory.min_write_id != directory.max_write_id:
            return False
    return any(parse_original_file(_name(f)) is not None for f in files)


def _may_be_streamed(delta: DeltaDir) -> bool:
    return (
        not delta.is_delete
        and delta.min_write_id != delta.max_write_id
        and delta.visibility_id == 0
    )


def _is_cut_off(empty: ListedFile) -> bool:
    """Whether an empty file must have had bytes.

    Hive 4 leaves one, called ``bucket_N_A``, where its vectorised writer of a bucketed table lost
    the rows of an INSERT; all readers of Hive pass over it. Nobody leaves an empty ``bucket_N``.
    """
    bucket = parse_bucket_file(_name(empty))
    return bucket is not None and bucket.attempt is None


def _name(file: ListedFile) -> str:
    return file.path.rpartition("/")[2]

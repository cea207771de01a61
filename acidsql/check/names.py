"""Checks the names below one directory: a listing goes in, problems come out.

Only names and sizes are judged, of every directory that is there, whether readers use it or not.
Whether a file holds what its name says is checked by reading it (`check.checked_file`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from acidsql.layout.dir_names import (
    FIRST_BASE_WRITE_ID,
    FLUSH_LENGTH_SUFFIX,
    METADATA_FILE,
    VERSION_FILE,
    BaseDir,
    DeltaDir,
    highest_write_id,
    is_hidden,
    lies_hidden,
    named_write_ids,
    parse_bucket_file,
    parse_directory,
    parse_original_file,
)
from acidsql.layout.listing import ListedFile
from acidsql.model.ids import WriteId
from acidsql.model.problem import Problem, ProblemKind
from acidsql.model.snapshot import Range, ValidWriteIdList
from acidsql.model.table import FileFormat, TableKind

_HARMLESS = frozenset({"_SUCCESS"})


@dataclass(frozen=True, slots=True)
class Names:
    """The facts by which names are judged: kind, format and bucketing of the table, and write ids.

    ``write_ids`` is the snapshot. ``highest`` is the highest write id that was given out; the store
    was asked after the listing was made. While ``compacting``, a worker may be writing a hidden
    directory. The files of a write id that is still open are not judged.
    """

    kind: TableKind
    write_ids: ValidWriteIdList
    highest: WriteId
    compacting: bool = False
    format: FileFormat = FileFormat.ORC
    bucketed: bool = False


def name_problems(
    files: Iterable[ListedFile], directories: Sequence[str], names: Names
) -> Iterator[Problem]:
    """The problems of one table or partition directory; paths are relative to it.

    ``directories`` are the names of all directories directly below it, also of empty ones.
    """
    inside: dict[str, list[ListedFile]] = {name: [] for name in directories}
    for file in files:
        first, slash, rest = file.path.partition("/")
        if slash:
            inside.setdefault(first, []).append(ListedFile(rest, file.size))
        else:
            yield from _loose_file(file, names)
    for name, held in sorted(inside.items()):
        yield from _directory(name, sorted(held, key=lambda f: f.path), names)


def _is_aborted(directory: BaseDir | DeltaDir, names: Names) -> bool:
    """Whether no write id of the directory was committed."""
    return names.write_ids.range_valid(*named_write_ids(directory)) is Range.NONE


def _is_unfinished(directory: BaseDir | DeltaDir, names: Names) -> bool:
    """Whether a writer may still be at work in this directory."""
    low, high = named_write_ids(directory)
    began_later = names.write_ids.high_watermark < high <= names.highest
    return began_later or any(low <= w <= high for w in names.write_ids.open)


def _loose_file(file: ListedFile, names: Names) -> Iterator[Problem]:
    if is_hidden(file.path):
        if file.path not in _HARMLESS:
            yield Problem(file.path, ProblemKind.LEFT_BEHIND, "a hidden file that no reader uses")
    elif names.kind is TableKind.PLAIN:
        yield from _empty(file.path, file, names)
    elif names.kind is TableKind.INSERT_ONLY:
        yield Problem(
            file.path, ProblemKind.UNKNOWN_NAME, "a file outside of every delta is not read"
        )
    elif parse_original_file(file.path) is None:
        yield Problem(
            file.path, ProblemKind.UNKNOWN_NAME, "neither an original file nor in a delta"
        )


def _directory(name: str, held: Sequence[ListedFile], names: Names) -> Iterator[Problem]:
    directory = None if names.kind is TableKind.PLAIN else parse_directory(name)
    if directory is not None:
        yield from _acid_directory(name, directory, held, names)
    elif is_hidden(name):
        if not names.compacting:
            what = "a hidden directory that no reader uses, left by a write or compaction"
            yield Problem(name, ProblemKind.LEFT_BEHIND, what)
    elif names.kind is TableKind.FULL_ACID and not any(_is_original(f) for f in held):
        yield Problem(name, ProblemKind.UNKNOWN_NAME, "neither a base nor a delta")
    elif names.kind is TableKind.INSERT_ONLY:
        yield Problem(name, ProblemKind.UNKNOWN_NAME, "neither a base nor a delta, so not read")


def _acid_directory(
    name: str, directory: BaseDir | DeltaDir, held: Sequence[ListedFile], names: Names
) -> Iterator[Problem]:
    if directory.name != name:
        detail = f"Hive 4 looks for {directory.name}"
        yield Problem(name, ProblemKind.UNPADDED_NAME, detail)
    highest = highest_write_id(directory)
    if highest > names.highest and highest != FIRST_BASE_WRITE_ID:
        detail = f"the highest write id that was given out is {names.highest}"
        yield Problem(name, ProblemKind.UNKNOWN_WRITE_ID, detail)
    if names.kind is TableKind.INSERT_ONLY and name.startswith("delete_"):
        yield Problem(name, ProblemKind.UNKNOWN_NAME, "an insert-only table has no deletes")
        return
    if _is_unfinished(directory, names):
        return
    for file in held:
        path = f"{name}/{file.path}"
        for problem in _file(directory, file, names):
            yield Problem(path, problem.kind, problem.detail)
    if names.kind is TableKind.FULL_ACID:
        yield from _two_files(name, held)


def _file(directory: BaseDir | DeltaDir, file: ListedFile, names: Names) -> Iterator[Problem]:
    folder, _, name = file.path.rpartition("/")
    if lies_hidden(file.path):
        if name not in (VERSION_FILE, METADATA_FILE) or folder:
            yield Problem(name, ProblemKind.LEFT_BEHIND, "a hidden file that no reader uses")
        return
    if names.kind is TableKind.INSERT_ONLY:
        return  # Hive 3 and Hive 4 write empty files where they have no rows
    if folder:
        yield Problem(
            name, ProblemKind.UNKNOWN_NAME, "nested in a delta, where Hive 3 and Trino do not look"
        )
    if _is_side_file(directory, name):
        return
    bucket = parse_bucket_file(name)
    if bucket is None and not _may_be_raw(directory, name):
        yield Problem(name, ProblemKind.UNKNOWN_NAME, "not read: it is not called bucket_N")
        return
    if bucket is not None and bucket.name != name:
        yield Problem(name, ProblemKind.UNPADDED_NAME, f"readers look for {bucket.name}")
    # A Hive that streams, one transaction at a time, leaves an empty file where it aborts.
    if not _is_aborted(directory, names):
        yield from _empty(name, file, names)


def _empty(path: str, file: ListedFile, names: Names) -> Iterator[Problem]:
    # Two kinds of empty files have lost nothing: text files without rows, and the files that Hive 3
    # writes for buckets of a plain table without rows (Utilities.createEmptyBuckets).
    rowless = names.bucketed and names.kind is TableKind.PLAIN
    if file.size == 0 and names.format is not FileFormat.TEXT and not rowless:
        yield Problem(path, ProblemKind.EMPTY_FILE, "the file has no bytes: its rows are lost")


def _two_files(name: str, held: Sequence[ListedFile]) -> Iterator[Problem]:
    """Find second files of a bucket: readers and compactors take one file for each bucket."""
    seen: dict[int, str] = {}
    for file in held:
        bucket = parse_bucket_file(file.path)
        if bucket is None:
            continue
        other = seen.setdefault(bucket.bucket_id, file.path)
        if other != file.path:
            detail = f"{other} has the same bucket"
            yield Problem(f"{name}/{file.path}", ProblemKind.TWO_FILES, detail)


def _is_side_file(directory: BaseDir | DeltaDir, name: str) -> bool:
    return (
        name.endswith(FLUSH_LENGTH_SUFFIX)
        and isinstance(directory, DeltaDir)
        and not directory.is_delete
        and directory.min_write_id != directory.max_write_id
    )


def _may_be_raw(directory: BaseDir | DeltaDir, name: str) -> bool:
    """Whether LOAD DATA may have put the file here."""
    if isinstance(directory, DeltaDir) and (
        directory.is_delete or directory.min_write_id != directory.max_write_id
    ):
        return False
    return parse_original_file(name) is not None


def _is_original(file: ListedFile) -> bool:
    return parse_original_file(file.path.rpartition("/")[2]) is not None

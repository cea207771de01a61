"""Which files in a table's directory do not belong to the table: a listing in, paths out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from acidsql.layout.dir_names import (
    METADATA_FILE,
    UNFINISHED_FILE,
    VERSION_FILE,
    is_hidden,
    parse_bucket_file,
    parse_compaction_attempt,
    parse_directory,
    parse_original_file,
)
from acidsql.layout.listing import ListedFile
from acidsql.model.table import TableKind

_MARKS = frozenset({VERSION_FILE, METADATA_FILE, UNFINISHED_FILE, "_SUCCESS"})
_ATTEMPTS = re.compile(r"_attempt_[0-9a-f]{32}_.*|\.dropped_[0-9a-f]{32}")
"""Files that no writer has published (engines/target.py), and a partition that is being dropped."""


def foreign_files(
    files: Iterable[ListedFile], kind: TableKind, partition_columns: Sequence[str]
) -> list[str]:
    """The paths of the files that do not belong to the table.

    In a plain table every file belongs to it that is not hidden. ``partition_columns`` are those
    whose directories the paths begin with.

    >>> listed = [ListedFile("base_3/bucket_00000", 9), ListedFile("notes.txt", 9)]
    >>> foreign_files(listed, TableKind.FULL_ACID, [])
    ['notes.txt']
    """
    return [f.path for f in files if not _belongs(f.path.split("/"), kind, partition_columns)]


def is_unpublished(path: str) -> bool:
    """Whether a path below a table leads to a file that no writer has published.

    >>> is_unpublished(f"_attempt_{'0' * 32}_1/bucket_00000"), is_unpublished("base_1/bucket_00000")
    (True, False)
    """
    return any(map(_is_attempt, path.split("/")))


def _is_attempt(part: str) -> bool:
    return bool(_ATTEMPTS.fullmatch(part) or parse_compaction_attempt(part))


def _belongs(parts: list[str], kind: TableKind, partition_columns: Sequence[str]) -> bool:
    if any(map(_is_attempt, parts)):
        return True
    if parts[-1] in _MARKS:
        return True
    for column in partition_columns:
        key, equals, _ = parts.pop(0).partition("=")
        if not equals or key.lower() != column or not parts:
            return False
    if kind is TableKind.PLAIN:
        return not any(map(is_hidden, parts))
    if any(map(parse_directory, parts[:-1])):
        return True
    name = parts[-1]
    original = parse_original_file(name) or parse_bucket_file(name)
    return original is not None and not any(map(is_hidden, parts))


def without(paths: Iterable[str], kept: Sequence[str]) -> list[str]:
    """The files and whole directories to remove so that only the ``kept`` paths stay.

    >>> without(["a/b/1", "a/b/2", "a/c", "d"], ["a/c"])
    ['a/b', 'd']
    """
    needed = {"/".join(p.split("/")[:depth]) for p in kept for depth in range(1, p.count("/") + 2)}
    doomed = set()
    for path in paths:
        parts = path.split("/")
        tops = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        top = next((t for t in tops if t not in needed), None)
        if top is not None:
            doomed.add(top)
    return sorted(doomed)

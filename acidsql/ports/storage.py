"""The Storage port: list, open, rename and remove files below a warehouse.

Paths are URIs or absolute paths as the catalog stores them; the implementations stand in
``acidsql/filesystems.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, Protocol
from urllib.parse import unquote

from acidsql.errors import MissingFileError, StorageError
from acidsql.layout.dir_names import METADATA_FILE
from acidsql.layout.listing import ListedFile
from acidsql.model.credentials import HIDDEN
from acidsql.model.own_path import OwnPath

_USER = r":/+[^/@:%]*(?:%(?!3a)[^/@:%]*)*(?::|%3a)"
_LOGIN = re.compile(
    rf"((?:s3[an]?|gc?s){_USER}|[a-z][a-z0-9+.-]*{_USER}(?!\d+(?:/|$))).*(?=@)",
    re.IGNORECASE | re.DOTALL,
)
"""What is behind a user and a colon in an authority; that is no port, which a bucket has not."""
_FILE = re.compile(r"file:(?://[^/]*)?(.*)", re.IGNORECASE | re.DOTALL)
_LISTINGS_MAX = 10
"""How often a directory is listed in which one thing after the other goes."""


class Storage(Protocol):
    """What the core needs of a file system. Every verb raises StorageError with the path in it.

    What changes something takes plain paths alone: see `is_plain_path`.
    """

    @property
    def renames_exclusively(self) -> bool:
        """Whether of two that rename to one name at the same time one fails. Otherwise names must
        be such that no two choose the same.
        """
        ...

    def list_files(self, directory: str) -> list[ListedFile]:
        """Every file below the directory, recursively, sorted by path; [] if there is none.

        Hidden files are listed too.
        """
        ...

    def list_directories(self, directory: str) -> list[str]:
        """The names of the directories directly below, sorted; [] if the directory is missing."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""
        ...

    @property
    def has_directories(self) -> bool:
        """Whether a directory can be there with nothing in it; an object store has but prefixes."""
        ...

    def is_missing(self, directory: str) -> bool:
        """Whether a directory that the catalog names is not there; of a prefix, nothing below it.

        Always False where a missing directory is to count as an empty one.
        """
        ...

    def make_directory(self, path: str) -> None:
        """Create the directory and its parents, durably; fine if it is there."""
        ...

    def open_input(self, path: str) -> BinaryIO:
        """A seekable stream over a file. MissingFileError if it is not there."""
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Create a file, parents included, durable when the call returns."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory, whose new parents are made; PathExistsError if the target is
        there. A directory may replace an empty one.
        """
        ...

    def remove(self, own: OwnPath) -> None:
        """Remove a file, or a directory with everything in it, below a location; fine if it is not
        there. A link goes, not what it leads to.

        StorageError for a path that does not lead down from there, through a link perhaps.
        """
        ...

    def remove_location(self, location: str) -> None:
        """Remove the directory of a table, partition or database that is dropped, or a file that is
        moved from where the user named it; as `remove`.
        """
        ...

    def resolve(self, path: str) -> str:
        """The path, symbolic links resolved: equal for what is the same place. In front is the file
        system, if it is not this machine's. StorageError for a path of another one.
        """
        ...

    @property
    def local(self) -> Storage:
        """The storage of this machine's files, which LOCAL names; itself where it is that."""
        ...

    def local_path(self, path: str) -> str | None:
        """The path in the local file system, or None where the storage is not local."""
        ...

    def put_file(self, source: str, path: str) -> None:
        """Bring a finished local file under a path of the storage, durable when the call returns.

        Where the storage is local, ``source`` may be ``path`` itself. The source is used up.
        """
        ...


def missing_directory(directory: str, table: object) -> MissingFileError:
    """What a statement is told that reads or writes where there must be a directory."""
    return MissingFileError(
        f"the directory {without_login(directory)} of table {table} does not exist",
        detail="The catalog names it, so rows may be lost: a table without rows has a directory.",
        hint="Bring it back. Should its rows be gone, make an empty directory there, or DROP the"
        " table or the partition; MSCK REPAIR TABLE … DROP PARTITIONS drops each whose directory"
        " is missing.",
    )


def require_present(directory: str, table: object, storage: Storage) -> None:
    """MissingFileError if a directory is missing that the catalog names; of a prefix nobody knows,
    since nothing may have been written below it.
    """
    if storage.has_directories and storage.is_missing(directory):
        raise missing_directory(directory, table)


def require_inside(location: str, path: str, storage: Storage) -> None:
    """StorageError if a link leads from a path below a location to elsewhere."""
    outer, inner = storage.resolve(location).rstrip("/"), storage.resolve(path)
    if inner != outer and not inner.startswith(f"{outer}/"):
        raise StorageError(
            f"a link leads from {path} out of {location}",
            detail=f"It leads to {inner}, which may be somebody else's.",
            hint="MSCK REPAIR TABLE takes in a partition whose directory is a link, unless the link"
            " leads to what is somebody else's.",
        )


def local_path_of(location: str) -> str | None:
    """The local path behind a path or ``file:`` URI, or None.

    >>> local_path_of("file:///a%20b/c"), local_path_of("/a b/c"), local_path_of("s3://bucket/c")
    ('/a b/c', '/a b/c', None)

    All that is behind the authority is the path, as for Hadoop.

    >>> local_path_of("file:///a?b#c")
    '/a?b#c'
    """
    file = _FILE.fullmatch(location)
    if file is not None:
        return unquote(file[1])
    return location if "://" not in location else None


def without_login(location: str) -> str:
    """A path or URI as it may be shown: without the password or key in front of a bucket.

    A key may have slashes in it that were not encoded; what may be one goes up to the last ``@``.

    >>> without_login("s3://key:secret@bucket/w"), without_login("abfs://container@account/w")
    ('s3://key:***@bucket/w', 'abfs://container@account/w')
    >>> without_login("hdfs://nn:8020/w/p=a@b"), without_login("s3://key:se/cret@bucket/w")
    ('hdfs://nn:8020/w/p=a@b', 's3://key:***@bucket/w')
    """
    return _LOGIN.sub(rf"\1{HIDDEN}", location)


def is_plain_path(path: str) -> bool:
    """Whether an absolute path or URI leads down all the way, and to something below the root.

    What is removed or moved by a path with ``..`` in it lies elsewhere than the path looks.

    >>> is_plain_path("/w/t/p=.."), is_plain_path("/w/../t"), is_plain_path("w/t")
    (True, False, False)
    >>> is_plain_path("hdfs://nn/w/t"), is_plain_path("hdfs:///w/t"), is_plain_path("hdfs:///")
    (True, True, False)
    """
    scheme, colon, rest = path.partition("://")
    below = rest if rest.startswith("/") else f"/{rest}"  # hdfs:///w has the usual authority
    local = local_path_of(path) if not colon or scheme == "file" else below
    if local is None or not local.startswith("/") or "\0" in local:
        return False
    parts = local[1:].split("/")
    return not any(part in ("", ".", "..") for part in parts)


def list_marked_files(
    directory: str, storage: Storage
) -> tuple[list[ListedFile], Mapping[str, str]]:
    """Every file below the directory, and the text of each ``_metadata_acid`` by its directory.

    What is listed and gone when it is read is of a directory that a compaction publishes or that
    the cleaner removes, and the rest of the listing is as old: then all is listed again.
    """
    for _ in range(_LISTINGS_MAX - 1):
        files = storage.list_files(directory)
        with suppress(MissingFileError):
            return files, _markers(files, directory, storage)
    files = storage.list_files(directory)
    return files, _markers(files, directory, storage)


def _markers(files: Sequence[ListedFile], location: str, storage: Storage) -> Mapping[str, str]:
    markers = {}
    for file in files:
        directory, _, name = file.path.rpartition("/")
        if name == METADATA_FILE:
            with storage.open_input(f"{location}/{file.path}") as stream:
                markers[directory] = stream.read().decode("utf-8", "replace")
    return markers

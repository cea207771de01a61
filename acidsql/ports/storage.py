"""The Storage port: list, open, rename and remove files below a warehouse.

Paths are URIs or absolute paths, as the catalog stores them. The implementations are in
`backends.storage`.
"""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, Protocol
from urllib.parse import unquote

from acidsql.errors import MissingFileError, StorageError
from acidsql.layout.dir_names import METADATA_FILE
from acidsql.layout.listing import ListedFile
from acidsql.model.credentials import HIDDEN
from acidsql.model.own_path import OwnPath, lies_in

_USER = r":/+[^/@:%]*(?:%(?!3a)[^/@:%]*)*(?::|%3a)"
_LOGIN = re.compile(
    rf"((?:s3[an]?|gc?s){_USER}|[a-z][a-z0-9+.-]*{_USER}(?!\d+(?:/|$))).*(?=@)",
    re.IGNORECASE | re.DOTALL,
)
"""A password: the text after a user and a colon in an authority, up to the last ``@``.

Digits after the colon may be a port instead, but not for a bucket, which has no port.
"""
_FILE = re.compile(r"file:(?://[^/]*)?(.*)", re.IGNORECASE | re.DOTALL)
_LISTINGS_MAX = 10
"""How often a directory is listed if files vanish between the listing and the reading."""


class Storage(Protocol):
    """What the core needs of a file system. Every verb raises StorageError with the path in it.

    Verbs that change something take only plain paths (see `is_plain_path`).
    """

    @property
    def renames_exclusively(self) -> bool:
        """Whether one of two simultaneous renames to the same name fails.

        If not, writers must choose names so that no two choose the same.
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
        """Whether there can be an empty directory. An object store has only prefixes of names."""
        ...

    @property
    def missing_is_empty(self) -> bool:
        """Whether what is missing counts as empty, by `acidsql.missing.directory.is.empty`."""
        ...

    def is_missing(self, directory: str) -> bool:
        """Whether a directory that the catalog names is missing.

        In an object store: whether no name begins with the prefix. Always False if
        ``missing_is_empty``.
        """
        ...

    def make_directory(self, path: str) -> None:
        """Create the directory and its parents, durably. No error if it is there."""
        ...

    def open_input(self, path: str) -> BinaryIO:
        """A seekable stream over a file. MissingFileError if it is not there."""
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Create a file and its parents. The file is durable when the call returns."""
        ...

    @property
    def appends(self) -> bool:
        """Whether `append` can add bytes to a file. Object stores only replace whole files."""
        ...

    def append(self, path: str, data: bytes, size: int) -> None:
        """Add bytes to the end of a file that has ``size`` bytes. Durable when the call returns.

        Readers may have the file open meanwhile: the bytes before stay as they are. StorageError
        if the file has another size, MissingFileError if it is not there.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory. Missing parents of the target are made.

        PathExistsError if the target is there, except that a directory may replace an empty one.
        """
        ...

    def remove(self, own: OwnPath) -> None:
        """Remove a file, or a directory with everything in it, below a location.

        No error if it is not there. A symbolic link is removed, not the files it leads to.
        StorageError for a path that leads out of the location, as through a link.
        """
        ...

    def remove_location(self, location: str) -> None:
        """Remove a location itself, as `remove` does.

        It is the directory of a dropped table, partition or database, or a file that LOAD DATA has
        moved.
        """
        ...

    def remove_empty(self, location: str) -> None:
        """Remove a location that holds no file, with the directories in it; else nothing happens.

        A file that comes in meanwhile stays, except in an object store, which has no directories.
        """
        ...

    def resolve(self, path: str) -> str:
        """The path with symbolic links resolved: equal for two paths of the same place.

        The file system comes first in it, unless it is this machine's. StorageError for a path of
        another file system than the storage's.
        """
        ...

    @property
    def local(self) -> Storage:
        """The storage of this machine's files, to which LOCAL refers; perhaps this one itself."""
        ...

    def local_path(self, path: str) -> str | None:
        """The path in the local file system, or None where the storage is not local."""
        ...

    def put_file(self, source: str, path: str) -> None:
        """Put a finished local file at a path of the storage. Durable when the call returns.

        ``source`` is gone afterwards. If the storage is local, ``source`` may be ``path`` itself.
        """
        ...


def local_draft(path: str, storage: Storage) -> str:
    """Where a file of the storage is written, for `Storage.put_file` to bring it to its path.

    At that path if it is local, else in the directory for temporary files, under a name of its own.
    """
    return storage.local_path(path) or os.path.join(tempfile.gettempdir(), uuid.uuid4().hex)


def missing_directory(directory: str, table: object) -> MissingFileError:
    """The error of a statement that reads or writes a directory that is missing."""
    return MissingFileError(
        f"the directory {without_login(directory)} of table {table} does not exist",
        detail="Rows may be lost: the catalog names the directory, and a table without rows has"
        " one, too.",
        hint="Bring the directory back. If its rows are gone, make an empty directory there, or"
        " DROP the table or the partition; MSCK REPAIR TABLE … DROP PARTITIONS drops all"
        " partitions whose directory is missing.",
    )


def require_present(directory: str, table: object, storage: Storage) -> None:
    """MissingFileError if a directory that the catalog names is missing.

    In an object store this checks nothing: a prefix may have no files because none were written.
    """
    if storage.has_directories and storage.is_missing(directory):
        raise missing_directory(directory, table)


def require_inside(location: str, path: str, storage: Storage) -> None:
    """StorageError if a link leads from a path below a location to elsewhere."""
    inner = storage.resolve(path)
    if not lies_in(inner, storage.resolve(location)):
        raise StorageError(
            f"a link leads from {path} out of {location}",
            detail=f"The link leads to {inner}, which may belong to somebody else.",
            hint="MSCK REPAIR TABLE adds a partition whose directory is a link, unless the link"
            " leads to a directory of somebody else.",
        )


def local_path_of(location: str) -> str | None:
    """The local path behind a path or ``file:`` URI, or None.

    >>> local_path_of("file:///a%20b/c"), local_path_of("/a b/c"), local_path_of("s3://bucket/c")
    ('/a b/c', '/a b/c', None)

    Everything after the authority is the path, as in Hadoop.

    >>> local_path_of("file:///a?b#c")
    '/a?b#c'
    """
    file = _FILE.fullmatch(location)
    if file is not None:
        return unquote(file[1])
    return location if "://" not in location else None


def without_login(location: str) -> str:
    """A path or URI as it may be shown: without the password or key in front of a bucket.

    A key may contain slashes that are not encoded, so a secret may reach up to the last ``@``.

    >>> without_login("s3://key:secret@bucket/w"), without_login("abfs://container@account/w")
    ('s3://key:***@bucket/w', 'abfs://container@account/w')
    >>> without_login("hdfs://nn:8020/w/p=a@b"), without_login("s3://key:se/cret@bucket/w")
    ('hdfs://nn:8020/w/p=a@b', 's3://key:***@bucket/w')
    """
    return _LOGIN.sub(rf"\1{HIDDEN}", location)


def is_plain_path(path: str) -> bool:
    """Whether an absolute path or URI has no ``.``, ``..`` or empty part, and is not the root.

    A path with ``..`` names another place than it seems to: the wrong files might be removed.

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

    If a listed file is gone when it is read, a compaction has published its directory under another
    name or the cleaner has removed it. The rest of the listing is then old, too, so the directory
    is listed again.
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

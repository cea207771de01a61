"""The Storage port over the local file system."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from acidsql.backends.storage.exclusive_rename import rename_exclusively
from acidsql.backends.storage.verbs import (
    clear_errors,
    path_exists,
    refuse_strange,
    require_size,
    until_gone,
)
from acidsql.errors import StorageError
from acidsql.layout.dir_names import lies_hidden
from acidsql.layout.listing import ListedFile
from acidsql.model.own_path import OwnPath, lies_in
from acidsql.ports.storage import Storage, local_path_of, without_login


class LocalStorage:
    """Files of this machine, or of a file system mounted on it.

    Hadoop keeps a checksum ``.NAME.crc`` beside each file it writes there, and fails to read a file
    that is not the one summed up. As in its ChecksumFileSystem, a checksum is not listed and goes
    where its file goes. Files written here have none, which Hadoop takes as they are.
    """

    renames_exclusively = True
    has_directories = True
    appends = True

    def __init__(self, *, missing_is_empty: bool = False) -> None:
        self.missing_is_empty = missing_is_empty

    def list_files(self, directory: str) -> list[ListedFile]:
        root = self._path(directory)
        found: list[ListedFile] = []
        with clear_errors("list", directory):
            if _is_there(root):
                self._list(root, "", found)
        return sorted(found, key=lambda f: f.path)

    def _list(self, directory: Path, prefix: str, found: list[ListedFile]) -> None:
        with os.scandir(directory) as entries:
            for entry in entries:
                # What the cleaner removes while we list is nothing that a snapshot reads.
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_dir():
                        self._list(Path(entry.path), f"{prefix}{entry.name}/", found)
                    elif not _is_checksum(entry.name):
                        _refuse_broken_link(entry, prefix)
                        found.append(ListedFile(f"{prefix}{entry.name}", entry.stat().st_size))

    def list_directories(self, directory: str) -> list[str]:
        root = self._path(directory)
        with clear_errors("list", directory):
            if not _is_there(root):
                return []
            return sorted(entry.name for entry in os.scandir(root) if entry.is_dir())

    def exists(self, path: str) -> bool:
        with clear_errors("look at", path):
            return _is_there(self._path(path))

    def is_missing(self, directory: str) -> bool:
        return not self.missing_is_empty and not self.exists(directory)

    def make_directory(self, path: str) -> None:
        refuse_strange("create", path)
        with clear_errors("create", path):
            _make_directories(self._path(path))

    def open_input(self, path: str) -> BinaryIO:
        with clear_errors("read", path):
            return self._path(path).open("rb")

    def write_file(self, path: str, data: bytes) -> None:
        refuse_strange("write", path)
        target = self._path(path)
        with clear_errors("write", path):
            _make_directories(target.parent)
            _remove_checksum(target)
            with target.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            _sync_directory(target.parent)

    def append(self, path: str, data: bytes, size: int) -> None:
        refuse_strange("write", path)
        with clear_errors("write", path), self._path(path).open("r+b", buffering=0) as stream:
            require_size(path, stream.seek(0, os.SEEK_END), size)
            left = memoryview(data)
            while left:
                left = left[stream.write(left) :]
            os.fsync(stream.fileno())

    def put_file(self, source: str, path: str) -> None:
        refuse_strange("write", path)
        target = self._path(path)
        with clear_errors("write", path):
            _remove_checksum(target)
            if Path(source) != target:
                shutil.move(source, target)
            with target.open("rb") as stream:
                os.fsync(stream.fileno())
            _sync_directory(target.parent)

    def rename(self, source: str, target: str) -> None:
        refuse_strange("rename", source, target)
        old, new = self._path(source), self._path(target)
        with clear_errors("rename", source):
            if os.path.lexists(new):
                raise path_exists(source, target)
            _make_directories(new.parent)
            # An old checksum must be gone before the new file is there.
            _remove_checksum(new)
            try:
                rename_exclusively(old, new)
            except FileExistsError:
                raise path_exists(source, target) from None
            _move_checksum(old, new)
            _sync_directory(new.parent)

    def remove(self, own: OwnPath) -> None:
        refuse_strange("remove", own.location, str(own))
        with clear_errors("remove", str(own)):
            self._refuse_link(own)
            until_gone(self._remove, str(own))

    def _refuse_link(self, own: OwnPath) -> None:
        """What lies behind a link in the middle of a path is not below the location."""
        outer = os.path.realpath(self._path(own.location))
        parent = os.path.realpath(self._path(str(own)).parent)
        if not lies_in(parent, outer):
            raise StorageError(
                f"cannot remove {own}: a link leads out of {own.location}",
                detail=f"It lies in {parent}, so nothing is touched.",
            )

    def remove_location(self, location: str) -> None:
        refuse_strange("remove", location)
        with clear_errors("remove", location):
            until_gone(self._remove, location)

    def remove_empty(self, location: str) -> None:
        refuse_strange("remove", location)
        if self.list_files(location):
            return
        root = self._path(location)
        with clear_errors("remove", location):
            if root.is_symlink():
                root.unlink()
                return
            for directory, _, names in os.walk(root, topdown=False):
                _remove_unless_filled(Path(directory), names)

    def _remove(self, path: str) -> None:
        target = self._path(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
            _remove_checksum(target)

    def resolve(self, path: str) -> str:
        with clear_errors("look at", path):
            return os.path.realpath(self._path(path))

    @property
    def local(self) -> Storage:
        return self

    def local_path(self, path: str) -> str | None:
        return str(self._path(path))

    def _path(self, path: str) -> Path:
        local = local_path_of(path)
        if local is None:
            raise StorageError(
                f"{without_login(path)} is not a local path",
                hint="The warehouse lies on this machine, and so do all files of the session.",
            )
        return Path(local)


def _remove_unless_filled(directory: Path, names: Sequence[str]) -> None:
    """Remove a directory if nothing but checksums is in it. ``names`` are those of its files."""
    if all(map(_is_checksum, names)):
        for name in names:
            (directory / name).unlink(missing_ok=True)
        try:
            directory.rmdir()
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise


def _is_there(path: Path) -> bool:
    """Whether a path leads to something. OSError if the system does not tell.

    ``Path.exists`` takes a loop of links for nothing and, from Python 3.14 on, every error.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _refuse_broken_link(entry: os.DirEntry[str], prefix: str) -> None:
    """StorageError for a link to nothing that readers would not pass over."""
    if not entry.is_symlink() or lies_hidden(f"{prefix}{entry.name}"):
        return
    # A link that has gone meanwhile is no longer a link.
    if os.path.islink(entry.path) and not os.path.exists(entry.path):
        raise StorageError(
            f"cannot read {entry.path}: it is a link to nothing",
            detail=f"It leads to {os.readlink(entry.path)}.",
            hint="Bring that back. If its rows are gone for good, remove the link.",
        )


def _make_directories(directory: Path) -> None:
    """Make a directory and its parents, each durable in the one above."""
    missing = []
    at = directory
    while not at.is_dir() and at != at.parent:
        missing.append(at)
        at = at.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    # What is made or renamed in a directory is durable only once the directory is.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checksum(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def _remove_checksum(file: Path) -> None:
    with _no_room_for_checksums():
        _checksum(file).unlink(missing_ok=True)


def _move_checksum(old: Path, new: Path) -> None:
    with _no_room_for_checksums(), contextlib.suppress(FileNotFoundError):
        _checksum(old).rename(_checksum(new))
    _remove_checksum(old)


@contextlib.contextmanager
def _no_room_for_checksums() -> Iterator[None]:
    """A file whose name is nearly as long as names may be has no checksum, and can get none."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise


def _is_checksum(name: str) -> bool:
    return name.startswith(".") and name.endswith(".crc")

"""The Storage port over the local file system and over pyarrow.fs."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.fs as pafs

from acidsql.backends.exclusive_rename import rename_exclusively
from acidsql.backends.file_system_uri import PLAIN_PATHS, URI, FileSystemUri
from acidsql.errors import ConfigError, MissingFileError, PathExistsError, StorageError
from acidsql.layout.dir_names import lies_hidden
from acidsql.layout.listing import ListedFile
from acidsql.model.own_path import OwnPath, lies_in
from acidsql.ports.storage import Storage, is_plain_path, local_path_of, without_login

_APPENDING = ("hdfs", "local")
"""The file systems of pyarrow, by their ``type_name``, that can add bytes to a file."""

_OF_DIRECTORIES = ("hdfs", "local", "mock")
"""The file systems of pyarrow, by their ``type_name``, that keep an empty directory."""


def storage_for(location: str, *, missing_is_empty: bool = False) -> Storage:
    """The storage that holds a path or URI. ConfigError for a scheme pyarrow does not know.

    With ``missing_is_empty`` no directory of a table is missing, as for Hive.
    """
    if local_path_of(location) is not None:
        return LocalStorage(missing_is_empty=missing_is_empty)
    filesystem, home = _connected(location)
    return ArrowStorage(filesystem, home, missing_is_empty=missing_is_empty)


def _connected(location: str) -> tuple[pafs.FileSystem, FileSystemUri]:
    """The file system of a URI, asked for by its scheme and authority alone.

    pyarrow decodes what is encoded in the path and takes ``?`` for options of its own, where Hadoop
    takes all that is behind the authority as the path.
    """
    shown = without_login(location)
    match = URI.fullmatch(location)
    if match is None or "?" in location or "#" in location:
        raise ConfigError(
            f"{shown} is no URI of a warehouse",
            hint="Write scheme://authority/path, without options.",
        )
    try:
        filesystem, root = pafs.FileSystem.from_uri(f"{match[1]}://{match[2] or ''}/")
        return filesystem, FileSystemUri.of(location, root)
    except (pa.ArrowInvalid, OSError, ImportError) as error:
        if shown == location:
            raise ConfigError(f"no file system for {location}", detail=str(error)) from error
    # Not inside of the block, whose error may quote a part of a key.
    raise ConfigError(f"no file system for {shown}")


@contextlib.contextmanager
def _clear_errors(action: str, path: str) -> Iterator[None]:
    """Every error of the operating system, as ours with the path in it."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _clear_error(action, without_login(path), error) from error


def _clear_error(action: str, path: str, error: OSError | ValueError) -> StorageError:
    if isinstance(error, FileNotFoundError):
        return MissingFileError(f"cannot {action} {path}: it does not exist")
    if isinstance(error, ValueError):  # a NUL, or what no file name can be written as
        return StorageError(f"cannot {action} {path!r}: {error}")
    hint = "Check that the path is writable." if isinstance(error, PermissionError) else None
    return StorageError(f"cannot {action} {path}: {error.strerror or error}", hint=hint)


def _refuse_strange(action: str, *paths: str) -> None:
    for path in paths:
        if not is_plain_path(path):
            raise StorageError(
                f"cannot {action} {without_login(path)!r}: it is no plain absolute path",
                detail="Where it leads to cannot be seen from it, so nothing is touched.",
            )


def _require_size(path: str, found: int, expected: int) -> None:
    if found != expected:
        raise StorageError(
            f"cannot write {without_login(path)}: it has {found} bytes, not {expected}",
            detail="Somebody else has changed the file, or an earlier write to it broke off.",
        )


def _path_exists(source: str, target: str) -> PathExistsError:
    return PathExistsError(
        f"cannot rename {without_login(source)} to {without_login(target)}: the target exists"
    )


def _until_gone(remove: Callable[[str], None], path: str) -> None:
    """Remove what may go away meanwhile, as two cleaners remove the same."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return remove(path)


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
        with _clear_errors("list", directory):
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
        with _clear_errors("list", directory):
            if not _is_there(root):
                return []
            return sorted(entry.name for entry in os.scandir(root) if entry.is_dir())

    def exists(self, path: str) -> bool:
        with _clear_errors("look at", path):
            return _is_there(self._path(path))

    def is_missing(self, directory: str) -> bool:
        return not self.missing_is_empty and not self.exists(directory)

    def make_directory(self, path: str) -> None:
        _refuse_strange("create", path)
        with _clear_errors("create", path):
            _make_directories(self._path(path))

    def open_input(self, path: str) -> BinaryIO:
        with _clear_errors("read", path):
            return self._path(path).open("rb")

    def write_file(self, path: str, data: bytes) -> None:
        _refuse_strange("write", path)
        target = self._path(path)
        with _clear_errors("write", path):
            _make_directories(target.parent)
            _remove_checksum(target)
            with target.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            _sync_directory(target.parent)

    def append(self, path: str, data: bytes, size: int) -> None:
        _refuse_strange("write", path)
        with _clear_errors("write", path), self._path(path).open("r+b", buffering=0) as stream:
            _require_size(path, stream.seek(0, os.SEEK_END), size)
            left = memoryview(data)
            while left:
                left = left[stream.write(left) :]
            os.fsync(stream.fileno())

    def put_file(self, source: str, path: str) -> None:
        _refuse_strange("write", path)
        target = self._path(path)
        with _clear_errors("write", path):
            _remove_checksum(target)
            if Path(source) != target:
                shutil.move(source, target)
            with target.open("rb") as stream:
                os.fsync(stream.fileno())
            _sync_directory(target.parent)

    def rename(self, source: str, target: str) -> None:
        _refuse_strange("rename", source, target)
        old, new = self._path(source), self._path(target)
        with _clear_errors("rename", source):
            if os.path.lexists(new):
                raise _path_exists(source, target)
            _make_directories(new.parent)
            # An old checksum must be gone before the new file is there.
            _remove_checksum(new)
            try:
                rename_exclusively(old, new)
            except FileExistsError:
                raise _path_exists(source, target) from None
            _move_checksum(old, new)
            _sync_directory(new.parent)

    def remove(self, own: OwnPath) -> None:
        _refuse_strange("remove", own.location, str(own))
        with _clear_errors("remove", str(own)):
            self._refuse_link(own)
            _until_gone(self._remove, str(own))

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
        _refuse_strange("remove", location)
        with _clear_errors("remove", location):
            _until_gone(self._remove, location)

    def remove_empty(self, location: str) -> None:
        _refuse_strange("remove", location)
        if self.list_files(location):
            return
        root = self._path(location)
        with _clear_errors("remove", location):
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
        with _clear_errors("look at", path):
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


class ArrowStorage:
    """HDFS and object stores, through pyarrow.fs, whose moves replace what has the new name.

    Every verb raises StorageError for a path of another file system than ``home``.
    """

    renames_exclusively = False

    def __init__(
        self,
        filesystem: pafs.FileSystem,
        home: FileSystemUri = PLAIN_PATHS,
        *,
        missing_is_empty: bool = False,
    ) -> None:
        self._filesystem = filesystem
        self._home = home
        self._local = LocalStorage(missing_is_empty=missing_is_empty)
        self.missing_is_empty = missing_is_empty

    @property
    def has_directories(self) -> bool:
        return self._filesystem.type_name in _OF_DIRECTORIES

    def list_files(self, directory: str) -> list[ListedFile]:
        root = self._path(directory)
        selector = pafs.FileSelector(root, recursive=True, allow_not_found=True)
        with _clear_errors("list", directory):
            infos = self._filesystem.get_file_info(selector)
        files = (i for i in infos if i.type == pafs.FileType.File)
        return sorted(
            (ListedFile(i.path[len(root) :].lstrip("/"), i.size) for i in files),
            key=lambda f: f.path,
        )

    def list_directories(self, directory: str) -> list[str]:
        selector = pafs.FileSelector(self._path(directory), allow_not_found=True)
        with _clear_errors("list", directory):
            infos = self._filesystem.get_file_info(selector)
        return sorted(i.base_name for i in infos if i.type == pafs.FileType.Directory)

    def exists(self, path: str) -> bool:
        with _clear_errors("look at", path):
            info = self._filesystem.get_file_info(self._path(path))
        return bool(info.type != pafs.FileType.NotFound)

    def is_missing(self, directory: str) -> bool:
        return not self.missing_is_empty and not self.exists(directory)

    def make_directory(self, path: str) -> None:
        _refuse_strange("create", path)
        with _clear_errors("create", path):
            self._filesystem.create_dir(self._path(path), recursive=True)

    def open_input(self, path: str) -> BinaryIO:
        with _clear_errors("read", path):
            return cast(BinaryIO, self._filesystem.open_input_file(self._path(path)))

    def write_file(self, path: str, data: bytes) -> None:
        with (
            _clear_errors("write", path),
            self._filesystem.open_output_stream(self._path(path)) as stream,
        ):
            stream.write(data)

    @property
    def appends(self) -> bool:
        return self._filesystem.type_name in _APPENDING

    def append(self, path: str, data: bytes, size: int) -> None:
        _refuse_strange("write", path)
        if not self.appends:
            raise StorageError(f"cannot append to {without_login(path)}: it is a whole object")
        where = self._path(path)
        with _clear_errors("write", path):
            info = self._filesystem.get_file_info(where)
            if info.type != pafs.FileType.File:
                raise FileNotFoundError(where)
            _require_size(path, info.size, size)
            with self._filesystem.open_append_stream(where) as stream:
                stream.write(data)

    def put_file(self, source: str, path: str) -> None:
        with _clear_errors("write", path):
            with (
                Path(source).open("rb") as stream,
                self._filesystem.open_output_stream(self._path(path)) as target,
            ):
                shutil.copyfileobj(stream, target, 1 << 20)
            Path(source).unlink()

    def rename(self, source: str, target: str) -> None:
        _refuse_strange("rename", source, target)
        with _clear_errors("rename", source):
            if self.exists(target):
                raise _path_exists(source, target)
            new = self._path(target)
            if self.has_directories:
                self._filesystem.create_dir(new.rpartition("/")[0], recursive=True)
            self._filesystem.move(self._path(source), new)

    def remove(self, own: OwnPath) -> None:
        _refuse_strange("remove", own.location)
        self.remove_location(str(own))

    def remove_location(self, location: str) -> None:
        _refuse_strange("remove", location)
        if self._home.path(location) == "/":
            raise StorageError(f"cannot remove {without_login(location)}: it is a root")
        with _clear_errors("remove", location):
            _until_gone(self._remove, location)

    def remove_empty(self, location: str) -> None:
        _refuse_strange("remove", location)
        if self.list_files(location) or not self.exists(location):
            return
        if not self.has_directories:
            self.remove_location(location)
            return
        # Arrow removes a directory with all that is in it, so nobody may find it any more.
        parent, _, _ = location.rpartition("/")
        aside = f"{parent}/.removed_{uuid.uuid4().hex}"
        self.rename(location, aside)
        if self.list_files(aside):
            self.rename(aside, location)
        else:
            self.remove_location(aside)

    def _remove(self, path: str) -> None:
        info = self._filesystem.get_file_info(self._path(path))
        if info.type == pafs.FileType.Directory:
            self._filesystem.delete_dir(self._path(path))
        elif info.type == pafs.FileType.File:
            self._filesystem.delete_file(self._path(path))

    def resolve(self, path: str) -> str:
        return self._home.uri(path)

    @property
    def local(self) -> Storage:
        return self._local

    def local_path(self, path: str) -> str | None:
        return None

    def _path(self, path: str) -> str:
        return self._home.arrow_path(path)

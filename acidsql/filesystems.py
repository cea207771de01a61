"""The Storage port over the local file system and over pyarrow.fs."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from acidsql.errors import ConfigError, MissingFileError, StorageError
from acidsql.layout.listing import ListedFile
from acidsql.storage import Storage, local_path_of

_OF_DIRECTORIES = ("hdfs", "local", "mock")
"""The file systems of pyarrow, by their ``type_name``, that keep an empty directory."""


def storage_for(location: str, *, missing_is_empty: bool = False) -> Storage:
    """The storage that holds a path or URI. ConfigError for a scheme pyarrow does not know.

    With ``missing_is_empty`` no directory of a table is missing, as for Hive.
    """
    if local_path_of(location) is not None:
        return LocalStorage(missing_is_empty=missing_is_empty)
    try:
        filesystem, _ = pafs.FileSystem.from_uri(location)
    except (pa.ArrowInvalid, OSError, ImportError) as error:
        raise ConfigError(f"no file system for {location}", detail=str(error)) from error
    return ArrowStorage(filesystem, missing_is_empty=missing_is_empty)


@contextlib.contextmanager
def _clear_errors(action: str, path: str) -> Iterator[None]:
    """Every error of the operating system, as ours with the path in it."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot {action} {path}: it does not exist") from error
    except OSError as error:
        hint = "Check that the path is writable." if isinstance(error, PermissionError) else None
        reason = error.strerror or str(error)
        raise StorageError(f"cannot {action} {path}: {reason}", hint=hint) from error


def _despite_others(remove: Callable[[str], None], path: str) -> None:
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

    has_directories = True

    def __init__(self, *, missing_is_empty: bool = False) -> None:
        self._missing_is_empty = missing_is_empty

    def list_files(self, directory: str) -> list[ListedFile]:
        root = self._path(directory)
        found: list[ListedFile] = []
        with _clear_errors("list", directory):
            if root.exists():
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
                        found.append(ListedFile(f"{prefix}{entry.name}", entry.stat().st_size))

    def list_directories(self, directory: str) -> list[str]:
        root = self._path(directory)
        with _clear_errors("list", directory):
            return sorted(e.name for e in os.scandir(root) if e.is_dir()) if root.exists() else []

    def exists(self, path: str) -> bool:
        return self._path(path).exists()

    def is_missing(self, directory: str) -> bool:
        return not self._missing_is_empty and not self.exists(directory)

    def make_directory(self, path: str) -> None:
        with _clear_errors("create", path):
            self._path(path).mkdir(parents=True, exist_ok=True)

    def open_input(self, path: str) -> BinaryIO:
        with _clear_errors("read", path):
            return self._path(path).open("rb")

    def write_file(self, path: str, data: bytes) -> None:
        target = self._path(path)
        with _clear_errors("write", path):
            target.parent.mkdir(parents=True, exist_ok=True)
            _checksum(target).unlink(missing_ok=True)
            with target.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())

    def put_file(self, source: str, path: str) -> None:
        target = self._path(path)
        with _clear_errors("write", path):
            _checksum(target).unlink(missing_ok=True)
            if Path(source) != target:
                shutil.move(source, target)
            with target.open("rb") as stream:
                os.fsync(stream.fileno())

    def rename(self, source: str, target: str) -> None:
        old, new = self._path(source), self._path(target)
        with _clear_errors("rename", source):
            if new.exists():
                raise StorageError(f"cannot rename {source} to {target}: the target exists")
            new.parent.mkdir(parents=True, exist_ok=True)
            # An old one must not be there when the file is.
            _checksum(new).unlink(missing_ok=True)
            old.rename(new)
            with contextlib.suppress(FileNotFoundError):
                _checksum(old).rename(_checksum(new))
            self._sync_directory(new.parent)

    def remove(self, path: str) -> None:
        with _clear_errors("remove", path):
            _despite_others(self._remove, path)

    def _remove(self, path: str) -> None:
        target = self._path(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
            _checksum(target).unlink(missing_ok=True)

    def local_path(self, path: str) -> str | None:
        return str(self._path(path))

    def _path(self, path: str) -> Path:
        local = local_path_of(path)
        if local is None:
            raise StorageError(f"{path} is not a local path")
        return Path(local)

    def _sync_directory(self, directory: Path) -> None:
        # A rename is durable only once its directory is.
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _checksum(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def _is_checksum(name: str) -> bool:
    return name.startswith(".") and name.endswith(".crc")


class ArrowStorage:
    """HDFS and object stores, through pyarrow.fs."""

    def __init__(self, filesystem: pafs.FileSystem, *, missing_is_empty: bool = False) -> None:
        self._filesystem = filesystem
        self._missing_is_empty = missing_is_empty

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
        return not self._missing_is_empty and not self.exists(directory)

    def make_directory(self, path: str) -> None:
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

    def put_file(self, source: str, path: str) -> None:
        with _clear_errors("write", path):
            with (
                Path(source).open("rb") as stream,
                self._filesystem.open_output_stream(self._path(path)) as target,
            ):
                shutil.copyfileobj(stream, target, 1 << 20)
            Path(source).unlink()

    def rename(self, source: str, target: str) -> None:
        with _clear_errors("rename", source):
            if self.exists(target):
                raise StorageError(f"cannot rename {source} to {target}: the target exists")
            self._filesystem.move(self._path(source), self._path(target))

    def remove(self, path: str) -> None:
        with _clear_errors("remove", path):
            _despite_others(self._remove, path)

    def _remove(self, path: str) -> None:
        info = self._filesystem.get_file_info(self._path(path))
        if info.type == pafs.FileType.Directory:
            self._filesystem.delete_dir(self._path(path))
        elif info.type == pafs.FileType.File:
            self._filesystem.delete_file(self._path(path))

    def local_path(self, path: str) -> str | None:
        return None

    def _path(self, path: str) -> str:
        parts = urlsplit(path)
        return (
            f"{parts.netloc}{parts.path}" if parts.scheme not in ("hdfs", "viewfs") else parts.path
        )

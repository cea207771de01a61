"""The Storage port over pyarrow.fs."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow.fs as pafs

from acidsql.backends.storage.file_system_uri import PLAIN_PATHS, FileSystemUri
from acidsql.backends.storage.local import LocalStorage
from acidsql.backends.storage.verbs import (
    clear_errors,
    path_exists,
    refuse_strange,
    require_size,
    until_gone,
)
from acidsql.errors import StorageError
from acidsql.layout.listing import ListedFile
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage, without_login

_APPENDING = ("hdfs", "local")
"""The file systems of pyarrow, by their ``type_name``, that can add bytes to a file."""

_OF_DIRECTORIES = ("hdfs", "local", "mock")
"""The file systems of pyarrow, by their ``type_name``, that keep an empty directory."""


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
        with clear_errors("list", directory):
            infos = self._filesystem.get_file_info(selector)
        files = (i for i in infos if i.type == pafs.FileType.File)
        return sorted(
            (ListedFile(i.path[len(root) :].lstrip("/"), i.size) for i in files),
            key=lambda f: f.path,
        )

    def list_directories(self, directory: str) -> list[str]:
        selector = pafs.FileSelector(self._path(directory), allow_not_found=True)
        with clear_errors("list", directory):
            infos = self._filesystem.get_file_info(selector)
        return sorted(i.base_name for i in infos if i.type == pafs.FileType.Directory)

    def exists(self, path: str) -> bool:
        with clear_errors("look at", path):
            info = self._filesystem.get_file_info(self._path(path))
        return bool(info.type != pafs.FileType.NotFound)

    def is_missing(self, directory: str) -> bool:
        return not self.missing_is_empty and not self.exists(directory)

    def make_directory(self, path: str) -> None:
        refuse_strange("create", path)
        with clear_errors("create", path):
            self._filesystem.create_dir(self._path(path), recursive=True)

    def open_input(self, path: str) -> BinaryIO:
        with clear_errors("read", path):
            return cast(BinaryIO, self._filesystem.open_input_file(self._path(path)))

    def write_file(self, path: str, data: bytes) -> None:
        with (
            clear_errors("write", path),
            self._filesystem.open_output_stream(self._path(path)) as stream,
        ):
            stream.write(data)

    @property
    def appends(self) -> bool:
        return self._filesystem.type_name in _APPENDING

    def append(self, path: str, data: bytes, size: int) -> None:
        refuse_strange("write", path)
        if not self.appends:
            raise StorageError(f"cannot append to {without_login(path)}: it is a whole object")
        where = self._path(path)
        with clear_errors("write", path):
            info = self._filesystem.get_file_info(where)
            if info.type != pafs.FileType.File:
                raise FileNotFoundError(where)
            require_size(path, info.size, size)
            with self._filesystem.open_append_stream(where) as stream:
                stream.write(data)

    def put_file(self, source: str, path: str) -> None:
        with clear_errors("write", path):
            with (
                Path(source).open("rb") as stream,
                self._filesystem.open_output_stream(self._path(path)) as target,
            ):
                shutil.copyfileobj(stream, target, 1 << 20)
            Path(source).unlink()

    def rename(self, source: str, target: str) -> None:
        refuse_strange("rename", source, target)
        with clear_errors("rename", source):
            if self.exists(target):
                raise path_exists(source, target)
            new = self._path(target)
            if self.has_directories:
                self._filesystem.create_dir(new.rpartition("/")[0], recursive=True)
            self._filesystem.move(self._path(source), new)

    def remove(self, own: OwnPath) -> None:
        refuse_strange("remove", own.location)
        self.remove_location(str(own))

    def remove_location(self, location: str) -> None:
        refuse_strange("remove", location)
        if self._home.path(location) == "/":
            raise StorageError(f"cannot remove {without_login(location)}: it is a root")
        with clear_errors("remove", location):
            until_gone(self._remove, location)

    def remove_empty(self, location: str) -> None:
        refuse_strange("remove", location)
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

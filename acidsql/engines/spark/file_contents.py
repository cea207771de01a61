"""What was read of small files, known again by their bytes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from acidsql.engines.selection import SelectedFile
from acidsql.orc.damage import naming
from acidsql.ports.storage import Storage
from acidsql.process.threads import STORAGE_THREADS, in_threads

BYTES_MAX = 64 << 20
"""The memory of all that is kept."""


class Sized(Protocol):
    """What can be kept."""

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes to keep this."""
        ...


_Sized = TypeVar("_Sized", bound=Sized)
_Read = TypeVar("_Read")


class FileContents:
    """What was read of small files lately.

    A file is recognised by a digest of its bytes, so that no file system's idea of identity is
    trusted.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Sized] = OrderedDict()
        self._size = 0
        self._guard = threading.Lock()

    def of(self, data: bytes, read_as: object, read: Callable[[], _Sized]) -> _Sized:
        """What ``read`` makes of these bytes, or made of them for an equal ``read_as``."""
        key = (hashlib.blake2b(data).digest(), read_as)
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast("_Sized", self._kept[key])
        found = read()
        with self._guard:
            if key not in self._kept:
                self._kept[key] = found
                self._size += found.size
            while self._size > BYTES_MAX:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
        return found

    def clear(self) -> None:
        """Forget all files."""
        with self._guard:
            self._kept.clear()
            self._size = 0


def file_bytes(path: str, storage: Storage) -> bytes:
    """All bytes of a file. MissingFileError if it is not there, StorageError if it fails."""
    with storage.open_input(path) as stream, naming(path):
        return stream.read()


def for_each_file(
    function: Callable[[SelectedFile], _Read], files: Sequence[SelectedFile], storage: Storage
) -> list[_Read]:
    """The function's results, in the order of the files, of which there is one at least.

    Reading a small local file is Python's work, at which several threads hinder each other.
    """
    threads = 1 if storage.local_path(files[0].path) else STORAGE_THREADS
    return in_threads(function, files, threads)

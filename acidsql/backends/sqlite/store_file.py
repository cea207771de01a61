"""The file of a store: how it is made and checked, and whether it is still the same file."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress

from acidsql.backends.sqlite.still import connect_for_reading, grain_of
from acidsql.errors import CorruptFileError, MissingFileError, StorageError

_TABLES = frozenset(("TXNS", "NEXT_TXN_ID", "DBS", "TBLS"))
"""A database with these tables, of whatever schema version, is a store."""
_SIDE_FILES = ("-wal", "-shm")
"""What SQLite keeps beside a database that is open: the log, and the index and locks of the log."""
_LOGS = ("-wal", "-journal")
_SMALLEST = 512
"""The size of a database of one page of the smallest size, in bytes."""
_OTHER_KIND = "It is a file of another kind."
_MODE = 0o600
"""Only the owner may read the catalog and the names of users. Side files get the same mode."""
Identity = tuple[int, int]
Directory = tuple[int, int, int, int]
"""Device, inode, and the times of the last changes of entries and of attributes, in nanoseconds."""


class StoreFile:
    """A path and the file that was found there when it was opened.

    This module opens the file only through SQLite. A process that closes a descriptor of a file
    loses all its locks on that file, also the locks of its other connections.
    """

    def __init__(self, path: str, busy_timeout_s: float) -> None:
        self._busy_timeout_s = busy_timeout_s
        self.path = os.path.abspath(path)
        try:
            # SQLite puts the side files beside the file that symbolic links lead to.
            self.real_path = os.path.realpath(self.path)
        except ValueError as error:
            raise self._unusable(error) from error
        self._directory_path = os.path.dirname(self.real_path)
        self.is_new = False
        self._identity: Identity | None = None
        self._side_files: dict[str, Identity] = {}
        self._unchanged: Directory | None = None
        """The directory in which the side files were seen, if any later change would show in it."""

    def prepare(self, make: Callable[[str], None], *, must_exist: bool) -> None:
        """Require a store, or else have ``make`` write one into an empty file.

        MissingFileError if the store must exist and does not. StorageError if the path has another
        kind of file, which is left as it is.
        """
        found = self._stat()
        if found is None and must_exist:
            raise MissingFileError(
                f"there is no transaction store {self.path}",
                hint="Check the path of the warehouse;"
                " without must_exist (--must-exist) a new one is made.",
            )
        if found is None:
            self._require_no_log()
            self.is_new = self._make(make)
            found = self._stat()
        if found is None:
            raise self._gone(f"{self.path} is not there any more")
        self._require_store(found)
        self._identity = _identity(found)

    def remember(self) -> None:
        """Note which files the connection has open. StorageError if the store was replaced."""
        self.require_same()
        self._unchanged = None
        for end in _SIDE_FILES:
            with suppress(FileNotFoundError):
                path = self.real_path + end
                self._side_files[path] = _identity(os.stat(path))

    def require_same(self) -> None:
        """Raise unless the paths of the store and of its side files lead to the files opened.

        No other process sees a change in a file that was moved, deleted or replaced.
        """
        self.require_there()
        if not self._side_files:
            return
        # The side files themselves are seldom asked: from Linux 6.13 on, a file whose times were
        # asked for notes a new time with the next write, which costs a tenth of a transaction.
        directory = self._directory()
        if directory is None or directory != self._unchanged:
            for path, identity in self._side_files.items():
                self._require(path, identity)
            self._unchanged = directory

    def require_there(self) -> None:
        """Raise unless the path of the store does. A check before a write: a full one follows."""
        if self._identity is not None:
            self._require(self.path, self._identity)

    def _directory(self) -> Directory | None:
        """The directory, if it was left alone for so long that any change gives it another time."""
        try:
            found = os.stat(self._directory_path)
        except OSError:
            return None
        if time.time_ns() - found.st_mtime_ns < grain_of(found.st_mtime_ns):
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def _require(self, path: str, identity: Identity) -> None:
        try:
            now = os.stat(path)
        except OSError:
            raise self._gone(f"{path} is not there any more") from None
        if _identity(now) != identity:
            raise self._gone(f"{path} is another file now")

    def _gone(self, what: str) -> StorageError:
        return StorageError(
            f"the transaction store {self.path} is not the file that was opened any more",
            detail=f"{what}.",
            hint="Nothing more is read or written. Put the file back, or open a new session.",
        )

    @property
    def size(self) -> int:
        """The size of the file in bytes, without its log."""
        return os.stat(self.real_path).st_size

    # -- what is there --------------------------------------------------------------------------

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self.path)
        except FileNotFoundError as error:
            if os.path.islink(self.path):
                raise StorageError(
                    f"the transaction store {self.path} is a symbolic link to nothing",
                    detail=f"It leads to {self.real_path}.",
                    hint="Put the file back, or remove the link.",
                ) from error
            return None
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError | ValueError) -> StorageError:
        reason = error.strerror if isinstance(error, OSError) else error
        return StorageError(
            f"cannot use the transaction store {self.path}",
            detail=f"{reason}.",
            hint="The path must be that of a file, in a directory that may be searched.",
        )

    def _require_no_log(self) -> None:
        """Raise if a log is there: a new store would take the log of a store that was moved."""
        for end in _LOGS:
            # Looked for in this order: another process may have made a store meanwhile.
            if os.path.lexists(self.real_path + end) and self._stat() is None:
                raise MissingFileError(
                    f"the transaction store {self.path} is missing",
                    detail=f"Its log {self.real_path}{end} is there.",
                    hint="Put the file back. If it is gone for good, move the log away.",
                )

    def _require_store(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            kind = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise self._is_no_store(f"It is {kind}.")
        if not found.st_size:
            raise self._is_no_store("It is empty: a store is never, not even a new one.")
        if found.st_size < _SMALLEST:
            raise self._is_no_store(_OTHER_KIND)
        kinds = self._schema()
        tables = {name for kind, name in kinds if kind == "table"}
        if not tables >= _TABLES:
            raise self._is_no_store("It is another SQLite database.")
        foreign = sorted(str(name) for kind, name in kinds if kind in ("view", "trigger"))
        if foreign:
            raise self._is_no_store(f"A store has no view and no trigger like {foreign[0]}.")

    def _schema(self) -> list[tuple[object, object]]:
        """The kinds and names of what a database consists of."""
        try:
            connection, _ = connect_for_reading(self.real_path, self._busy_timeout_s)
            with closing(connection):
                return connection.execute("SELECT type, name FROM sqlite_master").fetchall()
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise self._is_no_store(_OTHER_KIND) from error
            raise

    def _is_no_store(self, detail: str) -> CorruptFileError:
        return CorruptFileError(
            f"{self.path} is not a transaction store",
            detail=detail,
            hint="It was left as it is. Name another path, or move the file away.",
        )

    # -- making one -----------------------------------------------------------------------------

    def _make(self, make: Callable[[str], None]) -> bool:
        """Put a complete store under the path in one step; False if another process was first."""
        directory, name = os.path.split(self.real_path)
        try:
            descriptor, temporary = tempfile.mkstemp(".new", f"{name}.", directory)
        except OSError as error:
            raise StorageError(
                f"cannot make the transaction store {self.path}",
                detail=f"{error}.",
                hint="Its directory must exist and be writable.",
            ) from error
        try:
            # Closed before SQLite opens the file: closing a descriptor releases all locks.
            os.fchmod(descriptor, _MODE)
            os.close(descriptor)
            make(temporary)
            return _publish(temporary, self.real_path)
        finally:
            for end in ("", *_SIDE_FILES):
                with suppress(FileNotFoundError):
                    os.unlink(temporary + end)


def _publish(temporary: str, path: str) -> bool:
    """Give a finished file its name, unless that is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        # Not every file system has hard links. If two processes rename at the same moment, the one
        # whose file was replaced notices.
        if os.path.lexists(path):
            return False
        os.rename(temporary, path)
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino

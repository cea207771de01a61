"""The write-ahead log beside a database file, synced apart from SQLite."""

from __future__ import annotations

import errno
import os

_sync_data = getattr(os, "fdatasync", os.fsync)


def _open(path: str) -> int:
    inherit_not = getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, os.O_RDWR | inherit_not)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        # A file that this process may only read, and other processes write to, can be synced, too.
        return os.open(path, os.O_RDONLY | inherit_not)


class Log:
    """The log file. One sync covers the commits of all processes, so many commits may share it.

    SQLite takes no lock on the log, so opening and closing the log releases no lock. The log stays
    the same file while a connection to the database is open. A checkpoint syncs what it moves out
    of the log. After an error nothing is sure any more: every later sync fails as well.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = _open(f"{path}-wal")
        self._error: OSError | None = None

    def sync(self) -> None:
        """Wait until all that was written to the log before is on the disk. OSError."""
        if self._error is not None:
            raise self._error
        try:
            _sync_data(self._descriptor)
        except OSError as error:
            # The system reports the error once. The pages may be lost nevertheless.
            self._error = error
            raise

    def __del__(self) -> None:
        # Closed here: by then no thread syncs the log any more.
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

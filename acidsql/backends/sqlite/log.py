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
        # What others write to and this process may only read can be synced, too.
        return os.open(path, os.O_RDONLY | inherit_not)


class Log:
    """What others wrote to the log is synced with it, so that many commits may share one sync.

    SQLite takes no lock on this file, so that opening and closing it releases none. It stays the
    same file while a connection to the database is open. What a checkpoint has moved out of it was
    synced by that. After an error nothing is sure any more: every later sync fails as well.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = _open(f"{path}-wal")
        self._error: OSError | None = None

    def sync(self) -> None:
        """Wait until all that was written before is on the disk. OSError."""
        if self._error is not None:
            raise self._error
        try:
            _sync_data(self._descriptor)
        except OSError as error:
            # The system forgets what it has told once; the pages may be lost all the same.
            self._error = error
            raise

    def __del__(self) -> None:
        # Not before the last thread that syncs is done with it.
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

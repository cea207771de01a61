"""Errors of acidsql for SQLite's errors, and why a file cannot be written to."""

from __future__ import annotations

import os
import sqlite3

from acidsql.errors import CorruptFileError, StorageError, StoreNotWritableError

_WRITE_ERRORS = (
    "SQLITE_READONLY",
    "SQLITE_IOERR_WRITE",
    "SQLITE_IOERR_SHMSIZE",
    "SQLITE_IOERR_TRUNCATE",
)
_LEAST_ROOM = 64 << 10
"""With less room than this, in bytes, a disk is full: the index of a log takes half of it."""
_HINT_RIGHTS = "Look for a full disk or quota, and for rights on the file and its directory."
_HINT_READ_ONLY = "Reads go on. A write needs rights on the file and its directory."
FREE_SPACE = "Free some space."


class Translation:
    """A context that raises errors of acidsql for those of SQLite."""

    def __init__(self, path: str, busy_timeout_s: float) -> None:
        self._path, self._busy_timeout_s = path, busy_timeout_s

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnicodeDecodeError):
            # A message of SQLite may quote damaged text of the file.
            raise damaged(self._path, f"{error}.") from error
        if isinstance(error, sqlite3.Error):
            raise self.of(error) from error

    def of(self, error: sqlite3.Error) -> StorageError:
        """The error of acidsql for one of SQLite."""
        return storage_error(error, self._path, busy_timeout_s=self._busy_timeout_s)


def storage_error(error: sqlite3.Error, path: str, *, busy_timeout_s: float) -> StorageError:
    """The error of acidsql for an error that SQLite raised over a store."""
    if is_busy(error):
        return StorageError(
            f"the transaction store {path} is busy",
            detail=f"Another process kept it locked for {busy_timeout_s:g} seconds.",
            hint="Try again; if it stays busy, look for a process that hangs in it.",
        )
    if type(error) is sqlite3.DatabaseError:
        return damaged(path, f"{error}.")
    refusal = _refusal(error, path)
    if refusal is not None:
        return refusal
    hint = None
    if isinstance(error, sqlite3.OperationalError):
        hint = "Its directory must exist and be writable, and so must the file."
    return StorageError(f"cannot use the transaction store {path}", detail=f"{error}.", hint=hint)


def damaged(path: str, detail: str) -> CorruptFileError:
    """The error for a store whose bytes make no sense."""
    return CorruptFileError(
        f"the transaction store {path} is damaged",
        detail=detail,
        hint="Restore it from a backup.",
    )


def read_only(path: str) -> StoreNotWritableError | None:
    """The error of a write if this process may only read the file, or None."""
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return _is_read_only(path, "Its file system is mounted read-only.")
    if not _is_writable(path):
        return _is_read_only(path, "This process may not write to the file.")
    return None


def is_busy(error: sqlite3.Error) -> bool:
    """Whether SQLite gave up because another connection had the file locked."""
    text = str(error)
    return isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text)


def lacks_room(error: sqlite3.Error, path: str) -> bool:
    """Whether the disk is full. SQLite does not say so for each kind of file that it makes."""
    if not isinstance(error, sqlite3.OperationalError):
        return False
    if "is full" in str(error):
        return True
    room = os.statvfs(os.path.dirname(os.path.realpath(path)))
    no_files = bool(room.f_files) and not room.f_ffree
    return _may_be_refused(error) and (no_files or room.f_bfree * room.f_frsize < _LEAST_ROOM)


def _refusal(error: sqlite3.Error, path: str) -> StoreNotWritableError | None:
    """The error of a write that the system refused, or None if it refused none."""
    said = f"{error} ({_name_of(error)})."
    if lacks_room(error, path):
        return StoreNotWritableError(
            f"the disk of the transaction store {path} is full",
            detail=said,
            hint=f"{FREE_SPACE} Reads go on meanwhile.",
        )
    if not _may_be_refused(error) or not os.path.exists(path):
        return None
    if (found := read_only(path)) is not None:
        return found
    if not _is_writable(os.path.dirname(os.path.realpath(path))):
        return _is_read_only(
            path, "This process may not write to its directory, where SQLite keeps the log."
        )
    if not _is_not_writable(error):
        return None
    return StoreNotWritableError(
        f"the transaction store {path} cannot be written", detail=said, hint=_HINT_RIGHTS
    )


def _is_read_only(path: str, detail: str) -> StoreNotWritableError:
    return StoreNotWritableError(
        f"the transaction store {path} is read-only", detail=detail, hint=_HINT_READ_ONLY
    )


def _is_writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _may_be_refused(error: sqlite3.Error) -> bool:
    """Whether a write may have been refused. Python 3.10 does not say which I/O error it was."""
    text = str(error)
    return _is_not_writable(error) or "disk I/O error" in text or "unable to open" in text


def _is_not_writable(error: sqlite3.Error) -> bool:
    return "readonly database" in str(error) or _name_of(error).startswith(_WRITE_ERRORS)


def _name_of(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", "SQLite"))

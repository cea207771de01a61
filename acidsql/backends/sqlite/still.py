"""A store that this process cannot write to, read without a trace.

Other processes may write to the store all the same: a mount that is read-only here may be writable
elsewhere. There are two cases.

With a log, SQLite reads the store as usual. Where other processes have the log open, SQLite uses
their index and locks. Otherwise it uses an index of its own, which keeps other processes from
writing the log back.

Without a log, the file is the whole store, and no side file can be made to lock it. SQLite is told
that the file is immutable. After the reading, this module compares the file's state with its state
before.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import quote

from acidsql.backends.sqlite.errors import is_busy, lacks_room, read_only
from acidsql.errors import StorageError

_GRAIN_NS = 20_000_000
_COARSE_GRAIN_NS = 2_000_000_000
"""Two changes this far apart have different times. Some file systems have whole seconds only."""
_PATIENCE_S = 0.5
"""How long another process may take to open its log, or to close it."""

_LOGS = ("-wal", "-journal")
_State = tuple[int, int, int, int]


class ChangedMeanwhileError(StorageError):
    """The file changed after the reading began, so the rows that were read may be wrong."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the transaction store {path} was changed while it was read",
            detail="It cannot be written to from here, but others write to it.",
            hint="Try again.",
        )


@contextmanager
def at_one_moment(path: str, busy_timeout_s: float) -> Iterator[sqlite3.Connection]:
    """A connection whose reads in a block are of one moment, or end as ChangedMeanwhileError."""
    # Taken before the log is looked for: from then on the file does not change without a log.
    before = _settled(path, time.monotonic() + busy_timeout_s)
    connection, immutable = connect_for_reading(path, busy_timeout_s)
    try:
        with closing(connection):
            yield connection
    except Exception as error:
        # The error may come from pages that do not belong together.
        if immutable and _state(path) != before:
            raise ChangedMeanwhileError(path) from error
        raise
    if immutable and _state(path) != before:
        raise ChangedMeanwhileError(path)


def connect_for_reading(path: str, busy_timeout_s: float) -> tuple[sqlite3.Connection, bool]:
    """A connection in a transaction that reads, and whether the file was taken for immutable.

    StorageError if there is a log that cannot be read. The log is tried again for a while: another
    process may be making the index of the log, or removing both.
    """
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        immutable = not any(_size(path + end) for end in _LOGS)
        try:
            return _connect(path, busy_timeout_s, immutable=immutable), immutable
        except sqlite3.OperationalError as error:
            if is_busy(error):
                raise
            if time.monotonic() > until_s:
                raise error if immutable else _no_log(error, path) from error
        time.sleep(_PATIENCE_S / 50)


def _connect(path: str, busy_timeout_s: float, *, immutable: bool) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path))}?mode=ro{'&immutable=1' if immutable else ''}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("BEGIN")
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _settled(path: str, until_s: float) -> _State:
    """The state of the file, once it is so old that the next change has another time."""
    while time.monotonic() < until_s:
        state = _state(path)
        *_, changed_ns = state
        grain_ns = grain_of(changed_ns)
        age_ns = time.time_ns() - changed_ns
        if not 0 <= age_ns < grain_ns:
            return state
        time.sleep((grain_ns - age_ns) / 1e9)
    raise ChangedMeanwhileError(path)


def grain_of(changed_ns: int) -> int:
    """How long after a change at this time any further change has another time, in nanoseconds."""
    return _GRAIN_NS if changed_ns % 1_000_000_000 else _COARSE_GRAIN_NS


def _state(path: str) -> _State:
    """A value that differs as soon as a process has written to the file."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise StorageError(
            f"the transaction store {path} cannot be read", detail=f"{error}."
        ) from error
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _no_log(error: sqlite3.Error, path: str) -> StorageError:
    """The error for an unreadable log. Without the log, a read would miss the last commits."""
    if lacks_room(error, path):
        why = "the disk is full"
    elif read_only(path) is not None:
        why = "it is read-only here"
    else:
        why = str(error)
    return StorageError(
        f"the log of the transaction store {path} cannot be read: {why}",
        detail=f"{path}-wal has what was committed last; SQLite needs to write beside it, once.",
        hint="Open a session where the store can be written, then try again.",
    )

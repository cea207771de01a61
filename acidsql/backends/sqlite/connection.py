"""One SQLite file: connection, store transactions, schema version, errors of acidsql."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from acidsql.backends.relational.connection import Mode, Row
from acidsql.backends.relational.queries import load_queries
from acidsql.backends.sqlite.busy import patiently
from acidsql.backends.sqlite.errors import (
    FREE_SPACE,
    Translation,
    lacks_room,
    read_only,
)
from acidsql.backends.sqlite.log import Log
from acidsql.backends.sqlite.schema import (
    DIALECT,
    connect,
    newest_version,
    require_known,
    require_whole,
    schema_version,
)
from acidsql.backends.sqlite.still import ChangedMeanwhileError, at_one_moment
from acidsql.backends.sqlite.store_file import StoreFile
from acidsql.backends.sqlite.watch import Watch
from acidsql.errors import AcidSqlError, StorageError, StoreNotWritableError
from acidsql.model.ids import LockId
from acidsql.process.forks import Home
from acidsql.process.interrupts import uninterrupted

T = TypeVar("T")


class _Fetched:
    """The answer of a query."""

    __slots__ = ("_rows",)

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def rows(self) -> list[Row]:
        return self._rows

    def row(self) -> Row | None:
        return self._rows[0] if self._rows else None

    def value(self) -> Any:
        return self._rows[0][0] if self._rows else None


class SqliteFile:
    """The `SqlConnection` to a file: one for all threads of this process, one verb at a time.

    Other processes have their own connections. Verbs are short, so threads that wait for each other
    wait little. A thread that ends leaves no connection behind.

    SQLite does not sync its log at a commit here. The log is synced when the file is free again for
    other processes, and before the verb answers. So an answer survives a loss of power, and so does
    all that came before it in the log. A verb that reads what is not synced yet syncs the log
    before it answers. The effect of a verb that is not durable survives the end of the process,
    because the operating system has the log then.

    A file that could not be opened for writing is opened anew for each store transaction. A store
    transaction that reads takes the file as it is. One that writes tries to open the file for
    writing, for all that follow.
    """

    def __init__(
        self,
        path: str,
        busy_timeout_s: float,
        clock_ms: Callable[[], int] | None,
        *,
        must_exist: bool = False,
    ) -> None:
        self._file = StoreFile(path, busy_timeout_s)
        self.path = self._file.path
        self._busy_timeout_s = busy_timeout_s
        self._clock_ms = clock_ms
        self._queries = load_queries(DIALECT)
        self._guard = threading.RLock()
        self._thread: int | None = None
        """The thread whose store transaction is under way."""
        self._is_fixed = False
        """Whether the store transaction has its snapshot or the write lock: then it never waits."""
        self._log: Log | None = None
        self._commits = self._synced_commits = 0
        """Numbers of this connection's durable commits: all of them, and those that are synced."""
        self._synced_version = -1
        """SQLite's number for the commits of other connections, when the log was synced last."""
        self._connection: sqlite3.Connection | None = None
        self._refusal: StoreNotWritableError | None = None
        """Why the file is not open for writing."""
        self._translated = Translation(self.path, busy_timeout_s)
        self._watch = Watch(self._file.real_path)
        self._home = Home(f"transaction store {self.path}", self)
        with self._guard, self._translated:
            self._file.prepare(self._make, must_exist=must_exist)
            self._refusal = self._open_for_writing()
            if self._refusal is not None:
                self._require_readable(self._refusal)

    @property
    def is_new(self) -> bool:
        """Whether this connection has made the store."""
        return self._file.is_new

    # -- statements -----------------------------------------------------------------------------

    def ask(self, query: str, /, **parameters: object) -> _Fetched:
        return _Fetched(self._execute(query, parameters).fetchall())

    def run(self, query: str, /, **parameters: object) -> None:
        self._execute(query, parameters).close()

    def rows(self, query: str, /, **parameters: object) -> list[Row]:
        return self._execute(query, parameters).fetchall()

    def row(self, query: str, /, **parameters: object) -> Row | None:
        return self.ask(query, **parameters).row()

    def value(self, query: str, /, **parameters: object) -> Any:
        return self.ask(query, **parameters).value()

    def _execute(self, query: str, parameters: dict[str, object]) -> sqlite3.Cursor:
        parameters.setdefault("now_ms", self._clock_ms() if self._clock_ms is not None else None)
        connection, statement = self._open(), self._queries[query]
        if self._is_fixed:
            return connection.execute(statement, parameters)
        cursor = patiently(connection, statement, parameters, timeout_s=self._busy_timeout_s)
        self._is_fixed = True
        return cursor

    # -- store transactions ---------------------------------------------------------------------

    def carry_out(
        self, mode: Mode, work: Callable[[], T], *, repeatable: bool = True, durable: bool = True
    ) -> T:
        # ``repeatable`` does not matter: the answer of a file is not lost.
        if self._is_inside():
            return work()
        # An interruption must not come between the begin of a store transaction and the code that
        # ends it. The file may be busy for long, so a second Ctrl-C does interrupt.
        with uninterrupted(unless_repeated=True):
            until_s = time.monotonic() + self._busy_timeout_s
            while True:
                try:
                    with self.transaction(mode, durable=durable):
                        return work()
                except ChangedMeanwhileError:
                    if time.monotonic() > until_s:
                        raise

    @contextmanager
    def transaction(self, mode: Mode, *, durable: bool = True) -> Iterator[None]:
        self._home.require()
        version, refusal, reads = None, None, mode is Mode.READING
        if self._is_inside():
            yield
            return
        with self._guard, self._translated:
            if self._must_read_still(mode):
                with self._still(durable=durable):
                    yield
                return
            connection = self._open()
            if not reads:
                self._file.require_there()
            # A writer holds the write lock from its start, so it is alone in any case.
            begin = "BEGIN" if reads else "BEGIN IMMEDIATE"
            try:
                patiently(connection, begin, timeout_s=self._busy_timeout_s)
                self._thread, self._is_fixed = threading.get_ident(), not reads
                yield
                version = self._version(connection) if reads else None
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if not isinstance(error, AcidSqlError):
                    raise
                # An error is an answer, too: "already committed" has to survive a loss of power.
                refusal = error
            finally:
                self._thread = None
            # The answer has to come from the file that other processes use.
            self._file.require_same()
            self._commits += durable and not reads
            commits, log = self._commits, self._open_log()
        if (durable or refusal is not None) and self._may_be_lost(version):
            self._sync(log, commits, version)
        if refusal is not None:
            raise refusal

    def _is_inside(self) -> bool:
        return self._thread == threading.get_ident()

    @staticmethod
    def _version(connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def _may_be_lost(self, version: int | None) -> bool:
        """Whether changes that the answer depends on may not be on the disk yet.

        Without ``version`` the store transaction wrote. Otherwise it read the file at that version.
        """
        if version is None:
            return True
        return version != self._synced_version or self._commits != self._synced_commits

    def sync(self) -> None:
        if self._is_inside():
            # The store transaction around this call syncs.
            return
        with self._guard:
            log, commits = self._open_log(), self._commits
        self._sync(log, commits, None)

    def _sync(self, log: Log, commits: int, version: int | None) -> None:
        try:
            log.sync()
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise StorageError(
                f"cannot sync the transaction store {self.path}",
                detail=f"{error}.",
                hint="Free some space, then open a new session." if full else None,
            ) from error
        with self._guard:
            self._synced_commits = max(self._synced_commits, commits)
            if version is not None:
                self._synced_version = max(self._synced_version, version)

    # -- a file that cannot be written to -------------------------------------------------------

    def _must_read_still(self, mode: Mode) -> bool:
        """Whether the file is opened for this store transaction only.

        StoreNotWritableError if the store transaction writes, and the file cannot be written to.
        """
        if self._refusal is None or mode is Mode.READING:
            return self._refusal is not None
        self._file.require_there()
        self._refusal = self._open_for_writing()
        if self._refusal is not None:
            raise self._refusal
        return False

    @contextmanager
    def _still(self, *, durable: bool = True) -> Iterator[None]:
        """A store transaction that reads a file which other processes may write to."""
        self._file.require_same()
        path = self._file.real_path
        try:
            with at_one_moment(path, self._busy_timeout_s) as self._connection:
                self._thread, self._is_fixed = threading.get_ident(), True
                yield
            if durable:
                with suppress(FileNotFoundError):
                    self._sync(Log(path), self._commits, None)
        finally:
            self._thread = self._connection = None
        self._file.require_same()

    def _require_readable(self, refusal: StoreNotWritableError) -> None:
        """Raise unless the store is whole, and nothing has to be written to it before a read."""
        newest = newest_version()
        with self._still():
            connection = self._open()
            version = schema_version(connection, self._busy_timeout_s)
            require_known(version, self.path)
            require_whole(connection, self._file, self._busy_timeout_s)
        if version < newest:
            raise StoreNotWritableError(
                f"{refusal.message}, and has to be brought to schema version {newest}",
                detail=f"It has version {version}. {refusal.detail}",
                hint="Open it once where it can be written.",
            )

    # -- waiting --------------------------------------------------------------------------------

    def await_release(self, lock_id: LockId, timeout_s: float) -> bool:
        self._home.require()
        return self._watch.await_release(lock_id, self._queries["lock_head"], timeout_s)

    # -- opening and closing --------------------------------------------------------------------

    def close(self) -> None:
        if not self._home.is_here:
            return
        self._watch.close()
        with self._guard:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._log = self._refusal = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageError(f"the transaction store {self.path} is closed")
        return self._connection

    def _open_log(self) -> Log:
        if self._log is None:
            self._log = Log(self._file.real_path)
        return self._log

    def _make(self, path: str) -> None:
        """Write an empty store."""
        try:
            connect(path, self.path, self._busy_timeout_s).close()
        except sqlite3.OperationalError as error:
            full = lacks_room(error, path)
            raise StorageError(
                f"cannot make the transaction store {self.path}",
                detail=f"The disk is full: {error}." if full else f"{error}.",
                hint=FREE_SPACE if full else None,
            ) from error

    def _open_for_writing(self) -> StoreNotWritableError | None:
        """Connect. If that is refused, the answer is the error for verbs that write."""
        refusal = read_only(self._file.real_path)
        if refusal is not None:
            return refusal
        try:
            connection = connect(self._file.real_path, self.path, self._busy_timeout_s)
        except sqlite3.OperationalError as error:
            told = self._translated.of(error)
            if not isinstance(told, StoreNotWritableError):
                raise
            return told
        try:
            self._file.remember()
            require_whole(connection, self._file, self._busy_timeout_s)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return None

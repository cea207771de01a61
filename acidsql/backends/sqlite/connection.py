"""One SQLite file: connection, store transactions, schema version, errors in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from acidsql.backends.relational.connection import Mode, Row
from acidsql.backends.relational.queries import load_migrations, load_queries
from acidsql.errors import StorageError

_DIALECT = "acidsql.backends.sqlite"
_WAL_RETRY_S = 0.02
T = TypeVar("T")


class SqliteFile:
    """The `SqlConnection` to a file: one for all threads of this process, one verb at a time.

    Other processes open their own. Verbs are short, so waiting for each other costs little, and
    nothing is left behind in threads that have ended.
    """

    def __init__(
        self, path: str, busy_timeout_s: float, clock_ms: Callable[[], int] | None
    ) -> None:
        self.path = os.path.abspath(path)
        self._busy_timeout_s = busy_timeout_s
        self._clock_ms = clock_ms
        self._queries = load_queries(_DIALECT)
        self._guard = threading.RLock()
        self._depth = 0
        self._connection: sqlite3.Connection | None = None
        with self._guard, self._translated():
            self._connection = self._connect()

    # -- statements -----------------------------------------------------------------------------

    def run(self, query: str, /, **parameters: object) -> None:
        self._execute(query, parameters).close()

    def rows(self, query: str, /, **parameters: object) -> list[Row]:
        return self._execute(query, parameters).fetchall()

    def row(self, query: str, /, **parameters: object) -> Row | None:
        rows = self.rows(query, **parameters)
        return rows[0] if rows else None

    def value(self, query: str, /, **parameters: object) -> Any:
        row = self.row(query, **parameters)
        return row[0] if row is not None else None

    def now_ms(self) -> int:
        return self._clock_ms() if self._clock_ms is not None else int(self.value("now_ms"))

    def _execute(self, query: str, parameters: dict[str, object]) -> sqlite3.Cursor:
        return self._open().execute(self._queries[query], parameters)

    # -- store transactions ---------------------------------------------------------------------

    def carry_out(self, mode: Mode, work: Callable[[], T], *, repeatable: bool) -> T:
        # The answer of a file is not lost.
        with self.transaction(mode):
            return work()

    @contextmanager
    def transaction(self, mode: Mode) -> Iterator[None]:
        with self._guard, self._translated():
            if self._depth:
                yield
                return
            connection = self._open()
            self._sync(connection, mode)
            # A writer holds the write lock from its start, so it is alone in any case.
            connection.execute("BEGIN" if mode is Mode.READING else "BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    @staticmethod
    def _sync(connection: sqlite3.Connection, mode: Mode) -> None:
        """What is answered survives the loss of power, and all that came before it: FULL.

        What is UNSYNCED survives the end of a process, as the log is the operating system's then.
        """
        if mode is not Mode.READING:
            wanted = "NORMAL" if mode is Mode.UNSYNCED else "FULL"
            connection.execute(f"PRAGMA synchronous = {wanted}")

    # -- opening and closing --------------------------------------------------------------------

    def close(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageError(f"the transaction store {self.path} is closed")
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._use_wal(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to write-ahead logging, so that readers and the writer do not wait for each other.

        SQLite does not apply the busy time-out to this switch, and several processes may meet here.
        """
        tries_left = max(1, round(self._busy_timeout_s / _WAL_RETRY_S))
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                tries_left -= 1
                if not _is_busy(error) or not tries_left:
                    raise
                time.sleep(_WAL_RETRY_S)
            else:
                return

    def _migrate(self, connection: sqlite3.Connection) -> None:
        migrations = load_migrations(_DIALECT)
        newest = migrations[-1][0]
        if _schema_version(connection) == newest:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Asked again: another process may have migrated while this one waited.
            version = _schema_version(connection)
            if version > newest:
                raise StorageError(
                    f"the transaction store {self.path} has schema version {version}",
                    detail=f"This release knows versions up to {newest}.",
                    hint="Use a newer release.",
                )
            for number, statements in migrations:
                for statement in statements if number > version else ():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {newest:d}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._storage_error(error) from error

    def _storage_error(self, error: sqlite3.Error) -> StorageError:
        if _is_busy(error):
            return StorageError(
                f"the transaction store {self.path} is busy",
                detail=f"Another process kept it locked for {self._busy_timeout_s:g} seconds.",
                hint="Try again; if it stays busy, look for a process that hangs in it.",
            )
        hint = None
        if isinstance(error, sqlite3.OperationalError):
            hint = "Its directory must exist and be writable, and so must the file."
        elif "not a database" in str(error):
            hint = "The path names a file of another kind."
        return StorageError(
            f"cannot use the transaction store {self.path}", detail=f"{error}.", hint=hint
        )


def _schema_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _is_busy(error: sqlite3.Error) -> bool:
    text = str(error)
    return isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text)

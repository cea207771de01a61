"""Connections to one PostgreSQL database, store transactions, and what is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus

from acidsql.backends.postgres.errors import (
    NoConnectionError,
    is_undone,
    no_connection,
    storage_error,
)
from acidsql.backends.postgres.migration import migrate
from acidsql.backends.postgres.queries import execute
from acidsql.backends.postgres.url import Place
from acidsql.backends.relational.connection import Mode, Row
from acidsql.errors import StorageError

_MAX_CONNECTIONS = 8
_DEFAULTS = {"connect_timeout": 10, "application_name": "acidsql"}
"""What the URL may say otherwise; the time is in seconds."""
_WAITS_S = (0.02, 0.1, 0.3, 1.0, 2.0)
"""Before each further try: long enough together for a server that restarts."""
_BEGIN = {
    Mode.READING: "begin_reading",
    Mode.WRITING: "begin_writing",
    # Clients outlive the server, and go on with what it answered.
    Mode.UNSYNCED: "begin_writing",
    Mode.ALONE: "begin_alone",
}
T = TypeVar("T")


@dataclass(slots=True)
class _Attempt:
    """How far a store transaction came, for whoever decides whether to try again."""

    commit_sent: bool = False
    lost: bool = False
    """Whether the connection broke."""


class PostgresServer:
    """The `SqlConnection` to a database: a few connections for all threads of this process.

    A thread has a connection while its store transaction lasts. What is idle is used again, unless
    the server has closed it meanwhile.
    """

    def __init__(
        self,
        url: str,
        lock_timeout_s: float,
        clock_ms: Callable[[], int] | None,
        sleep: Callable[[float], None],
    ) -> None:
        self.place = Place.of(url)
        self._lock_timeout_s = lock_timeout_s
        self._clock_ms = clock_ms
        self._sleep = sleep
        self._guard = threading.Lock()
        self._room = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._idle: list[Connection[Row]] = []
        self._here = threading.local()
        self._closed = False
        connection = self._connect()
        try:
            migrate(connection, self.place)
        except psycopg.Error as error:
            raise storage_error(error, self.place, lost_commit=False) from error
        else:
            self._idle.append(connection)
        finally:
            if not self._idle:
                connection.close()

    # -- statements -----------------------------------------------------------------------------

    def run(self, query: str, /, **parameters: object) -> None:
        execute(self._current(), query, parameters).close()

    def rows(self, query: str, /, **parameters: object) -> list[Row]:
        return execute(self._current(), query, parameters).fetchall()

    def row(self, query: str, /, **parameters: object) -> Row | None:
        return execute(self._current(), query, parameters).fetchone()

    def value(self, query: str, /, **parameters: object) -> Any:
        row = self.row(query, **parameters)
        return row[0] if row is not None else None

    def now_ms(self) -> int:
        return self._clock_ms() if self._clock_ms is not None else int(self.value("now_ms"))

    # -- store transactions ---------------------------------------------------------------------

    def carry_out(self, mode: Mode, work: Callable[[], T], *, repeatable: bool) -> T:
        if self._is_inside():
            return self._carry_out_inside(work)
        waits = iter(_WAITS_S)
        while True:
            attempt = _Attempt()
            try:
                with self._transaction(mode, attempt):
                    return work()
            except NoConnectionError:
                wait_s = next(waits, None)
                if wait_s is None:
                    raise
            except psycopg.Error as error:
                wait_s = next(waits, None)
                if wait_s is None or not _may_repeat(error, attempt, repeatable):
                    raise self._told(error, attempt) from error
            self._sleep(wait_s)

    def _carry_out_inside(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except psycopg.Error as error:
            if not self._here.in_block:
                # The verb it is a part of may be tried again.
                raise
            raise self._told(error, _Attempt()) from error

    @contextmanager
    def transaction(self, mode: Mode) -> Iterator[None]:
        if self._is_inside():
            yield
            return
        attempt = _Attempt()
        try:
            with self._transaction(mode, attempt):
                self._here.in_block = True
                yield
        except psycopg.Error as error:
            raise self._told(error, attempt) from error

    @contextmanager
    def _transaction(self, mode: Mode, attempt: _Attempt) -> Iterator[None]:
        with self._room:
            connection = self._begin(mode)
            self._here.connection, self._here.in_block = connection, False
            try:
                yield
                attempt.commit_sent = True
                answer = connection.execute("COMMIT").statusmessage
                if answer != "COMMIT":
                    # Some statement failed and nobody told: the server has rolled back.
                    raise StorageError(
                        f"the transaction store {self.place.name} answered {answer} to a commit"
                    )
            except BaseException:
                attempt.lost = connection.broken
                with suppress(psycopg.Error):
                    if connection.info.transaction_status is not TransactionStatus.IDLE:
                        connection.execute("ROLLBACK")
                raise
            finally:
                self._here.connection = None
                self._give_back(connection)

    def _begin(self, mode: Mode) -> Connection[Row]:
        while True:
            idle = self._take_idle()
            connection = idle or self._connect()
            try:
                execute(connection, _BEGIN[mode])
            except BaseException:
                broken = connection.broken
                connection.close()
                # The server may have closed what was idle. Nothing has happened yet.
                if idle is None or not broken:
                    raise
            else:
                return connection

    def _told(self, error: psycopg.Error, attempt: _Attempt) -> StorageError:
        lost_commit = attempt.lost and attempt.commit_sent
        return storage_error(error, self.place, lost_commit=lost_commit)

    def _is_inside(self) -> bool:
        return getattr(self._here, "connection", None) is not None

    def _current(self) -> Connection[Row]:
        connection: Connection[Row] | None = getattr(self._here, "connection", None)
        assert connection is not None, "a statement outside of a store transaction"
        return connection

    # -- connections ----------------------------------------------------------------------------

    def close(self) -> None:
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take_idle(self) -> Connection[Row] | None:
        with self._guard:
            if self._closed:
                raise StorageError(f"the transaction store {self.place.name} is closed")
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection[Row]) -> None:
        with self._guard:
            usable = not connection.closed and not self._closed
            if usable and connection.info.transaction_status is TransactionStatus.IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Connection[Row]:
        parameters = {**_DEFAULTS, **self.place.parameters, "client_encoding": "utf8"}
        try:
            connection: Connection[Row] = psycopg.connect(autocommit=True, **parameters)
        except psycopg.Error as error:
            raise no_connection(error, self.place) from error
        try:
            timeout = f"{round(self._lock_timeout_s * 1000)}ms"
            session = {"schema": self.place.schema, "lock_timeout": timeout}
            execute(connection, "prepare_session", session)
        except BaseException:
            connection.close()
            raise
        return connection


def _may_repeat(error: psycopg.Error, attempt: _Attempt, repeatable: bool) -> bool:
    """Whether it is known that nothing has happened, or does no harm if it happens twice."""
    return is_undone(error) or (attempt.lost and (repeatable or not attempt.commit_sent))

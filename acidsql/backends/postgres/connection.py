"""Connections to one PostgreSQL database, store transactions, and their repetition."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
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
from acidsql.backends.postgres.listening import CLOSED_LOOK_S, await_release
from acidsql.backends.postgres.migration import migrate
from acidsql.backends.postgres.pipeline import Pipeline, Statement
from acidsql.backends.postgres.queries import execute
from acidsql.backends.postgres.url import Place
from acidsql.backends.relational.connection import Mode, Row
from acidsql.errors import StorageError
from acidsql.model.ids import LockId
from acidsql.process.forks import Home
from acidsql.process.interrupts import uninterrupted

_MAX_CONNECTIONS = 8
_DEFAULTS = {"connect_timeout": 10, "application_name": "acidsql"}
"""Parameters that the URL may override. The time is in seconds."""
_WAITS_S = (0.02, 0.1, 0.3, 1.0, 2.0)
"""Waits before each further attempt. Together they are long enough for a restart of the server."""
_BEGIN = {
    Mode.READING: ("begin_reading",),
    Mode.WRITING: ("begin_writing", "lock_shared"),
    Mode.ALONE: ("begin_writing", "lock_alone"),
}
_COMMIT = ("commit",)
_COMMIT_EARLY = ("do_not_wait", "commit", "sync_log")
"""Releases the rows that other clients wait for, and then waits for the disk. A log that is synced
up to a place is synced up to every earlier place. The client gets no answer before that, since a
client may outlive the server."""
T = TypeVar("T")


@dataclass(slots=True)
class _Attempt:
    """How far a store transaction came: by this it is decided whether to try again."""

    commit_sent: bool = False
    lost: bool = False
    """Whether the connection broke."""


@dataclass(slots=True)
class _Running:
    """A store transaction of one thread."""

    pipeline: Pipeline
    reused: bool
    """Whether the connection had been idle, so that the server may have closed it."""
    unsent: list[Statement]
    end: list[Statement]
    """The statements that commit the store transaction."""
    begun: bool = False
    """Whether any statement was sent."""
    in_block: bool = False
    ends: bool = False
    """Whether its commit was sent, or is sent next."""


class _Asked:
    """The answer of a statement, which is sent at the latest when the answer is read."""

    __slots__ = ("_flush", "_statement")

    def __init__(self, statement: Statement, flush: Callable[[], None]) -> None:
        self._statement, self._flush = statement, flush

    def rows(self) -> list[Row]:
        if self._statement.rows is None:
            self._flush()
        assert self._statement.rows is not None
        return self._statement.rows

    def row(self) -> Row | None:
        rows = self.rows()
        return rows[0] if rows else None

    def value(self) -> Any:
        row = self.row()
        return row[0] if row is not None else None


class PostgresServer:
    """The `SqlConnection` to a database: a few connections for all threads of this process.

    A thread has a connection while its store transaction lasts. An idle connection is used again,
    unless the server has closed that connection meanwhile.
    """

    def __init__(
        self,
        url: str,
        lock_timeout_s: float,
        clock_ms: Callable[[], int] | None,
        sleep: Callable[[float], None],
        *,
        must_exist: bool = False,
    ) -> None:
        self.place = Place.of(url)
        self._lock_timeout_s = lock_timeout_s
        self._clock_ms = clock_ms
        self._sleep = sleep
        self._guard = threading.Lock()
        self._room = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._idle: list[Pipeline] = []
        self._here = threading.local()
        self._closed = False
        self._home = Home(f"transaction store {self.place.name}", self)
        connection = self._connect()
        try:
            self.is_new = self._migrate(connection, must_exist=must_exist)
            self._idle.append(Pipeline(connection))
        finally:
            if not self._idle:
                connection.close()

    @property
    def path(self) -> str:
        """Its URL without credentials."""
        return self.place.name

    # -- statements -----------------------------------------------------------------------------

    def ask(self, query: str, /, **parameters: object) -> _Asked:
        statement = Statement(query, {"now_ms": self._own_now_ms(), **parameters})
        self._running().unsent.append(statement)
        return _Asked(statement, self._flush)

    def run(self, query: str, /, **parameters: object) -> None:
        self.ask(query, **parameters)

    def rows(self, query: str, /, **parameters: object) -> list[Row]:
        return self.ask(query, **parameters).rows()

    def row(self, query: str, /, **parameters: object) -> Row | None:
        return self.ask(query, **parameters).row()

    def value(self, query: str, /, **parameters: object) -> Any:
        return self.ask(query, **parameters).value()

    def _own_now_ms(self) -> int | None:
        return self._clock_ms() if self._clock_ms is not None else None

    def _flush(self) -> None:
        """Send the statements asked for. If none was sent before, a lost connection is replaced."""
        running = self._running()
        unsent, running.unsent = running.unsent, []
        while unsent:
            try:
                running.pipeline.send(unsent)
            except psycopg.OperationalError:
                replaceable = running.reused and not running.begun and not running.ends
                if not (replaceable and running.pipeline.connection.broken):
                    raise
                running.pipeline, running.reused = self._connection()
            else:
                unsent, running.begun = [], True

    # -- store transactions ---------------------------------------------------------------------

    def carry_out(
        self, mode: Mode, work: Callable[[], T], *, repeatable: bool = True, durable: bool = True
    ) -> T:
        if self._is_inside():
            return self._carry_out_inside(work)
        # An interruption must not come between the begin of a store transaction and the code that
        # ends it. The server may be slow to answer, so a second Ctrl-C does interrupt.
        with uninterrupted(unless_repeated=True):
            return self._carry_out(mode, work, repeatable=repeatable, durable=durable)

    def _carry_out(
        self, mode: Mode, work: Callable[[], T], *, repeatable: bool, durable: bool
    ) -> T:
        is_early = mode is not Mode.READING and not durable
        waits = iter(_WAITS_S)
        while True:
            attempt = _Attempt()
            try:
                with self._transaction(mode, attempt, _COMMIT_EARLY if is_early else _COMMIT):
                    return work()
            except NoConnectionError:
                wait_s = next(waits, None)
                if wait_s is None:
                    raise
            except psycopg.Error as error:
                wait_s = next(waits, None)
                if wait_s is None or not _may_repeat(error, attempt, repeatable):
                    raise self._error(error, attempt) from error
            self._sleep(wait_s)

    def _carry_out_inside(self, work: Callable[[], T]) -> T:
        if not self._running().in_block:
            # The work is a part of a verb that may be tried again.
            return work()
        try:
            answer = work()
            self._flush()
        except psycopg.Error as error:
            raise self._error(error, _Attempt()) from error
        else:
            return answer

    @contextmanager
    def transaction(self, mode: Mode) -> Iterator[None]:
        if self._is_inside():
            yield
            return
        attempt = _Attempt()
        try:
            with self._transaction(mode, attempt, _COMMIT) as running:
                running.in_block = True
                self._flush()
                yield
        except psycopg.Error as error:
            raise self._error(error, attempt) from error

    @contextmanager
    def _transaction(
        self, mode: Mode, attempt: _Attempt, commit: Sequence[str]
    ) -> Iterator[_Running]:
        self._home.require()
        begin, end = ([Statement(query) for query in part] for part in (_BEGIN[mode], commit))
        with self._room:
            running = _Running(*self._connection(), begin, end)
            self._here.running = running
            try:
                yield running
                self._commit(running, attempt)
            except BaseException:
                connection = running.pipeline.connection
                attempt.lost = connection.broken
                with suppress(psycopg.Error):
                    if connection.info.transaction_status is not TransactionStatus.IDLE:
                        connection.execute("ROLLBACK")
                raise
            finally:
                self._here.running = None
                self._give_back(running.pipeline)

    def _commit(self, running: _Running, attempt: _Attempt) -> None:
        running.unsent.extend(running.end)
        running.ends = attempt.commit_sent = True
        self._flush()
        if not any(statement.tag == b"COMMIT" for statement in running.end):
            # A statement failed without an error here: the server has rolled back.
            raise StorageError(f"the transaction store {self.place.name} did not commit")

    def sync(self) -> None:
        """Do nothing: every effect that was answered is on the server's disk."""

    def _error(self, error: psycopg.Error, attempt: _Attempt) -> StorageError:
        lost_commit = attempt.lost and attempt.commit_sent
        return storage_error(error, self.place, lost_commit=lost_commit)

    def _is_inside(self) -> bool:
        return getattr(self._here, "running", None) is not None

    def _running(self) -> _Running:
        running: _Running | None = getattr(self._here, "running", None)
        assert running is not None, "a statement outside of a store transaction"
        return running

    # -- waiting --------------------------------------------------------------------------------

    def await_release(self, lock_id: LockId, timeout_s: float) -> bool:
        self._home.require()
        until_s = time.monotonic() + timeout_s
        gone: bool | None = None
        with suppress(NoConnectionError):
            gone = self._listen(lock_id, until_s)
        while gone is None and not self._closed and (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, CLOSED_LOOK_S))
        return gone or False

    def _listen(self, lock_id: LockId, until_s: float) -> bool | None:
        """Listen over an extra connection: sessions that wait must not take those of the verbs."""
        pipeline, _ = self._connection()
        connection, gone = pipeline.connection, None
        try:
            gone = await_release(connection, self.place.schema, lock_id, until_s, self._is_closed)
        finally:
            if gone is None:
                # The connection may be listening still.
                connection.close()
            self._give_back(pipeline)
        return gone

    def _is_closed(self) -> bool:
        return self._closed

    # -- connections ----------------------------------------------------------------------------

    def close(self) -> None:
        if not self._home.is_here:
            return
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for pipeline in idle:
            pipeline.connection.close()

    def _connection(self) -> tuple[Pipeline, bool]:
        """A connection, and whether it was idle."""
        with self._guard:
            if self._closed:
                raise StorageError(f"the transaction store {self.place.name} is closed")
            while self._idle:
                pipeline = self._idle.pop()
                if not pipeline.is_gone():
                    return pipeline, True
                pipeline.connection.close()
        return Pipeline(self._connect()), False

    def _give_back(self, pipeline: Pipeline) -> None:
        connection = pipeline.connection
        useless = [pipeline]
        with self._guard:
            if connection.broken:
                # The other idle connections are probably broken, too: they are idle for longer.
                useless += self._idle
                self._idle.clear()
            elif connection.info.transaction_status is TransactionStatus.IDLE and not self._closed:
                self._idle.append(pipeline)
                return
        for unused in useless:
            unused.connection.close()

    def _migrate(self, connection: Connection[Row], *, must_exist: bool) -> bool:
        waits = iter(_WAITS_S)
        while True:
            try:
                return migrate(connection, self.place, must_exist=must_exist)
            except psycopg.Error as error:
                # Other sessions may be reading in the tables that a migration changes.
                wait_s = next(waits, None)
                if wait_s is None or not is_undone(error):
                    raise storage_error(error, self.place, lost_commit=False) from error
                self._sleep(wait_s)

    def _connect(self) -> Connection[Row]:
        parameters = {**_DEFAULTS, **self.place.parameters, "client_encoding": "utf8"}
        try:
            connection: Connection[Row] = psycopg.connect(autocommit=True, **parameters)
            # Statements are prepared by their names (pipeline.py). If the driver prepared others,
            # it would drop all prepared statements after each ROLLBACK.
            connection.prepare_threshold = None
        except psycopg.Error as error:
            raise no_connection(error, self.place) from error
        try:
            timeout = f"{round(self._lock_timeout_s * 1000)}ms"
            session = {"schema": self.place.schema, "lock_timeout": timeout}
            execute(connection, "prepare_session", session)
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise no_connection(error, self.place) from error
            raise
        return connection


def _may_repeat(error: psycopg.Error, attempt: _Attempt, repeatable: bool) -> bool:
    """Whether the work is known to be undone, or does no harm if it is done twice."""
    return is_undone(error) or (attempt.lost and (repeatable or not attempt.commit_sent))

"""Calls to a metastore: by any of its servers, and with the methods that the server knows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from acidsql.backends.metastore.connection import Connection
from acidsql.backends.metastore.deadline import Deadline
from acidsql.backends.metastore.errors import (
    LostAnswerError,
    NoConnectionError,
    UnknownMethodError,
    not_connected,
    unknown_method,
)
from acidsql.backends.metastore.url import Endpoint, Place
from acidsql.errors import AcidSqlError, StorageError
from acidsql.process.forks import Home

_WAITS_S = (0.02, 0.1, 0.3, 1.0, 2.0)
"""The waits before each further try. Together they are long enough for a server to restart."""
_MAX_IDLE = 8


@dataclass(frozen=True, slots=True)
class Call:
    """A method with its arguments in order. ``then`` converts the result.

    ``needs`` is a harmless call of another method. A server that has that method also understands
    the arguments of this call.
    """

    method: str
    arguments: tuple[Any, ...] = ()
    then: Callable[[Any], Any] = lambda result: result
    needs: Call | None = None


class MetastoreClient:
    """A few connections for all threads of this process.

    Each call has a connection for itself, so a heartbeat never waits behind another call. Of
    several servers, the client stays with the first that accepts until that one is gone (Hive's
    hive.metastore.uri.selection SEQUENTIAL). The client remembers which methods a server lacks.
    """

    def __init__(
        self,
        place: Place,
        user: str,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place = place
        self._clock = clock
        self._user = user
        self._sleep = sleep
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._home = Home(f"metastore {place.name}", self)
        self._endpoints = list(place.endpoints)
        self._known: dict[Endpoint, dict[str, bool]] = {e: {} for e in place.endpoints}
        self._closed = False
        self._give_back(self._connect(self._deadline(None)))

    # -- calls ----------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        *arguments: Any,
        repeatable: bool = True,
        keep_unknown: bool = False,
        timeout_s: float | None = None,
    ) -> Any:
        """The result of a method. Raises the errors of `errors.failed`.

        The call is tried again on another connection if it is certain that nothing has happened,
        and, if ``repeatable``, also if the connection broke before the answer. Otherwise a broken
        connection is a LostAnswerError. ``keep_unknown`` is that of `Connection.call`.

        ``timeout_s``, by default that of the URL, bounds everything: connecting, the tries with
        other servers, and every byte of the answer.
        """
        return self.call_known(
            Call(method, arguments),
            repeatable=repeatable,
            keep_unknown=keep_unknown,
            timeout_s=timeout_s,
        )

    def call_known(
        self,
        *calls: Call,
        repeatable: bool = True,
        keep_unknown: bool = False,
        timeout_s: float | None = None,
    ) -> Any:
        """The result of the first of several calls whose method the server knows, newest first.

        UnknownMethodError if it knows none of them. Otherwise like `call`.
        """
        waits, deadline = iter(_WAITS_S), self._deadline(timeout_s)
        while True:
            try:
                with self._connection(deadline) as connection:
                    return self._first_known(connection, calls, keep_unknown, deadline)
            except NoConnectionError:
                wait_s = self._wait_s(waits, deadline)
                if wait_s is None:
                    raise
            except LostAnswerError as error:
                wait_s = self._wait_s(waits, deadline)
                undone = not error.sent or (repeatable and error.closed)
                if wait_s is None or not undone:
                    raise
            self._sleep(wait_s)

    def _deadline(self, timeout_s: float | None) -> Deadline:
        return Deadline.after(timeout_s or self.place.timeout_s, self._clock)

    def _wait_s(self, waits: Iterator[float], deadline: Deadline) -> float | None:
        """Seconds to wait before the next try; None if no try or no time is left."""
        wait_s = next(waits, None)
        if wait_s is not None and self._clock() + wait_s >= deadline.at_s:
            return None
        return wait_s

    def _first_known(
        self,
        connection: Connection,
        calls: tuple[Call, ...],
        keep_unknown: bool,
        deadline: Deadline,
    ) -> Any:
        for call in calls:
            if call.needs is not None and not self._has(connection, call.needs, deadline):
                continue
            try:
                return call.then(self._call(connection, call, keep_unknown, deadline))
            except UnknownMethodError:
                continue
        methods = ", ".join(call.method for call in calls)
        raise unknown_method(connection.endpoint.name, methods)

    def _has(self, connection: Connection, call: Call, deadline: Deadline) -> bool:
        known = self._known[connection.endpoint]
        if call.method not in known:
            with suppress(AcidSqlError):
                self._call(connection, call, keep_unknown=False, deadline=deadline)
        # If the connection broke, nothing was learnt, and nothing is remembered.
        return known.get(call.method, False)

    def _call(
        self, connection: Connection, call: Call, keep_unknown: bool, deadline: Deadline
    ) -> Any:
        """One call. UnknownMethodError, also without asking if the server is known to lack it."""
        known = self._known[connection.endpoint]
        if not known.get(call.method, True):
            raise unknown_method(connection.endpoint.name, call.method)
        try:
            result = connection.call(
                call.method, *call.arguments, keep_unknown=keep_unknown, deadline=deadline
            )
        except UnknownMethodError:
            known[call.method] = False
            raise
        except LostAnswerError:
            raise
        except AcidSqlError:
            known[call.method] = True
            raise
        known[call.method] = True
        return result

    # -- connections ----------------------------------------------------------------------------

    def close(self) -> None:
        """Close idle connections; one in use is closed after its call. Idempotent."""
        if not self._home.is_here:
            return
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _connection(self, deadline: Deadline) -> Iterator[Connection]:
        self._home.require()
        connection = self._take_idle() or self._connect(deadline)
        try:
            yield connection
        finally:
            self._give_back(connection)

    def _take_idle(self) -> Connection | None:
        with self._guard:
            if self._closed:
                raise StorageError(f"the metastore {self.place.name} is closed")
            while self._idle:
                connection = self._idle.pop()
                if connection.is_alive():
                    return connection
                connection.close()
            return None

    def _give_back(self, connection: Connection) -> None:
        with self._guard:
            if not connection.closed and not self._closed and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, deadline: Deadline) -> Connection:
        """Connect to the server that answered last, or else to the first other one that does.

        If a server refuses our login, the next one is asked, as in Hive (HiveMetaStoreClient.open).
        But there is no second round then, since a wrong password may lock the account.
        """
        reasons: list[StorageError] = []
        for endpoint in list(self._endpoints):
            try:
                connection = Connection(endpoint, self.place, self._user, deadline)
            except StorageError as error:
                reasons.append(error)
            else:
                with self._guard:
                    self._endpoints.remove(endpoint)
                    self._endpoints.insert(0, endpoint)
                return connection
        if len(reasons) == 1 and _is_refusal(reasons[0]):
            raise reasons[0]
        raise self._no_server(reasons) from reasons[0]

    def _no_server(self, reasons: list[StorageError]) -> StorageError:
        """The error if no server can be used: NoConnectionError, unless one refused our login."""
        told = " ".join(f"{e.message}: {e.detail}" for e in reasons)
        refusal = next(filter(_is_refusal, reasons), None)
        if refusal is not None:
            message = f"no server of the metastore {self.place.name} accepts our login"
            return StorageError(message, detail=told, hint=refusal.hint)
        accepted = any(isinstance(error, LostAnswerError) for error in reasons)
        if len(reasons) == 1:
            told = reasons[0].detail or ""
        return not_connected(self.place.name, told, accepted=accepted)


def _is_refusal(error: StorageError) -> bool:
    return not isinstance(error, (NoConnectionError, LostAnswerError))

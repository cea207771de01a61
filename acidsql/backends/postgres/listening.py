"""Waiting for the end of another session's lock, of which the server notifies."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import Connection, sql

from acidsql.backends.postgres.queries import execute
from acidsql.backends.relational.connection import Row
from acidsql.model.ids import LockId

_log = logging.getLogger(__name__)

_FIRST_LOOK_S = 0.01
CLOSED_LOOK_S = 0.5
"""How long a wait may go on, at most, after its session was closed."""


def await_release(
    connection: Connection[Row],
    schema: str,
    lock_id: LockId,
    until_s: float,
    is_over: Callable[[], bool],
) -> bool | None:
    """Wait until a lock is gone; whether it is. None at once if the server refuses LISTEN.

    A notification before LISTEN, or behind a pooler of connections, does not arrive. So the lock is
    looked at as well, after pauses that double.
    """
    look_s = _FIRST_LOOK_S
    try:
        with _listening(connection, schema):
            while _is_held(connection, lock_id):
                left_s = until_s - time.monotonic()
                if left_s <= 0 or is_over():
                    return False
                if _is_notified(connection, lock_id, min(look_s, left_s), is_over):
                    return True
                look_s *= 2
            return True
    except psycopg.Error as error:
        _log.warning("cannot listen for lockid:%s: %s", lock_id, error)
        return None


@contextmanager
def _listening(connection: Connection[Row], schema: str) -> Iterator[None]:
    """LISTEN for a block. Afterwards all is read: unread notifications would pile up."""
    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(schema)))
    try:
        yield
    finally:
        execute(connection, "unlisten")
        list(connection.notifies(timeout=0))


def _is_held(connection: Connection[Row], lock_id: LockId) -> bool:
    return execute(connection, "lock_head", {"lock_id": lock_id}).fetchone() is not None


def _is_notified(
    connection: Connection[Row], lock_id: LockId, timeout_s: float, is_over: Callable[[], bool]
) -> bool:
    """Whether a notification says, within a time, that the lock is gone."""
    until_s = time.monotonic() + timeout_s
    while (left_s := until_s - time.monotonic()) > 0 and not is_over():
        notifications = connection.notifies(timeout=min(left_s, CLOSED_LOOK_S), stop_after=1)
        if any(notify.payload == str(lock_id) for notify in notifications):
            return True
    return False

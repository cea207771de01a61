"""A second connection to the file of a store, which sees the commits of all processes."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from urllib.parse import quote

from acidsql.backends.sqlite.errors import is_busy
from acidsql.model.ids import LockId

_log = logging.getLogger(__name__)

_SHORTEST_S, _LONGEST_S = 0.0005, 0.025
"""Pauses between two looks at the number of the file's version."""
_PATIENCE = 8
"""A pause is this fraction of the time waited so far: so pauses add little to any wait."""


class Watch:
    """Looks at a lock only when the file has changed. One watch for all threads of a process.

    The connection is made at its first use. If the connection fails, a wait lasts for its whole
    time.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def await_release(self, lock_id: LockId, held: str, timeout_s: float) -> bool:
        """Wait until ``held``, a query with ``:lock_id``, finds no row; False if time runs out."""
        begun_s = time.monotonic()
        version = None
        while not self._closed:
            waited_s = time.monotonic() - begun_s
            if waited_s >= timeout_s:
                return False
            pause_s = min(max(waited_s / _PATIENCE, _SHORTEST_S), _LONGEST_S)
            try:
                found = self._value("PRAGMA data_version", {})
                # In this order: a commit after this look gives the file another number.
                if found != version and self._value(held, {"lock_id": lock_id}) is None:
                    return True
                version = found
            except sqlite3.Error as error:
                if not self._closed and not is_busy(error):
                    _log.warning("cannot watch %s: %s", self._path, error)
                    pause_s = timeout_s
            time.sleep(min(pause_s, timeout_s - waited_s))
        return False

    def _value(self, query: str, parameters: dict[str, object]) -> object:
        with self._guard:
            if self._closed:
                # An answer would be taken for that of the store: that the lock is gone.
                raise sqlite3.ProgrammingError("the watch is closed")
            if self._connection is None:
                self._connection = sqlite3.connect(
                    f"file:{quote(os.fsencode(self._path))}?mode=ro",
                    uri=True,
                    timeout=0,
                    isolation_level=None,
                    check_same_thread=False,
                )
            row = self._connection.execute(query, parameters).fetchone()
        return row[0] if row is not None else None

    def close(self) -> None:
        """End all waits. Idempotent."""
        with self._guard:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            self._connection = None

"""Statements of a file that other processes may keep locked for a moment."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Mapping

from acidsql.backends.sqlite.errors import is_busy

_RETRY_S = (0.0002, 0.003)
"""The first and the longest pause before a locked file is tried again."""
_NOTHING: Mapping[str, object] = {}


def patiently(
    connection: sqlite3.Connection,
    statement: str,
    parameters: Mapping[str, object] = _NOTHING,
    *,
    timeout_s: float,
) -> sqlite3.Cursor:
    """Carry out a statement, again and again while another process keeps the file locked.

    SQLite's own pauses are not used: they last up to a tenth of a second, and many store
    transactions come and go in that time. sqlite3.OperationalError if the file stays locked.
    """
    pause_s, longest_s = _RETRY_S
    until_s = None
    while True:
        try:
            return connection.execute(statement, parameters)
        except sqlite3.OperationalError as error:
            now_s = time.monotonic()
            until_s = until_s or now_s + timeout_s
            if not is_busy(error) or now_s > until_s:
                raise
        time.sleep(random.uniform(0.5, 1.5) * pause_s)  # noqa: S311 - no secret
        pause_s = min(pause_s * 1.2, longest_s)

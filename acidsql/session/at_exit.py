"""The end of a process: sessions that nobody has closed let go of their transactions."""

from __future__ import annotations

import atexit
import weakref
from typing import Protocol

WAIT_S = 5.0
"""How long the end of the process waits for one session: its store may be gone."""


class Leaving(Protocol):
    """What a session does when the process ends."""

    def leave(self, timeout_s: float) -> None:
        """End transactions and drop temporary tables, unless the session was closed."""


_OPEN: weakref.WeakSet[Leaving] = weakref.WeakSet()


def leaves_at_exit(session: Leaving) -> None:
    """Have a session leave when the process ends, if it is still there. It is not kept for that."""
    _OPEN.add(session)


@atexit.register
def _leave() -> None:
    # Otherwise others would wait for their locks until hive.txn.timeout.
    for session in list(_OPEN):
        session.leave(WAIT_S)

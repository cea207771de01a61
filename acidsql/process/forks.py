"""Forked processes: a child has copies of its parent's connections, and must leave them alone.

The sockets, file locks and open transactions behind the copies belong to the parent. If a child
sends a request on such a socket, the parent receives the answer. If a child closes a connection, it
is closed for both.
"""

from __future__ import annotations

import ctypes
import os
import weakref

from acidsql.errors import ForkError

_OWNERS: weakref.WeakSet[object] = weakref.WeakSet()


class Home:
    """The process in which a session, store or connection was opened.

    In a forked child, Python never collects ``owner`` and the objects it holds, not even at the end
    of the process. Collecting closes connections: a server would be told that the parent's session
    has ended, and SQLite would change the memory that it shares with the parent.
    """

    __slots__ = ("_pid", "_what")

    def __init__(self, what: str, owner: object = None) -> None:
        self._what, self._pid = what, os.getpid()
        if owner is not None:
            _OWNERS.add(owner)

    @property
    def is_here(self) -> bool:
        """Whether this process is the one that opened it."""
        return self._pid == os.getpid()

    def require(self) -> None:
        """ForkError in a forked child."""
        if not self.is_here:
            raise ForkError(
                f"the {self._what} belongs to process {self._pid}, from which this one was forked",
                hint="Call acidsql.connect in each process, after the fork.",
            )


def _keep_owners() -> None:
    for owner in list(_OWNERS):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    _OWNERS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_owners)

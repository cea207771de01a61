"""Forked processes: a child has copies of what its parent has opened, and must leave them alone.

The sockets, file locks and open transactions behind those copies are the parent's. What a child
sends on them the parent receives the answer to; what it closes is closed for both.
"""

from __future__ import annotations

import ctypes
import os
import weakref

from acidsql.errors import ForkError

_OWNERS: weakref.WeakSet[object] = weakref.WeakSet()


class Home:
    """The process in which something was opened, with the copies that its children have of it.

    In a child ``owner`` and all it holds are never collected, not even at the end: closing a
    connection says goodbye to its server, and what SQLite closes it takes out of its shared memory.
    """

    __slots__ = ("_pid", "_what")

    def __init__(self, what: str, owner: object = None) -> None:
        self._what, self._pid = what, os.getpid()
        if owner is not None:
            _OWNERS.add(owner)

    @property
    def is_here(self) -> bool:
        """Whether this is the process."""
        return self._pid == os.getpid()

    def require(self) -> None:
        """ForkError in a child."""
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

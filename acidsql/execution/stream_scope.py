"""The StreamScope that a streaming connection works on: what a session lends it, while it lasts."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from acidsql.execution.leases import Leases
from acidsql.execution.scope import Scope
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.process.supervisor import Supervisor
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy


class Stream(Protocol):
    """What a session does with a streaming connection over it."""

    def close(self) -> None:
        """Abort what has not ended. Idempotent."""
        ...


class OpenStreams:
    """The streaming connections over a session. They end with it; until then nobody keeps them."""

    def __init__(self, leases: Leases, supervisor: Supervisor) -> None:
        self._leases, self._supervisor = leases, supervisor
        self._open: weakref.WeakSet[Stream] = weakref.WeakSet()

    def add(self, stream: Stream) -> None:
        """Have a connection end with the session."""
        self._leases.start()  # at the end of the process no thread starts
        self._open.add(stream)

    def close(self) -> None:
        """Close them, while the store is there. Idempotent."""
        for stream in list(self._open):
            self._supervisor.attempt("stream", stream.close, None)

    def close_soon(self) -> None:
        """Have the thread of the leases close them."""
        for stream in list(self._open):
            self._leases.soon(stream.close)


@dataclass(frozen=True, slots=True)
class StreamScope:
    """A session's scope, and what opening several transactions at once needs besides.

    ``database`` is the session's current one. ``committed`` is to be told of each commit, and
    ``opened`` of each connection that is open.
    """

    scope: Scope
    policy: TxnPolicy
    heartbeats: Heartbeats
    host: str
    database: str
    committed: Callable[[], None]
    opened: Callable[[Stream], None]

    @property
    def store(self) -> Store:
        """The store of the session."""
        return self.scope.store

    @property
    def storage(self) -> Storage:
        """The storage of the session."""
        return self.scope.storage

    @property
    def user(self) -> str:
        """The user who is recorded with transactions."""
        return self.scope.user

"""The StreamScope that a streaming connection works on: what a session lends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acidsql.execution.scope import Scope
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy


@dataclass(frozen=True, slots=True)
class StreamScope:
    """A session's scope, and what opening several transactions at once needs besides.

    ``database`` is the session's current one. ``committed`` is to be told of each commit.
    """

    scope: Scope
    policy: TxnPolicy
    heartbeats: Heartbeats
    host: str
    database: str
    committed: Callable[[], None]

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

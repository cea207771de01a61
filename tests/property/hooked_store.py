"""A store before one of whose verbs something happens: its process dies, or others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acidsql.backends.sqlite.store import SqliteStore
from acidsql.errors import StorageError

HOOKS = ("add_partitions", "mark_compacted", "committing", "commit_txn")
"""What may wait for a hook.

A commit begins with either of the last two; `committing` holds the store until it is done, so
others can go on before it only: `before_commit`.
"""

COMPACTING = ("compaction_started", "mark_compacted")
"""What a worker says before it has written anything, and when all is there."""

_REACHED = (*HOOKS, *COMPACTING, "abort_txn", "unlock", "heartbeat", "mark_failed")


class HookedStore(SqliteStore):
    """The SQLite store. Once dead it reaches nothing more, and its transaction stays open."""

    before: tuple[tuple[str, ...], Callable[[], object]] | None = None
    dead = False

    def __getattribute__(self, name: str) -> Any:
        if name in _REACHED:
            hook = self.before
            if hook is not None and name in hook[0]:
                self.before = None
                hook[1]()
            if self.dead:
                raise StorageError("the process is dead")
        return super().__getattribute__(name)

    def die_at(self, verb: str) -> None:
        """Die when this is called."""
        self.before = ((verb,), self.die)

    def before_commit(self, happens: Callable[[], object]) -> None:
        """Let this happen when everything is written and nothing is committed."""
        self.before = (("committing", "commit_txn"), happens)

    def die(self) -> None:
        """Reach nothing from now on."""
        self.dead = True

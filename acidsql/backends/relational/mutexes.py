"""Named mutexes: one row each, with an owner and the end of its lease."""

from __future__ import annotations

from acidsql.backends.relational.connection import OverSql, writing


class RelationalMutexes(OverSql):
    """The verbs of `TxnManager` about mutexes.

    Losing a lease to a loss of power does no harm, so no answer waits for the disk.
    """

    @writing(durable=False)
    def take_mutex(self, name: str, owner: str, lease_s: float) -> bool:
        lease_ms = round(lease_s * 1000)
        self._sql.run("take_mutex", name=name, owner=owner, lease_ms=lease_ms)
        return bool(self._sql.value("mutex_owner", name=name) == owner)

    @writing(durable=False)
    def release_mutex(self, name: str, owner: str) -> None:
        self._sql.run("release_mutex", name=name, owner=owner)

"""The state of the store: Hive's transaction tables as dicts."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from acidsql.model.ids import CompactionId, LockId, TxnId, WriteId
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.statistics import Statistics
from acidsql.model.table import Table
from acidsql.model.view import View
from acidsql.ports.catalog import Database, Partition
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import Compaction, Lock, Txn, TxnState, WriteSetEntry
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import require_open


class MemoryState:
    """All tables under one lock. A verb checks first and changes afterwards: it never half-fails.

    ``components`` is a dict for its order. Its values mean nothing.
    """

    def __init__(
        self, clock_ms: Callable[[], int], policy: TxnPolicy | None = None, warehouse: str = ""
    ) -> None:
        self.guard = threading.RLock()
        self.released = threading.Condition(self.guard)
        """Notified when locks have gone."""
        self.now_ms = clock_ms
        self.policy = policy or TxnPolicy()
        self.next_txn_id = TxnId(1)
        self.next_lock_id = LockId(1)
        self.next_compaction_id = CompactionId(1)
        self.txns: dict[TxnId, Txn] = {}
        self.min_history: dict[TxnId, TxnId] = {}
        self.components: dict[TxnComponent, None] = {}
        self.completed: dict[TxnComponent, bool] = {}
        """For each component, whether its commit has said that it leaves a directory there."""
        self.write_set: list[WriteSetEntry] = []
        self.write_ids: dict[TableName, dict[TxnId, WriteId]] = {}
        self.next_write_ids: dict[TableName, WriteId] = {}
        self.locks: dict[LockId, list[Lock]] = {}
        self.compactions: dict[CompactionId, Compaction] = {}
        self.attempts: Counter[CompactionId] = Counter()
        """How often each has been begun."""
        self.mutexes: dict[str, tuple[str, int]] = {}
        """Owner, and the end of the lease in milliseconds, by name."""
        self.database_rows = {DEFAULT_DATABASE: Database(DEFAULT_DATABASE, warehouse)}
        self.table_rows: dict[TableName, Table] = {}
        self.view_rows: dict[TableName, View] = {}
        self.partition_rows: dict[TableName, dict[str, Partition]] = {}
        self.statistics_rows: dict[TableName, dict[str, Statistics]] = {}
        """By the name of the partition; "" is the whole table."""

    def require_open(self, txn_id: TxnId) -> Txn:
        """The open transaction of that id, or the error that says why there is none."""
        txn = self.txns.get(txn_id)
        require_open(txn_id, txn.state if txn else None, txn.meta_info if txn else "")
        return self.txns[txn_id]

    def open_txn_ids(self) -> list[TxnId]:
        """Open transactions of every type: readers hold back the cleaner as well."""
        return [t.txn_id for t in self.txns.values() if t.state is TxnState.OPEN]

    def components_of(self, txn_id: TxnId) -> list[TxnComponent]:
        """The components of a transaction: the places where it writes or may write."""
        return [c for c in self.components if c.txn_id == txn_id]

    def end(self, txn_id: TxnId, state: TxnState, reason: str = "") -> None:
        """Close an open transaction and release its locks. Its components stay."""
        txn = self.txns[txn_id]
        last_ms = self.now_ms() if state is TxnState.COMMITTED else txn.last_heartbeat_ms
        self.txns[txn_id] = replace(txn, state=state, meta_info=reason, last_heartbeat_ms=last_ms)
        self.min_history.pop(txn_id, None)
        self.locks = {i: rows for i, rows in self.locks.items() if rows[0].txn_id != txn_id}
        self.released.notify_all()

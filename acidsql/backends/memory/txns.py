"""Transactions: their lives, and what their ends leave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from acidsql.backends.memory.write_ids import MemoryWriteIds, place_written
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.txn.components import CHANGES, TxnComponent
from acidsql.txn.conflict import Conflict, Winner, first_conflict, latest_conflict
from acidsql.txn.entities import (
    LockType,
    Reached,
    Txn,
    TxnRangeResponse,
    TxnState,
    TxnType,
    WriteOperation,
    WriteSetEntry,
    Written,
)
from acidsql.txn.state import (
    TIMED_OUT,
    WORKED_TOO_LONG,
    batch_size,
    require_reach,
    require_room,
)


class MemoryTxns(MemoryWriteIds, ABC):
    """The verbs of `TxnManager` about transactions."""

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        return self.open_txns(1, user, host, type)[0]

    def open_block(
        self, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> tuple[TxnId, ValidTxnList]:
        with self.guard:
            txn_id = self.open_txn(user, host, type)
            return txn_id, self.valid_txns(txn_id)

    def open_txns(
        self, count: int, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> list[TxnId]:
        with self.guard:
            count = batch_size(count, self.policy.max_open_batch)
            opened = self.open_txn_ids()
            require_room(len(opened), self.policy.max_open_txns, count)
            first, now_ms = self.next_txn_id, self.now_ms()
            self.next_txn_id = TxnId(first + count)
            batch = [TxnId(first + i) for i in range(count)]
            for txn_id in batch:
                self.txns[txn_id] = Txn(txn_id, TxnState.OPEN, type, now_ms, now_ms, user, host)
                self.min_history[txn_id] = min(opened, default=first)
            return batch

    def heartbeat(self, txn_id: TxnId) -> None:
        with self.guard:
            txn = self.require_open(txn_id)
            self.txns[txn_id] = replace(txn, last_heartbeat_ms=self.now_ms())

    def heartbeat_txn_range(self, first: TxnId, last: TxnId) -> TxnRangeResponse:
        with self.guard:
            found = {t.txn_id: t for t in self.txns.values() if first <= t.txn_id <= last}
            for txn in found.values():
                if txn.state is TxnState.OPEN:
                    self.heartbeat(txn.txn_id)
            return TxnRangeResponse.of(first, last, {i: t.state for i, t in found.items()})

    def commit_txn(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> None:
        for r in reached:
            require_reach(r.operation)
        with self.guard:
            known = self.txns.get(txn_id)
            if known is not None and known.state is TxnState.COMMITTED:
                return
            txn = self.require_open(txn_id)
            for r in reached:
                self.add_dynamic_partitions(txn_id, r.write_id, r.table, r.partitions, r.operation)
            conflict = self._record_write_set(txn)
            if conflict is not None:
                self.end(txn_id, TxnState.ABORTED, str(conflict))
                raise conflict.error(self.txns.get(conflict.other.txn_id))
            self._complete(txn, written)
            self.end(txn_id, TxnState.COMMITTED)

    def _record_write_set(self, txn: Txn) -> Conflict | None:
        if txn.type is TxnType.COMPACTION:
            return None
        commit_id = TxnId(self.next_txn_id - 1)
        own = [
            WriteSetEntry(c.database, c.table, c.partition, txn.txn_id, commit_id, c.operation)
            for c in self.components_of(txn.txn_id)
            if c.operation in CHANGES
        ]
        conflict = first_conflict(own, self.write_set)
        if conflict is None:
            self.write_set += [entry for entry in own if entry not in self.write_set]
        return conflict

    def _complete(self, txn: Txn, written: Sequence[Written]) -> None:
        for component in self.components_of(txn.txn_id):
            del self.components[component]
            is_write = component.operation is not WriteOperation.COMPACT
            if txn.type is not TxnType.COMPACTION and is_write:
                self.completed[component] = place_written(component) in written

    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        with self.guard:
            known = self.txns.get(txn_id)
            if known is not None and known.state is TxnState.ABORTED:
                return
            self.require_open(txn_id)
            self.end(txn_id, TxnState.ABORTED, reason)

    def abort_txns(self, txn_ids: Sequence[TxnId], reason: str = "") -> list[TxnId]:
        with self.guard:
            aborted = sorted(set(txn_ids) & set(self.open_txn_ids()))
            for txn_id in aborted:
                self.end(txn_id, TxnState.ABORTED, reason)
            return aborted

    def valid_txns(self, txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        with self.guard:
            newest = TxnId(self.next_txn_id - 1)
            mark = min(txn_id, newest) if txn_id is not None and writes else newest
            listed = [
                t
                for t in self.txns.values()
                if t.type is not TxnType.READ_ONLY and t.txn_id <= mark and t.txn_id != txn_id
            ]
            return ValidTxnList(
                mark,
                frozenset(t.txn_id for t in listed if t.state is TxnState.OPEN),
                frozenset(t.txn_id for t in listed if t.state is TxnState.ABORTED),
            )

    def show_txns(self) -> list[Txn]:
        with self.guard:
            return [t for _, t in sorted(self.txns.items()) if t.state is not TxnState.COMMITTED]

    def latest_txn_in_conflict(self, txn_id: TxnId) -> Winner | None:
        with self.guard:
            self.require_open(txn_id)
            locked = {
                (lock.database, lock.table, lock.partition)
                for rows in self.locks.values()
                for lock in rows
                if lock.txn_id == txn_id and lock.type is not LockType.SHARED_READ
            }
            own = self.components_of(txn_id)
            winner = latest_conflict(txn_id, own, locked, self.write_set)
            return winner and winner.known_as(self.txns.get(winner.txn_id))

    def time_out_txns(self) -> list[TxnId]:
        with self.guard:
            oldest_ms = self.now_ms() - self.policy.timeout_ms
            late = sorted(t for t in self.open_txn_ids() if self._last_ms(t) < oldest_ms)
            for txn_id in late:
                self.end(txn_id, TxnState.ABORTED, TIMED_OUT)
            slow = self.slow_compactors(self.now_ms() - self.policy.worker_timeout_ms)
            for txn_id in slow:
                self.end(txn_id, TxnState.ABORTED, WORKED_TOO_LONG)
            self.give_back_compactions(oldest_ms)
            return sorted([*late, *slow])

    def _last_ms(self, txn_id: TxnId) -> int:
        return self.txns[txn_id].last_heartbeat_ms

    @abstractmethod
    def slow_compactors(self, oldest_ms: int) -> list[TxnId]:
        """Implemented beside the other compaction verbs."""

    @abstractmethod
    def give_back_compactions(self, oldest_ms: int) -> None:
        """Implemented beside the other compaction verbs."""

    def trim(self) -> None:
        with self.guard:
            least = min(self.open_txn_ids(), default=self.next_txn_id)
            self.write_set = [entry for entry in self.write_set if entry.commit_id >= least]
            self._trim_txns(self.now_ms() - self.policy.retention_ms)
            uncommitted = [
                t.txn_id for t in self.txns.values() if t.state is not TxnState.COMMITTED
            ]
            floor = min([*uncommitted, *self.min_history.values()], default=self.next_txn_id)
            self.trim_write_ids(TxnId(floor))
            self.completed = _latest(self.completed)
            self.trim_history(self.now_ms() - self.policy.retention_ms)

    @abstractmethod
    def trim_history(self, oldest_ms: int) -> None:
        """Implemented beside the other compaction verbs."""

    def aborted_writes(self) -> list[TxnComponent]:
        with self.guard:
            oldest_ms = self.now_ms() - self.policy.timeout_ms
            return [c for c in self.components if self._is_settled(c.txn_id, oldest_ms)]

    def _is_settled(self, txn_id: TxnId, oldest_ms: int) -> bool:
        return self._is_aborted(txn_id) and self._last_ms(txn_id) < oldest_ms

    def _is_aborted(self, txn_id: TxnId) -> bool:
        return self.txns[txn_id].state is TxnState.ABORTED

    def forget_aborted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        with self.guard:
            place = (table.database, table.table)
            for c in list(self.components):
                ours = c.txn_id in txn_ids and (c.database, c.table) == place
                if ours and self._is_aborted(c.txn_id):
                    del self.components[c]

    def _trim_txns(self, oldest_ms: int) -> None:
        needed = {c.txn_id for c in self.components}
        for txn_id, txn in list(self.txns.items()):
            ended = txn.state is not TxnState.OPEN
            if ended and txn_id not in needed and txn.last_heartbeat_ms < oldest_ms:
                del self.txns[txn_id]


def _latest(completed: Mapping[TxnComponent, bool]) -> dict[TxnComponent, bool]:
    """The last write to each place, and the last one with a directory."""
    in_order = sorted(completed.items(), key=lambda item: item[0].write_id or 0)
    latest = {(c.database, c.table, c.partition, written): c for c, written in in_order}
    return {component: completed[component] for component in latest.values()}

"""The compaction queue and its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from acidsql.backends.memory.locks import MemoryLocks
from acidsql.model.ids import CompactionId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import (
    COMPACTED,
    NO_OPTIONS,
    UNFINISHED,
    AbortedCompaction,
    ChangedPlace,
    Compaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
    TxnState,
    WriteOperation,
)
from acidsql.txn.state import (
    ABORTED_BY_REQUEST,
    aborted_compaction,
    compaction_is_scheduled,
    no_such_compaction,
    recorded_txn,
    require_compaction,
    require_worker,
    workers_are_gone,
    written_by,
)


class MemoryCompactions(MemoryLocks):
    """The verbs of `TxnManager` about compaction."""

    def compact(
        self,
        table: TableName,
        partition: str | None,
        type: CompactionType,
        initiator: str = "manual",
        host: str = "",
        options: CompactionOptions = NO_OPTIONS,
    ) -> CompactionId:
        with self.guard:
            for entry in self.compactions.values():
                place = (entry.database, entry.table, entry.partition)
                same = place == (table.database, table.table, partition)
                if same and entry.state in UNFINISHED:
                    raise compaction_is_scheduled(entry)
            compaction_id = self.next_compaction_id
            self.next_compaction_id = CompactionId(compaction_id + 1)
            self.compactions[compaction_id] = Compaction(
                compaction_id,
                table.database,
                table.table,
                partition,
                type,
                CompactionState.INITIATED,
                enqueued_ms=self.now_ms(),
                initiator=initiator,
                initiator_host=host,
                options=options,
            )
            return compaction_id

    def changed_places(self) -> list[ChangedPlace]:
        with self.guard:
            highest: dict[tuple[str, str, str | None], WriteId | None] = {}
            for c in self.completed:
                place = (c.database, c.table, c.partition)
                highest[place] = max(filter(None, (highest.get(place), c.write_id)), default=None)
            aborted: dict[tuple[str, str, str | None], set[TxnId]] = {}
            for c in self.components:
                ended = self.txns[c.txn_id].state is TxnState.ABORTED
                if ended and c.operation is not WriteOperation.COMPACT:
                    aborted.setdefault((c.database, c.table, c.partition), set()).add(c.txn_id)
            places = [
                self._changed_place(place, highest.get(place), aborted.get(place, set()))
                for place in {*highest, *aborted}
            ]
            return sorted(places, key=lambda place: place.label)

    def _changed_place(
        self, place: tuple[str, str, str | None], highest: WriteId | None, aborted: set[TxnId]
    ) -> ChangedPlace:
        database, table, partition = place
        age_ms = max((self.now_ms() - self.txns[t].started_ms for t in aborted), default=0)
        name = TableName(database, table)
        return ChangedPlace(name, partition, highest, len(aborted), age_ms, self.now_ms())

    def next_compaction(self, worker_id: str, pool: str | None = None) -> Compaction | None:
        with self.guard:
            late_ms = self.now_ms() - self.policy.pool_timeout_ms
            for entry in self.compactions.values():
                ours = entry.options.pool == pool
                ours |= pool is None and (entry.enqueued_ms or 0) < late_ms
                if ours and entry.state is CompactionState.INITIATED:
                    self.attempts[entry.compaction_id] += 1
                    return self._change(
                        entry,
                        state=CompactionState.WORKING,
                        worker_id=worker_id,
                        started_ms=self.now_ms(),
                    )
            return None

    def abort_compactions(self, compaction_ids: Sequence[CompactionId]) -> list[AbortedCompaction]:
        with self.guard:
            done = {i: self._abort_compaction(i) for i in dict.fromkeys(compaction_ids)}
        return [done[i] for i in compaction_ids]

    def _abort_compaction(self, compaction_id: CompactionId) -> AbortedCompaction:
        entry = self.compactions.get(compaction_id)
        if entry is not None and entry.state is CompactionState.INITIATED:
            self._change(
                entry,
                state=CompactionState.ABORTED,
                error_message=ABORTED_BY_REQUEST,
                ended_ms=self.now_ms(),
            )
        return aborted_compaction(compaction_id, None if entry is None else entry.state)

    def compaction_started(
        self, compaction_id: CompactionId, txn_id: TxnId, highest_write_id: WriteId
    ) -> None:
        with self.guard:
            entry = self._entry(compaction_id)
            require_compaction(entry, CompactionState.WORKING)
            txn = self.require_open(txn_id)
            require_worker(entry, txn)
            self._change(entry, txn_id=txn_id, highest_write_id=highest_write_id)
            component = TxnComponent(
                txn_id,
                entry.database,
                entry.table,
                entry.partition,
                WriteOperation.COMPACT,
                highest_write_id,
            )
            self.components[component] = None

    def mark_compacted(self, compaction_id: CompactionId) -> None:
        with self.guard:
            entry = self._entry(compaction_id)
            if entry.state in COMPACTED:
                return
            self.commit_txn(recorded_txn(entry), written=written_by(entry))
            self._change(
                entry,
                state=CompactionState.READY_FOR_CLEANING,
                next_txn_id=self.next_txn_id,
                commit_ms=self.now_ms(),
            )

    def mark_refused(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish(compaction_id, CompactionState.REFUSED, reason)

    def mark_failed(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish(compaction_id, CompactionState.FAILED, reason)

    def _finish(self, compaction_id: CompactionId, state: CompactionState, reason: str) -> None:
        with self.guard:
            entry = self._entry(compaction_id)
            if entry.state in (CompactionState.REFUSED, CompactionState.FAILED):
                return
            require_compaction(entry, *UNFINISHED)
            self._change(entry, state=state, error_message=reason, ended_ms=self.now_ms())

    def ready_to_clean(self) -> list[Compaction]:
        with self.guard:
            least = self.oldest_needed()
            latest_ms = self.now_ms() - self.policy.cleanup_delay_ms
            return [
                entry
                for entry in self.compactions.values()
                if entry.state is CompactionState.READY_FOR_CLEANING
                and entry.next_txn_id is not None
                and entry.next_txn_id <= least
                and (entry.commit_ms or 0) <= latest_ms
            ]

    def oldest_needed(self) -> TxnId:
        with self.guard:
            return min(self.min_history.values(), default=self.next_txn_id)

    def mark_cleaned(self, compaction_id: CompactionId) -> None:
        with self.guard:
            entry = self._entry(compaction_id)
            if entry.state is CompactionState.SUCCEEDED:
                return
            require_compaction(entry, CompactionState.READY_FOR_CLEANING)
            self._change(entry, state=CompactionState.SUCCEEDED, ended_ms=self.now_ms())
            for component in [c for c in self.completed if _covers(entry, c)]:
                del self.completed[component]

    def show_compactions(self) -> list[Compaction]:
        with self.guard:
            return list(reversed(self.compactions.values()))

    def slow_compactors(self, oldest_ms: int) -> list[TxnId]:
        """The open transactions of compactions that have begun before."""
        return [
            entry.txn_id
            for entry in self.compactions.values()
            if entry.state is CompactionState.WORKING
            and (entry.started_ms or 0) < oldest_ms
            and entry.txn_id in self.open_txn_ids()
        ]

    def give_back_compactions(self, oldest_ms: int) -> None:
        """Let other workers take the entries of workers that have ended, unless that is no use."""
        for entry in list(self.compactions.values()):
            if entry.state is not CompactionState.WORKING or not self._is_abandoned(
                entry, oldest_ms
            ):
                continue
            attempts = self.attempts[entry.compaction_id]
            if attempts >= self.policy.compaction_attempts:
                reason = workers_are_gone(attempts)
                self._finish(entry.compaction_id, CompactionState.FAILED, reason)
                continue
            self._change(
                entry,
                state=CompactionState.INITIATED,
                worker_id=None,
                started_ms=None,
                txn_id=None,
                highest_write_id=None,
            )

    def trim_history(self, oldest_ms: int) -> None:
        """Remove old entries, except the last ones of each place and kind of end."""
        for states, kept in self.policy.kept_compactions:
            seen: Counter[tuple[object, ...]] = Counter()
            for entry in list(reversed(self.compactions.values())):
                if entry.ended_ms is None or entry.state not in states:
                    continue
                place = (entry.database, entry.table, entry.partition)
                seen[place] += 1
                if seen[place] > kept and entry.ended_ms < oldest_ms:
                    del self.compactions[entry.compaction_id]
        for gone in self.attempts.keys() - self.compactions.keys():
            del self.attempts[gone]

    def _is_abandoned(self, entry: Compaction, oldest_ms: int) -> bool:
        if entry.txn_id is None:
            return (entry.started_ms or 0) < oldest_ms
        txn = self.txns.get(entry.txn_id)
        if txn is None:
            return True
        return txn.state is not TxnState.OPEN and txn.last_heartbeat_ms < oldest_ms

    def _entry(self, compaction_id: CompactionId) -> Compaction:
        if compaction_id not in self.compactions:
            raise no_such_compaction(compaction_id)
        return self.compactions[compaction_id]

    def _change(self, entry: Compaction, **changes: object) -> Compaction:
        changed = replace(entry, **changes)  # type: ignore[arg-type]
        self.compactions[entry.compaction_id] = changed
        return changed


def _covers(entry: Compaction, component: TxnComponent) -> bool:
    """Whether a finished compaction has taken in what the component wrote."""
    place = (component.database, component.table, component.partition)
    return (
        place == (entry.database, entry.table, entry.partition)
        and component.write_id is not None
        and entry.highest_write_id is not None
        and component.write_id <= entry.highest_write_id
    )

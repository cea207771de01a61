"""The compaction queue and its history."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.relational.connection import Row, reading, writing
from acidsql.backends.relational.locks import RelationalLocks
from acidsql.model.ids import CompactionId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.string_map import parse_string_map, string_map_text
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


class RelationalCompactions(RelationalLocks):
    """The verbs of `TxnManager` about compaction.

    A verb locks the entry of the queue before the transaction of that entry.
    """

    @writing(repeatable=False)
    def compact(
        self,
        table: TableName,
        partition: str | None,
        type: CompactionType,
        initiator: str = "manual",
        host: str = "",
        options: CompactionOptions = NO_OPTIONS,
    ) -> CompactionId:
        place = {"database": table.database, "table": table.table, "partition": partition}
        # The counter is locked first. So of two requests for one place, the later one sees the
        # entry of the earlier one.
        compaction_id = CompactionId(self._sql.value("next_compaction_id_to_change"))
        unfinished = self._sql.value("unfinished_compaction", **place)
        if unfinished is not None:
            raise compaction_is_scheduled(self._entry(unfinished))
        self._sql.run("bump_next_compaction_id")
        self._sql.run(
            "enqueue_compaction",
            id=compaction_id,
            type=type.value,
            initiator=initiator,
            host=host,
            pool=options.pool,
            buckets=options.buckets,
            order_by=options.order_by,
            properties=string_map_text(options.properties) if options.properties else None,
            **place,
        )
        return compaction_id

    @reading()
    def changed_places(self) -> list[ChangedPlace]:
        now_ms = self._sql.value("now_ms")
        places = [_changed_place(row, now_ms) for row in self._sql.rows("changed_places")]
        return sorted(places, key=lambda place: place.label)

    @writing()
    def next_compaction(self, worker_id: str, pool: str | None = None) -> Compaction | None:
        waits_ms = self._policy.pool_timeout_ms
        oldest = self._sql.value("oldest_initiated_to_change", pool=pool, waits_ms=waits_ms)
        if oldest is None:
            return None
        self._sql.run("take_compaction", id=oldest, worker_id=worker_id)
        return self._entry(oldest)

    @writing()
    def abort_compactions(self, compaction_ids: Sequence[CompactionId]) -> list[AbortedCompaction]:
        # Locked in one order: two requests for the same entries do not wait in a circle.
        done = {i: self._abort_compaction(i) for i in sorted(set(compaction_ids))}
        return [done[i] for i in compaction_ids]

    def _abort_compaction(self, compaction_id: CompactionId) -> AbortedCompaction:
        self._sql.row("compaction_to_change", id=compaction_id)
        row = self._sql.row("show_compactions", id=compaction_id)
        state = None if row is None else _compaction(row).state
        if state is CompactionState.INITIATED:
            self._archive(compaction_id, CompactionState.ABORTED, ABORTED_BY_REQUEST)
        return aborted_compaction(compaction_id, state)

    @writing()
    def compaction_started(
        self, compaction_id: CompactionId, txn_id: TxnId, highest_write_id: WriteId
    ) -> None:
        entry = self._entry_to_change(compaction_id)
        require_compaction(entry, CompactionState.WORKING)
        txn = self._require_open(txn_id)
        require_worker(entry, txn)
        self._sql.run(
            "start_compaction",
            id=compaction_id,
            txn_id=txn_id,
            highest_write_id=highest_write_id,
        )
        # Without a component an aborted transaction would be forgotten before its files are gone.
        self._add_component(
            TxnComponent(
                txn_id,
                entry.database,
                entry.table,
                entry.partition,
                WriteOperation.COMPACT,
                highest_write_id,
            )
        )

    @writing()
    def mark_compacted(self, compaction_id: CompactionId) -> None:
        entry = self._entry_to_change(compaction_id)
        if entry.state in COMPACTED:
            return
        self.commit_txn(recorded_txn(entry), written=written_by(entry))
        # Locked to the end: a transaction that opens later sees the compacted files. The cleaner
        # waits for every transaction that opened before.
        next_txn_id = self._sql.value("next_txn_id_to_change")
        self._sql.run("compacted", id=compaction_id, next_txn_id=next_txn_id)

    def mark_refused(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish(compaction_id, CompactionState.REFUSED, reason)

    def mark_failed(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish(compaction_id, CompactionState.FAILED, reason)

    @writing()
    def _finish(self, compaction_id: CompactionId, state: CompactionState, reason: str) -> None:
        entry = self._entry_to_change(compaction_id)
        if entry.state in (CompactionState.REFUSED, CompactionState.FAILED):
            return
        require_compaction(entry, *UNFINISHED)
        self._archive(compaction_id, state, reason)

    @reading()
    def ready_to_clean(self) -> list[Compaction]:
        bounds = {
            "oldest": self._sql.value("oldest_needed"),
            "delay_ms": self._policy.cleanup_delay_ms,
        }
        ready = {i for (i,) in self._sql.rows("ready_to_clean", **bounds)}
        entries = reversed(self.show_compactions()) if ready else []
        return [entry for entry in entries if entry.compaction_id in ready]

    @reading()
    def oldest_needed(self) -> TxnId:
        return TxnId(self._sql.value("oldest_needed"))

    @writing()
    def mark_cleaned(self, compaction_id: CompactionId) -> None:
        entry = self._entry_to_change(compaction_id)
        if entry.state is CompactionState.SUCCEEDED:
            return
        require_compaction(entry, CompactionState.READY_FOR_CLEANING)
        self._archive(compaction_id, CompactionState.SUCCEEDED, None)
        self._sql.run(
            "clean_completed_components",
            database=entry.database,
            table=entry.table,
            partition=entry.partition,
            highest_write_id=entry.highest_write_id,
        )

    @reading()
    def show_compactions(self) -> list[Compaction]:
        return [_compaction(row) for row in self._sql.rows("show_compactions", id=None)]

    def _give_back(self, oldest_ms: int) -> None:
        """Let other workers take the entries of workers that have ended, unless that is no use."""
        for number, attempts in self._sql.rows("abandoned_compactions", oldest_ms=oldest_ms):
            if attempts >= self._policy.compaction_attempts:
                self._archive(number, CompactionState.FAILED, workers_are_gone(attempts))
            else:
                self._sql.run("give_back_compaction", id=number)

    def _archive(
        self, compaction_id: CompactionId, state: CompactionState, reason: str | None
    ) -> None:
        self._sql.run(
            "archive_compaction",
            id=compaction_id,
            state=state.value,
            reason=reason,
        )
        self._sql.run("dequeue_compaction", id=compaction_id)

    def _entry_to_change(self, compaction_id: CompactionId) -> Compaction:
        self._sql.row("compaction_to_change", id=compaction_id)
        return self._entry(compaction_id)

    def _entry(self, compaction_id: CompactionId) -> Compaction:
        row = self._sql.row("show_compactions", id=compaction_id)
        if row is None:
            raise no_such_compaction(compaction_id)
        return _compaction(row)


def _changed_place(row: Row, now_ms: int) -> ChangedPlace:
    database, table, partition, highest, aborted, oldest_ms = row
    return ChangedPlace(
        TableName(database, table),
        partition,
        None if highest is None else WriteId(highest),
        int(aborted),
        0 if oldest_ms is None else now_ms - oldest_ms,
        now_ms,
    )


def _compaction(row: Row) -> Compaction:
    compaction_id, database, table, partition, kind, state, worker_id, *rest = row
    enqueued_ms, started_ms, ended_ms, error_message, txn_id, *rest = rest
    next_txn_id, commit_ms, highest_write_id, initiator, initiator_host, *rest = rest
    pool, buckets, order_by, properties = rest
    return Compaction(
        CompactionId(compaction_id),
        database,
        table,
        partition,
        CompactionType(kind),
        CompactionState(state),
        worker_id=worker_id,
        enqueued_ms=enqueued_ms,
        started_ms=started_ms,
        ended_ms=ended_ms,
        error_message=error_message,
        txn_id=txn_id,
        next_txn_id=next_txn_id,
        commit_ms=commit_ms,
        highest_write_id=highest_write_id,
        initiator=initiator,
        initiator_host=initiator_host,
        options=CompactionOptions(
            pool, buckets, order_by, parse_string_map(properties) if properties else {}
        ),
    )

"""The compaction queue and its history."""

from __future__ import annotations

from acidsql.backends.sqlite.connection import Row
from acidsql.backends.sqlite.locks import SqliteLocks
from acidsql.errors import TxnError
from acidsql.model.ids import CompactionId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import Compaction, CompactionState, CompactionType, WriteOperation
from acidsql.txn.state import (
    compaction_is_scheduled,
    no_such_compaction,
    require_compaction,
    require_worker,
)


class SqliteCompactions(SqliteLocks):
    """The verbs of `TxnManager` about compaction."""

    def compact(
        self,
        table: TableName,
        partition: str | None,
        type: CompactionType,
        initiator: str = "manual",
        host: str = "",
    ) -> CompactionId:
        place = {"database": table.database, "table": table.table, "partition": partition}
        with self._file.writing():
            unfinished = self._file.value("unfinished_compaction", **place)
            if unfinished is not None:
                raise compaction_is_scheduled(self._entry(unfinished))
            compaction_id = CompactionId(self._file.value("next_compaction_id"))
            self._file.run("bump_next_compaction_id")
            self._file.run(
                "enqueue_compaction",
                id=compaction_id,
                type=type.value,
                now_ms=self._file.now_ms(),
                initiator=initiator,
                host=host,
                **place,
            )
            return compaction_id

    def next_compaction(self, worker_id: str) -> Compaction | None:
        with self._file.writing():
            oldest = self._file.value("oldest_initiated")
            if oldest is None:
                return None
            now_ms = self._file.now_ms()
            self._file.run("take_compaction", id=oldest, worker_id=worker_id, now_ms=now_ms)
            return self._entry(oldest)

    def compaction_started(
        self, compaction_id: CompactionId, txn_id: TxnId, highest_write_id: WriteId
    ) -> None:
        with self._file.writing():
            entry = self._entry(compaction_id)
            require_compaction(entry, CompactionState.WORKING)
            txn = self._require_open(txn_id)
            require_worker(entry, txn)
            self._file.run(
                "start_compaction",
                id=compaction_id,
                txn_id=txn_id,
                highest_write_id=highest_write_id,
            )
            # Without it the transaction, if aborted, would be forgotten before its files are gone.
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

    def mark_compacted(self, compaction_id: CompactionId) -> None:
        with self._file.writing():
            entry = self._entry(compaction_id)
            if entry.state in (CompactionState.READY_FOR_CLEANING, CompactionState.SUCCEEDED):
                return
            require_compaction(entry, CompactionState.WORKING)
            if entry.txn_id is None:
                raise TxnError(f"Compaction {compaction_id} has not recorded its transaction")
            self.commit_txn(entry.txn_id)
            self._file.run("compacted", id=compaction_id, now_ms=self._file.now_ms())

    def mark_refused(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish(compaction_id, CompactionState.REFUSED, reason)

    def mark_failed(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish(compaction_id, CompactionState.FAILED, reason)

    def _finish(self, compaction_id: CompactionId, state: CompactionState, reason: str) -> None:
        with self._file.writing():
            entry = self._entry(compaction_id)
            if entry.state in (CompactionState.REFUSED, CompactionState.FAILED):
                return
            require_compaction(entry, CompactionState.INITIATED, CompactionState.WORKING)
            self._archive(compaction_id, state, reason)

    def ready_to_clean(self) -> list[Compaction]:
        with self._file.reading():
            return [self._entry(i) for (i,) in self._file.rows("ready_to_clean")]

    def mark_cleaned(self, compaction_id: CompactionId) -> None:
        with self._file.writing():
            entry = self._entry(compaction_id)
            if entry.state is CompactionState.SUCCEEDED:
                return
            require_compaction(entry, CompactionState.READY_FOR_CLEANING)
            self._archive(compaction_id, CompactionState.SUCCEEDED, None)
            for query in ("clean_completed_components", "clean_aborted_components"):
                self._file.run(
                    query,
                    database=entry.database,
                    table=entry.table,
                    partition=entry.partition,
                    highest_write_id=entry.highest_write_id,
                )

    def show_compactions(self) -> list[Compaction]:
        with self._file.reading():
            return [_compaction(row) for row in self._file.rows("show_compactions", id=None)]

    def _archive(
        self, compaction_id: CompactionId, state: CompactionState, reason: str | None
    ) -> None:
        self._file.run(
            "archive_compaction",
            id=compaction_id,
            state=state.value,
            reason=reason,
            now_ms=self._file.now_ms(),
        )
        self._file.run("dequeue_compaction", id=compaction_id)

    def _entry(self, compaction_id: CompactionId) -> Compaction:
        row = self._file.row("show_compactions", id=compaction_id)
        if row is None:
            raise no_such_compaction(compaction_id)
        return _compaction(row)


def _compaction(row: Row) -> Compaction:
    compaction_id, database, table, partition, kind, state, worker_id, *rest = row
    enqueued_ms, started_ms, ended_ms, error_message, txn_id, *rest = rest
    next_txn_id, commit_ms, highest_write_id, initiator, initiator_host = rest
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
    )

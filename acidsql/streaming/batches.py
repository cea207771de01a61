"""The transactions of a streaming connection: batches of them, one after the other, with their
files and the rows that are in no file yet.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from acidsql.engines.target import Target, partition_name
from acidsql.errors import AcidSqlError, StreamingError, StreamingStateError
from acidsql.execution.older_store import refuse_older_store
from acidsql.execution.overtaking import overtaken, overtaker
from acidsql.execution.snapshots import table_directories
from acidsql.execution.stale_partitions import refuse_stale_partitions
from acidsql.execution.stream_scope import StreamScope
from acidsql.model.ids import NO_TXN, WriteId
from acidsql.model.predicate import membership
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Table
from acidsql.ports.engine import PartitionLocation, ReadContext, TableSnapshot, WriteContext
from acidsql.streaming.files import BatchFiles
from acidsql.streaming.options import StreamOptions, require_streamable, shape
from acidsql.streaming.partitions import partition_codes, rows_without_partition
from acidsql.streaming.pending import PendingRows
from acidsql.streaming.stats import ConnectionStats
from acidsql.streaming.writers import Encoded
from acidsql.txn.cleanup import error_line
from acidsql.txn.entities import Reached, WriteOperation, Written
from acidsql.txn.txn_batch import TxnBatch

_log = logging.getLogger(__name__)

FLUSH_BYTES = 64 << 20
"""The bytes of rows, as Arrow holds them, that are kept in memory before they are flushed."""

_TRIES = 5


class StreamBatches:
    """The batches of a connection. One of them is open at a time, and one of its transactions.

    Nothing here waits for other threads, or ends the batch after an error: the connection does.
    """

    def __init__(self, scope: StreamScope, options: StreamOptions) -> None:
        self._scope, self._options = scope, options
        self._batch: TxnBatch | None = None
        self._files: BatchFiles | None = None
        self._pending = PendingRows(options)
        self._may_be_committed = False
        self._stats = ConnectionStats()
        require_streamable(options, scope)
        self._plan, self._locks = options.plan, options.locks(scope.policy)
        refuse_older_store(self._plan, options.table, scope.scope)

    @property
    def is_begun(self) -> bool:
        """Whether a transaction is begun and has not ended."""
        return self._batch is not None and self._batch.is_begun

    @property
    def remaining(self) -> int:
        """How many transactions of the batch have not ended, with the current one."""
        return 0 if self._batch is None else self._batch.remaining

    @property
    def stats(self) -> ConnectionStats:
        """What was done so far, with the records that came one by one and are in no batch yet."""
        written = self._stats.records_written + len(self._pending.singles)
        return replace(self._stats, records_written=written)

    def current(self) -> TxnBatch:
        """The batch whose current transaction is begun. StreamingStateError if none is."""
        if self._batch is None:
            raise StreamingStateError("Transaction batch is null. Missing beginTransaction?")
        if not self._batch.is_begun:
            raise StreamingStateError("Transaction state is not OPEN. Missing beginTransaction?")
        return self._batch

    def begin(self) -> None:
        """Begin the batch's next transaction, or the first one of a new batch."""
        for _ in range(_TRIES):
            batch = self._next_batch()
            batch.begin(self._locks)
            self._pending.clear()
            self._require_unchanged(batch)
            # Which partitions a dynamic write reaches, only its rows tell.
            by = None if self._options.is_dynamic else self._overtaker(batch, self._places(None))
            if by is None:
                return
            # An overwrite has hidden all lower write ids, so the rest of the batch is of no use.
            self.end("a later write id was committed before")
        raise StreamingError(
            f"table {self._options.table.name} was overwritten again and again", hint="Try again."
        )

    def take(self, record: Any) -> bool:
        """Add a single record, if it needs no encoding: it has the form of those before it."""
        return self._pending.singles.take(record)

    def flush_singles(self) -> None:
        """Write the rows so far to files if they are many, of which the single records may be."""
        if self._pending.singles.is_full:
            self._gather_and_flush()

    def accept(self, records: Any) -> None:
        """Note the form of a record that was encoded, for `take`."""
        self._pending.singles.accepted(records)

    def add(self, encoded: Encoded) -> None:
        """Add rows, and count them and what was rejected."""
        rows = encoded.rows
        self._gather()
        self._pending.add(rows)
        self._count(
            records_written=rows.num_rows,
            records_rejected=len(encoded.rejected),
            values_nulled=encoded.nulled,
            fields_dropped=encoded.dropped,
            bytes_written=rows.nbytes,
        )
        self._gather_and_flush()

    def without_faults(self, encoded: Encoded) -> Encoded:
        """The rows without those that the table cannot hold."""
        for name in self._options.required:
            nulls = np.flatnonzero(encoded.rows.column(name).is_null()).tolist()
            encoded = encoded.without(dict.fromkeys(nulls, "it must not be null"), name)
        if not self._options.is_dynamic:
            return encoded
        faults = rows_without_partition(
            encoded.rows,
            self._options.table,
            has_directories=self._scope.storage.has_directories,
        )
        return encoded.without(faults, self._options.columns[-1].name)

    def _next_batch(self) -> TxnBatch:
        if self._batch is not None and self._batch.remaining:
            return self._batch
        scope, options = self._scope, self._options
        self._batch = TxnBatch(
            scope.store,
            options.batch_size,
            options.table.name,
            user=scope.user,
            host=scope.host,
            policy=scope.policy,
            agent_info=options.agent_info,
            heartbeats=scope.heartbeats,
        )
        self._files = BatchFiles(
            options.table,
            self._batch.write_ids,
            scope.store,
            scope.storage,
            self._batch.require_open,
        )
        self._count(batches_opened=1)
        return self._batch

    def _open(self) -> tuple[TxnBatch, BatchFiles]:
        """The batch that is open, and its files."""
        assert self._batch is not None
        assert self._files is not None
        return self._batch, self._files

    def _require_unchanged(self, batch: TxnBatch) -> None:
        """StreamingError if the table is not the one of the connection's beginning."""
        now = self._require_there(batch)
        if shape(now) != shape(self._options.table):
            raise StreamingError(
                f"table {self._options.table.name} was altered", hint="Make a new connection."
            )

    def _require_there(self, batch: TxnBatch) -> Table:
        """The table. StreamingError if another one, or none, has its name now."""
        now = self._scope.store.find_table(self._options.table.name)
        # Over a metastore, write ids alone do not tell.
        is_same = now is not None and now.created_s == self._options.table.created_s
        if now is None or not is_same or not batch.still_has_write_id():
            raise StreamingError(
                f"table {self._options.table.name} was dropped", hint="Make a new connection."
            )
        return now

    def _places(self, names: Sequence[str] | None) -> list[PartitionLocation]:
        """The known places among partitions of these texts; None stands for the static one."""
        table = self._options.table
        if not table.partition_columns:
            return table_directories(self._scope.store, table)
        wanted = (
            {self._options.static_partition}
            if names is None
            else {partition_name(n) for n in names}
        )
        found = [name for name in wanted if name is not None]
        places = table_directories(self._scope.store, table, membership(found))
        return [place for place in places if place.name in wanted]

    def _snapshot(self, places: Sequence[PartitionLocation]) -> TableSnapshot:
        """The places to write to. The rows of nobody are read, so it sees no write id.

        Only an object store has to know whether a write was ever committed.
        """
        store, write_ids = (
            self._scope.store,
            ValidWriteIdList(str(self._options.table.name), WriteId(0)),
        )
        if not self._scope.storage.has_directories:
            write_ids = store.valid_write_ids([self._options.table.name], store.valid_txns())[
                self._options.table.name
            ]
        return TableSnapshot(self._options.table, tuple(places), write_ids)

    def _overtaker(self, batch: TxnBatch, places: Sequence[PartitionLocation]) -> Any:
        """A later write whose base would hide the current transaction's rows, or None."""
        read = ReadContext(ValidTxnList(NO_TXN), {self._options.table.name: self._snapshot(places)})
        context = WriteContext(read, {self._options.table.name: batch.write_id})
        return overtaker(self._plan, context, self._scope.store, self._scope.storage)

    def _gather(self) -> None:
        """Count the records that came one by one, and put them behind the rows before them."""
        rows = self._pending.gather_singles()
        if rows is not None:
            self._count(records_written=rows.num_rows, bytes_written=rows.nbytes)

    def _forget_pending(self) -> None:
        """Let go of rows that nobody will see. They count as written."""
        self._count(records_written=len(self._pending.singles))
        self._pending.clear()

    def _gather_and_flush(self) -> None:
        self._gather()
        if self._pending.size >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the records so far to durable files. Nobody sees them before the commit."""
        pending, (batch, files) = self._pending, self._open()
        # A writer that was taken for dead may find its names in another's hands.
        batch.require_open()
        self._gather()
        rows = pending.rows()
        if rows is None:
            return
        codes, names = partition_codes(rows, self._options.table, self._options.static_partition)
        places = self._places(names)
        if self._options.is_dynamic:
            by = self._overtaker(batch, places)
            if by is not None:
                raise overtaken(self._options.table.name, batch.txn_id, by, self._scope.store)
        to = Target.of(self._snapshot(places), batch.write_id, self._scope.storage)
        self._refuse_stale(names, to)
        files.write(rows, codes, names, to)
        pending.touched.update(names)
        pending.written()
        self._count(flushes=1)

    def _refuse_stale(self, names: Sequence[str], to: Target) -> None:
        """AnalysisError if a partition that the rows make has rows of others already."""
        missing = [name for name in names if name not in to.locations]
        found = [(partition_name(name), to.directory(name)) for name in missing]
        new = [PartitionLocation(name, place) for name, place in found if name is not None]
        if not new:
            return
        store, table = self._scope.store, self._options.table
        write_ids = store.valid_write_ids([table.name], store.valid_txns())[table.name]
        snapshot = TableSnapshot(table, (), write_ids)
        refuse_stale_partitions(new, snapshot, to.write_id, store, self._scope.storage)

    def commit(self) -> None:
        """Make the transaction's records visible."""
        self.flush()
        batch, files = self._open()
        files.publish()
        if batch.remaining == 1:
            files.close()
        self._commit_in_store(batch)
        if self._pending.touched:
            self._scope.committed()
        self._count(committed_transactions=1)
        self._pending.clear()

    def _commit_in_store(self, batch: TxnBatch) -> None:
        store, table, write_id = self._scope.store, self._options.table, batch.write_id
        touched = sorted(self._pending.touched)
        names = [partition_name(text) for text in touched]
        written = [
            Written(write_id, table.name, None if name is None else str(name)) for name in names
        ]
        reached = []
        if table.partition_columns:
            reached = [Reached(write_id, table.name, touched, WriteOperation.INSERT)]
        if touched:
            # As late as possible: a count that is taken in between would be believed.
            store.forget_statistics(table.name, [n for n in names if n is not None])
        # From here on the store may commit, even if it never says so.
        self._may_be_committed = True
        batch.commit(lambda txn_id: store.commit_txn(txn_id, reached, written))
        self._may_be_committed = False

    def abort(self) -> None:
        """Abort the transaction: nobody will see its records. The batch goes on."""
        batch, files = self._open()
        self._forget_pending()
        self._put_away(batch, files, is_last=batch.remaining == 1)
        batch.abort("aborted by its streaming connection")
        self._count(aborted_transactions=1)

    def _put_away(self, batch: TxnBatch, files: BatchFiles, *, is_last: bool) -> None:
        """Remove what the current transaction, which is to be aborted, has written alone.

        Nothing is removed that may be somebody else's, or committed: only as long as the
        transaction is open and has its lock, the files under its names are surely its own.
        """
        try:
            batch.require_open()
            if not batch.is_begun:
                # Between two transactions the table may have been renamed or dropped.
                batch.begin(self._locks)
            self._require_there(batch)
            if not self._may_be_committed:
                files.discard()
            if is_last:
                files.close()
        except AcidSqlError as error:
            _log.info("files of a batch stay: %s", error_line(error))
            files.discard_hidden()

    def end(self, reason: str) -> None:
        """Abort the transactions of the batch that have not ended. Raises no error of acidsql."""
        batch, files = self._batch, self._files
        self._batch = self._files = None
        self._forget_pending()
        if batch is None or not batch.remaining:
            return
        self._count(aborted_transactions=batch.remaining)
        try:
            if files is not None:
                self._put_away(batch, files, is_last=True)
        finally:
            batch.close(reason)

    def _count(self, **more: int) -> None:
        changed = {name: getattr(self._stats, name) + count for name, count in more.items()}
        self._stats = replace(self._stats, **changed)

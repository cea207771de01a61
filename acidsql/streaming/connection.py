"""A streaming connection: one writer's transactions on one table, in batches (Hive's Streaming V2).

Hive's HiveStreamingConnection is the model. What its Java calls are named here as Python names.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from acidsql.engines.target import Target, partition_name
from acidsql.errors import (
    AcidSqlError,
    LockTimeoutError,
    SerializationError,
    StreamingError,
    StreamingStateError,
)
from acidsql.execution.older_store import refuse_older_store
from acidsql.execution.overtaking import overtaken, overtaker
from acidsql.execution.snapshots import table_directories
from acidsql.execution.stale_partitions import refuse_stale_partitions
from acidsql.execution.stream_scope import StreamScope
from acidsql.model.ids import NO_TXN, WriteId
from acidsql.model.names import TableName
from acidsql.model.predicate import membership
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Table
from acidsql.ports.engine import PartitionLocation, ReadContext, TableSnapshot, WriteContext
from acidsql.process.forks import Home
from acidsql.streaming.files import BatchFiles
from acidsql.streaming.options import StreamOptions, require_streamable, shape
from acidsql.streaming.partitions import partition_codes, rows_without_partition
from acidsql.streaming.pending import PendingRows
from acidsql.streaming.stats import ConnectionStats
from acidsql.streaming.writers import Encoded
from acidsql.txn.cleanup import error_line
from acidsql.txn.entities import Reached, WriteOperation, Written
from acidsql.txn.txn_batch import TxnBatch

if TYPE_CHECKING:
    from acidsql.streaming.builder import StreamingConnectionBuilder

_log = logging.getLogger(__name__)
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

FLUSH_BYTES = 64 << 20
"""The bytes of rows, as Arrow holds them, that a connection keeps in memory before it flushes."""

_TRIES = 5


def _one_at_a_time(
    call: Callable[Concatenate[StreamingConnection, _Given], _Result],
) -> Callable[Concatenate[StreamingConnection, _Given], _Result]:
    """A call that waits for those of other threads: a row that is written between a flush and the
    end of its transaction would be in no file.
    """

    @wraps(call)
    def alone(self: StreamingConnection, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        self._home.require()  # in a forked child, nobody would let go of the guard
        with self._guard:
            return call(self, *args, **kwargs)

    return alone


class StreamingConnection:
    """Rows into one full-ACID table, in transactions that are taken from batches.

    Made by ``StreamingConnection.builder()``. A context manager: leaving it closes the connection.
    Calls of several threads are carried out one after the other. There is one transaction at a
    time, so threads that need their own need connections of their own. After any error but
    SerializationError and LockTimeoutError the connection is closed, and its open transactions are
    aborted.
    """

    def __init__(
        self, scope: StreamScope, options: StreamOptions, on_close: Callable[[], None] | None = None
    ) -> None:
        self._scope, self._options = scope, options
        self._on_close = on_close
        self._batch: TxnBatch | None = None
        self._files: BatchFiles | None = None
        self._pending = PendingRows(options)
        self._stats = ConnectionStats()
        self._closed = self._may_be_committed = False
        self._failure: BaseException | None = None
        self._guard = threading.RLock()
        self._home = Home("streaming connection", self)
        require_streamable(options, scope)
        self._plan, self._locks = options.plan, options.locks(scope.policy)
        refuse_older_store(self._plan, options.table, scope.scope)
        scope.opened(self)

    @staticmethod
    def builder() -> StreamingConnectionBuilder:
        """A builder, whose ``connect`` makes the connection."""
        from acidsql.streaming.builder import StreamingConnectionBuilder  # noqa: PLC0415

        return StreamingConnectionBuilder()

    # -- what a writer calls --------------------------------------------------------------------

    @property
    def table(self) -> TableName:
        """The table that rows are written into."""
        return self._options.table.name

    @property
    def connection_stats(self) -> ConnectionStats:
        """Counts of what the connection has done so far."""
        written = self._stats.records_written + len(self._pending.singles)
        return replace(self._stats, records_written=written)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is begun and has not ended."""
        return self._batch is not None and self._batch.is_begun

    @property
    def remaining_transactions(self) -> int:
        """How many transactions of the batch have not ended, with the current one."""
        return 0 if self._batch is None else self._batch.remaining

    @property
    def txn_id(self) -> int:
        """The id of the current transaction. StreamingStateError without one."""
        return self._current().txn_id

    @property
    def write_id(self) -> int:
        """The write id of the current transaction. StreamingStateError without one."""
        return self._current().write_id

    @_one_at_a_time
    def begin_transaction(self) -> None:
        """Begin the batch's next transaction, or the first one of a new batch.

        LockTimeoutError if its lock is not granted at once; the call may be repeated then.
        StreamingStateError if a transaction is begun already, or the connection is closed.
        StreamingError if the table was altered or dropped since the connection was made.
        """
        if self._closed:
            raise self._closed_error(
                "Cannot begin next transaction on a closed streaming connection"
            )
        if self.in_transaction:
            raise StreamingStateError(
                "cannot begin a transaction while another one is open",
                hint="Commit or abort the current one first.",
            )
        self._guarded(self._begin)

    @_one_at_a_time
    def write(self, records: Any) -> int:
        """Add records to the current transaction. Returns how many.

        SerializationError if records do not fit the table: all others of the call are added, and
        the transaction goes on.
        """
        self._current()
        if self._pending.singles.take(records):
            if self._pending.singles.is_full:
                self._guarded(self._gather_and_flush)
            return 1
        found = self._options.record_writer.encode(records, self._options.columns)
        encoded = self._without_faults(found)

        def add() -> None:
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

        self._guarded(add)
        encoded.require_all()
        self._pending.singles.accepted(records)
        return int(encoded.rows.num_rows)

    def _without_faults(self, encoded: Encoded) -> Encoded:
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

    @_one_at_a_time
    def flush(self) -> None:
        """Write the records so far to durable files. Nobody sees them before the commit."""
        self._current()
        self._guarded(self._flush)

    @_one_at_a_time
    def commit_transaction(self) -> None:
        """Make the transaction's records visible."""
        self._current()
        self._guarded(self._commit)

    @_one_at_a_time
    def abort_transaction(self) -> None:
        """Abort the transaction: nobody will see its records. The batch goes on."""
        self._current()
        self._guarded(self._abort)

    def close(self) -> None:
        """Abort what has not ended, and release the connection. Idempotent.

        Does nothing in a forked child: the transactions belong to the parent.
        """
        if not self._home.is_here:
            return
        with self._guard:
            if self._closed:
                return
            self._closed = True
            try:
                self._end_batch("the streaming connection was closed")
            finally:
                if self._on_close is not None:
                    self._on_close()

    def __enter__(self) -> StreamingConnection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- states ---------------------------------------------------------------------------------

    def _current(self) -> TxnBatch:
        """The batch whose current transaction is begun."""
        self._home.require()
        if self._closed:
            raise self._closed_error("Streaming connection is closed already.")
        if self._batch is None:
            raise StreamingStateError("Transaction batch is null. Missing beginTransaction?")
        if not self._batch.is_begun:
            raise StreamingStateError("Transaction state is not OPEN. Missing beginTransaction?")
        return self._batch

    def _closed_error(self, message: str) -> StreamingStateError:
        error = StreamingStateError(
            message,
            detail=f"It was closed by an error: {error_line(self._failure)}"
            if self._failure is not None
            else None,
            hint="Make a new connection.",
        )
        error.__cause__ = self._failure
        return error

    def _guarded(self, step: Callable[[], _Result]) -> _Result:
        """Do a step of the batch. After any failure the connection is closed."""
        try:
            return step()
        except (SerializationError, LockTimeoutError):
            raise
        except BaseException as error:
            self._failure = error
            self.close()
            raise

    def _count(self, **more: int) -> None:
        changed = {name: getattr(self._stats, name) + count for name, count in more.items()}
        self._stats = replace(self._stats, **changed)

    # -- steps of a batch -----------------------------------------------------------------------

    def _begin(self) -> None:
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
            self._end_batch("a later write id was committed before")
        raise StreamingError(
            f"table {self.table} was overwritten again and again", hint="Try again."
        )

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
            raise StreamingError(f"table {self.table} was altered", hint="Make a new connection.")

    def _require_there(self, batch: TxnBatch) -> Table:
        """The table. StreamingError if another one, or none, has its name now."""
        now = self._scope.store.find_table(self.table)
        # Over a metastore, write ids alone do not tell.
        is_same = now is not None and now.created_s == self._options.table.created_s
        if now is None or not is_same or not batch.still_has_write_id():
            raise StreamingError(f"table {self.table} was dropped", hint="Make a new connection.")
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
        store, write_ids = self._scope.store, ValidWriteIdList(str(self.table), WriteId(0))
        if not self._scope.storage.has_directories:
            write_ids = store.valid_write_ids([self.table], store.valid_txns())[self.table]
        return TableSnapshot(self._options.table, tuple(places), write_ids)

    def _overtaker(self, batch: TxnBatch, places: Sequence[PartitionLocation]) -> Any:
        """A later write whose base would hide the current transaction's rows, or None."""
        read = ReadContext(ValidTxnList(NO_TXN), {self.table: self._snapshot(places)})
        context = WriteContext(read, {self.table: batch.write_id})
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
            self._flush()

    def _flush(self) -> None:
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
                raise overtaken(self.table, batch.txn_id, by, self._scope.store)
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

    def _commit(self) -> None:
        self._flush()
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

    def _abort(self) -> None:
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

    def _end_batch(self, reason: str) -> None:
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
            batch.close(error_line(self._failure) if self._failure is not None else reason)

"""A streaming connection: one writer's transactions on one table, in batches (Hive's Streaming V2).

Hive's HiveStreamingConnection is the model. What its Java calls are named here as Python names.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from acidsql.errors import LockTimeoutError, SerializationError, StreamingStateError
from acidsql.execution.stream_scope import StreamScope
from acidsql.model.names import TableName
from acidsql.process.forks import Home
from acidsql.streaming.batches import StreamBatches
from acidsql.streaming.options import StreamOptions
from acidsql.streaming.stats import ConnectionStats
from acidsql.txn.cleanup import error_line
from acidsql.txn.txn_batch import TxnBatch

if TYPE_CHECKING:
    from acidsql.streaming.builder import StreamingConnectionBuilder

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


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
        self._options, self._on_close = options, on_close
        self._closed = False
        self._failure: BaseException | None = None
        self._guard = threading.RLock()
        self._home = Home("streaming connection", self)
        self._batches = StreamBatches(scope, options)
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
        return self._batches.stats

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is begun and has not ended."""
        return self._batches.is_begun

    @property
    def remaining_transactions(self) -> int:
        """How many transactions of the batch have not ended, with the current one."""
        return self._batches.remaining

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
        self._guarded(self._batches.begin)

    @_one_at_a_time
    def write(self, records: Any) -> int:
        """Add records to the current transaction. Returns how many.

        SerializationError if records do not fit the table: all others of the call are added, and
        the transaction goes on.
        """
        self._current()
        batches, options = self._batches, self._options
        if batches.take(records):
            self._guarded(batches.flush_singles)
            return 1
        encoded = batches.without_faults(options.record_writer.encode(records, options.columns))
        self._guarded(lambda: batches.add(encoded))
        encoded.require_all()
        batches.accept(records)
        return int(encoded.rows.num_rows)

    @_one_at_a_time
    def flush(self) -> None:
        """Write the records so far to durable files. Nobody sees them before the commit."""
        self._current()
        self._guarded(self._batches.flush)

    @_one_at_a_time
    def commit_transaction(self) -> None:
        """Make the transaction's records visible."""
        self._current()
        self._guarded(self._batches.commit)

    @_one_at_a_time
    def abort_transaction(self) -> None:
        """Abort the transaction: nobody will see its records. The batch goes on."""
        self._current()
        self._guarded(self._batches.abort)

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
                self._batches.end(self._reason())
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
        return self._batches.current()

    def _reason(self) -> str:
        """Why what has not ended is aborted when the connection is closed."""
        if self._failure is None:
            return "the streaming connection was closed"
        return error_line(self._failure)

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

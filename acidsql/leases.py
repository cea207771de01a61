"""Leases: read transactions that outlive their statement, because a lazy frame may still be read.

A lease ends when its owner is closed or collected. Python may collect an owner at any moment, even
in the middle of a call into the store, so a collection only puts the work into a queue; a thread
of its own does it.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from acidsql.errors import AcidSqlError
from acidsql.model.names import TableName
from acidsql.txn.transaction import OpenTxn

_log = logging.getLogger(__name__)

Work = Callable[[], object]


class Leases:
    """The open read transactions of one session and the tables each of them pins."""

    def __init__(self) -> None:
        self._held: dict[OpenTxn, frozenset[TableName]] = {}
        self._guard = threading.Lock()
        # Its put may be called from a finalizer (its documentation says so).
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def keep(self, txn: OpenTxn, names: Sequence[TableName]) -> None:
        """Hold a transaction until it is released."""
        self.start()
        with self._guard:
            self._held[txn] = frozenset(names)

    def start(self) -> None:
        """Start the thread, which no finalizer could; needed before `soon`. Idempotent."""
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_work_off, args=(self._queue,), name="acidsql leases", daemon=True
                )
                self._thread.start()

    def release_with(self, owner: object, txn: OpenTxn) -> None:
        """Release the transaction soon after the owner is collected."""
        weakref.finalize(owner, self.soon, lambda: self.release(txn))

    def release(self, txn: OpenTxn) -> None:
        """End a transaction. Idempotent."""
        with self._guard:
            self._held.pop(txn, None)
        txn.close()

    def release_table(self, holds: Callable[[TableName], bool]) -> None:
        """End every transaction that pins a table for which ``holds`` is true."""
        with self._guard:
            doomed = [txn for txn, names in self._held.items() if any(map(holds, names))]
        for txn in doomed:
            self.release(txn)

    def settle(self) -> None:
        """Wait until what was collected before this call is released."""
        if self._thread is not None:
            done = threading.Event()
            self._queue.put(done.set)
            done.wait()

    def soon(self, work: Work) -> None:
        """Do something in the thread of the leases. May be called from a finalizer."""
        self._queue.put(work)

    def close(self) -> None:
        """End every transaction, and the thread with what it has begun. Idempotent."""
        self.release_table(lambda name: True)
        with self._guard:
            rest = list(self._held)
        for txn in rest:  # those that read no table at all
            self.release(txn)
        self._queue.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()  # a transaction it is about to end still needs the store


def _work_off(queue: SimpleQueue[Work | None]) -> None:
    while (work := queue.get()) is not None:
        try:
            work()
        except AcidSqlError:
            # The others must still be released, and whoever settles must not wait for ever.
            _log.warning("a lease was not released, it ends by its time-out", exc_info=True)

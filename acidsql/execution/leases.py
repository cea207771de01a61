"""Leases: read transactions that outlive their statement, because a lazy frame may still be read.

A lease ends when its owner is closed or collected. Python may collect an owner at any moment, even
in the middle of a call into the store, so a collection only puts the work into a queue, which a
thread of the leases runs.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue

from acidsql.model.names import TableName
from acidsql.process.supervisor import Supervisor, start_thread
from acidsql.txn.transaction import OpenTxn

_NAME = "lease"
_LOOK_S = 0.1
"""Seconds between two looks of `Leases.settle` at whether the thread is there."""

Work = Callable[[], object]


class Leases:
    """The open read transactions of one session and the tables each of them pins.

    The ``supervisor`` logs and counts a release that fails; the transaction then times out.
    """

    def __init__(self, supervisor: Supervisor | None = None) -> None:
        self._supervisor = supervisor or Supervisor()
        self._held: dict[OpenTxn, frozenset[TableName]] = {}
        self._moved: weakref.WeakKeyDictionary[OpenTxn, frozenset[TableName]] = (
            weakref.WeakKeyDictionary()
        )
        self._guard = threading.Lock()
        # Its put may be called from a finalizer (its documentation says so).
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def keep(self, txn: OpenTxn, names: Sequence[TableName]) -> None:
        """Hold a transaction until it is released."""
        self.start()
        with self._guard:
            self._held[txn] = frozenset(names)

    def start(self) -> None:
        """Start the thread; needed before `soon`, since a finalizer cannot start one. Idempotent.

        ExecutionError if the system starts no more threads.
        """
        with self._guard:
            if self._closed or (self._thread is not None and self._thread.is_alive()):
                return
            # A function, not a method: the thread must not keep the leases from being collected.
            run_queue = partial(_run_queue, self._queue, self._supervisor)
            self._thread = start_thread("leases", run_queue)

    def release_with(self, owner: object, txn: OpenTxn) -> None:
        """Release the transaction soon after the owner is collected."""
        weakref.finalize(owner, self.soon, lambda: self.release(txn))

    def release(self, txn: OpenTxn) -> None:
        """End a transaction. Idempotent."""
        with self._guard:
            self._held.pop(txn, None)
        txn.close()

    def pins(self, table: TableName) -> bool:
        """Whether a transaction that is held pins the table."""
        with self._guard:
            return any(table in names for names in self._held.values())

    def release_table(self, holds: Callable[[TableName], bool], *, moves: bool = False) -> None:
        """End every transaction that pins a table for which ``holds`` is true.

        With ``moves`` the table leaves its directory, which another one may get.
        """
        with self._guard:
            doomed = [txn for txn, names in self._held.items() if any(map(holds, names))]
            if moves:
                for txn in doomed:
                    self._moved[txn] = frozenset(filter(holds, self._held[txn]))
        for txn in doomed:
            self.release(txn)

    def moved(self, txn: OpenTxn) -> frozenset[TableName]:
        """The tables of a transaction that left their directories while it pinned them."""
        with self._guard:
            return self._moved.get(txn, frozenset())

    def settle(self) -> None:
        """Wait until the transactions of owners collected before this call are released."""
        if self._thread is None:
            return
        done = threading.Event()
        self._queue.put(done.set)
        while not done.wait(_LOOK_S) and not self._closed:
            # SystemExit may have ended the thread.
            self.start()

    def wait(self, timeout_s: float) -> None:
        """Wait until the work that was queued is done, at most this long."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def soon(self, work: Work) -> None:
        """Queue work for the thread of the leases. May be called from a finalizer."""
        self._queue.put(work)

    def close(self) -> None:
        """End every transaction, and the thread with what it has begun. Idempotent."""
        with self._guard:
            held = list(self._held)
            self._closed = True
        for txn in held:
            self._supervisor.attempt(_NAME, partial(self.release, txn), None)
        self._queue.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()  # the transaction that it is ending still needs the store


def _run_queue(queue: SimpleQueue[Work | None], supervisor: Supervisor) -> None:
    while (work := queue.get()) is not None:
        supervisor.attempt(_NAME, work, None)

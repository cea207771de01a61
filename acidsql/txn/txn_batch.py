"""A batch of transactions that a streaming writer opens at once and uses one after the other.

The rules are those of Hive's streaming TransactionBatch.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Sequence

from acidsql.errors import LockTimeoutError, NoSuchTxnError, TxnAbortedError, TxnError
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.process.forks import Home
from acidsql.process.interrupts import uninterrupted
from acidsql.txn.cleanup import error_line, failures_logged
from acidsql.txn.commit import commit
from acidsql.txn.entities import LockComponent, LockState
from acidsql.txn.heartbeats import HEARTBEATS, Heartbeats, while_held
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy

_log = logging.getLogger(__name__)


class TxnBatch:
    """Several open transactions with consecutive write ids in one table, and their heartbeat.

    `begin` takes the locks of the next one, which `commit` or `abort` ends. The heartbeat keeps all
    of them alive that have not ended. Thread-safe.
    """

    def __init__(
        self,
        manager: TxnManager,
        count: int,
        table: TableName,
        *,
        user: str,
        host: str,
        policy: TxnPolicy,
        agent_info: str = "",
        heartbeats: Heartbeats = HEARTBEATS,
    ) -> None:
        self._manager, self._table = manager, table
        self._user, self._host = user, host
        self._agent_info = agent_info or uuid.uuid4().hex
        self._guard = threading.RLock()
        self._home = Home("transaction batch")
        self._at = 0
        self._is_begun = False
        self._heartbeat_error: TxnError | None = None
        self.txn_ids: Sequence[TxnId] = ()
        self.write_ids: Sequence[WriteId] = ()
        try:
            with uninterrupted(unless_repeated=True):
                self._open(count)
            self._heartbeat = heartbeats.start(while_held(self._beat), policy.heartbeat_s)
        except BaseException as error:
            self._abort_rest(error_line(error))
            raise

    def _open(self, count: int) -> None:
        self.txn_ids = self._manager.open_txns(count, self._user, self._host)
        self.write_ids = self._manager.allocate_write_ids(self.txn_ids, self._table)
        first, last = self.write_ids[0], self.write_ids[-1]
        if list(self.write_ids) != list(range(first, last + 1)):
            # One directory stands for all of them, so it must not reach over another's write id.
            raise TxnError(f"the write ids {first} to {last} of a batch are not consecutive")

    # -- the current transaction ----------------------------------------------------------------

    @property
    def remaining(self) -> int:
        """How many transactions have not ended, with the one that is begun."""
        return len(self.txn_ids) - self._at

    @property
    def txn_id(self) -> TxnId:
        """The transaction that is begun, or the next one. IndexError if none remains."""
        return self.txn_ids[self._at]

    @property
    def write_id(self) -> WriteId:
        """The write id of `txn_id`."""
        return self.write_ids[self._at]

    @property
    def is_begun(self) -> bool:
        """Whether a transaction is begun and has not ended."""
        return self._is_begun

    def begin(self, components: Sequence[LockComponent]) -> None:
        """Take the locks of the next transaction, at once. LockTimeoutError if that cannot be.

        The request is withdrawn then, and `begin` may be tried again.
        """
        self._home.require()
        with self._guard:
            self.check()
            response = self._manager.lock(
                self.txn_id, components, self._user, self._host, self._agent_info
            )
            if response.state is not LockState.ACQUIRED:
                self._manager.unlock(response.lock_id)
                raise LockTimeoutError(
                    f"unable to acquire the locks of txnid:{self.txn_id} at once",
                    detail=f"They wait for {response.blocked_by}." if response.blocked_by else None,
                    hint="A stream does not wait. Begin the transaction again later.",
                )
            self._is_begun = True

    def require_open(self) -> None:
        """Ask the store, and raise unless the current transaction is open."""
        self._home.require()
        self.check()
        self._manager.heartbeat(self.txn_id)

    def still_has_write_id(self) -> bool:
        """Whether the current write id is still the transaction's in the table of this name.

        It is not if the table was dropped and made again. The store must not give out another one
        there: that might be the same number, while lower ids of the batch are those of others.
        """
        return self._manager.known_write_id(self.txn_id, self._table) == self.write_id

    def check(self) -> None:
        """Raise what the last heartbeat found: that a transaction has been ended by others."""
        if self._heartbeat_error is not None:
            raise self._heartbeat_error

    def commit(self, step: Callable[[TxnId], None]) -> None:
        """Commit the current transaction by ``step``, as `OpenTxn.commit` does."""
        self._home.require()
        with self._guard:
            self.check()
            commit(self.txn_id, step)
            _log.info("committed", extra={"txn_id": self.txn_id, "write_id": self.write_id})
            self._next()

    def abort(self, reason: str) -> None:
        """Abort the current transaction."""
        self._home.require()
        with self._guard:
            self._manager.abort_txn(self.txn_id, reason)
            _log.info("aborted", extra={"txn_id": self.txn_id, "reason": reason})
            self._next()

    def _next(self) -> None:
        self._is_begun = False
        self._at += 1  # after the last one, the next heartbeat ends by itself

    # -- all of them ----------------------------------------------------------------------------

    def close(self, reason: str) -> None:
        """Abort all that have not ended, and stop the heartbeat. Idempotent. Never raises.

        In a forked child nothing happens. What cannot be aborted times out.
        """
        if not self._home.is_here:
            return
        with self._guard:
            self._abort_rest(reason)
        # Not under the guard, for which a beat that is under way may be waiting.
        self._heartbeat.stop()

    def _abort_rest(self, reason: str) -> None:
        rest = self.txn_ids[self._at :]
        self._is_begun = False
        self._at = len(self.txn_ids)
        if rest:
            with failures_logged("aborting", rest[0]):
                self._manager.abort_txns(rest, reason)

    def _beat(self) -> bool:
        """One heartbeat for all that have not ended. False if there is none, or one was ended."""
        with self._guard:
            if not self.remaining or self._heartbeat_error is not None:
                return False
            answer = self._manager.heartbeat_txn_range(self.txn_id, self.txn_ids[-1])
            if answer.aborted:
                self._heartbeat_error = TxnAbortedError(
                    f"Transaction txnid:{min(answer.aborted)} already aborted",
                    detail="Its batch had no heartbeat for too long, or somebody ended it.",
                )
            elif answer.nosuch:
                self._heartbeat_error = NoSuchTxnError(
                    f"No such transaction txnid:{min(answer.nosuch)}"
                )
            return self._heartbeat_error is None

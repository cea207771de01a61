"""One transaction's life: open, heartbeat, lock, commit or abort."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    LockTimeoutError,
    NoSuchLockError,
    NoSuchTxnError,
    StorageError,
    TxnAbortedError,
    TxnError,
)
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.entities import LockComponent, LockResponse, LockState, TxnType
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy, lock_waits

_log = logging.getLogger(__name__)


class OpenTxn:
    """An open transaction with its heartbeat. Thread-safe; ends once, by the first that ends it."""

    def __init__(
        self,
        manager: TxnManager,
        *,
        user: str,
        host: str,
        type: TxnType = TxnType.DEFAULT,
        policy: TxnPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        agent_info: str = "",
    ) -> None:
        self._manager = manager
        self._user, self._host, self._agent_info = user, host, agent_info
        self._policy = policy or TxnPolicy()
        self._sleep = sleep
        self._guard = threading.RLock()
        self._ended = False
        self.aborted = False
        """Whether it is known to have been rolled back."""
        self._error: TxnError | None = None
        self._txns: ValidTxnList | None = None
        self._write_ids: dict[TableName, WriteId] = {}
        self.txn_id: TxnId = manager.open_txn(user, host, type)
        self._heart = _Heart(self._beat, self._policy.heartbeat_s, f"heartbeat txn {self.txn_id}")
        self._heart.start()

    # -- what a statement needs -----------------------------------------------------------------

    def lock(self, components: Sequence[LockComponent]) -> None:
        """Wait until all components are granted.

        LockTimeoutError after the last retry. However it fails, the request is withdrawn, so that
        nobody queues behind a statement that has given up.
        """
        if not components:
            return
        response = self._manager.lock(
            self.txn_id, components, self._user, self._host, self._agent_info
        )
        try:
            waits = lock_waits(self._policy)
            while response.state is not LockState.ACQUIRED:
                response = self._look_again(response, waits)
        except BaseException:
            with _logged("withdrawing a lock", self.txn_id):
                self._manager.unlock(response.lock_id)
            raise

    def _look_again(self, response: LockResponse, waits: Iterator[float]) -> LockResponse:
        wait_s = next(waits, None)
        if wait_s is None or response.state is LockState.NOT_ACQUIRED:
            raise LockTimeoutError(
                f"lockid:{response.lock_id} was not granted in time",
                detail=f"It waits for {response.blocked_by}." if response.blocked_by else None,
                hint="SHOW LOCKS tells who holds what.",
                code=10307,
            )
        self._sleep(wait_s)
        self.check()
        # Whoever holds the lock may be dead, and there need not be a service that notices.
        self._manager.time_out_txns()
        try:
            return self._manager.check_lock(response.lock_id)
        except NoSuchLockError:
            # The locks went with the transaction: its own error says why.
            self._manager.heartbeat(self.txn_id)
            raise

    def write_id(self, table: TableName) -> WriteId:
        """The transaction's write id in a table; the store is asked once."""
        with self._guard:
            if table not in self._write_ids:
                self._write_ids[table] = self._manager.allocate_write_id(self.txn_id, table)
            return self._write_ids[table]

    @property
    def valid_txns(self) -> ValidTxnList:
        """The transaction's fixed view, taken at first use: so after its locks are granted."""
        with self._guard:
            if self._txns is None:
                self._txns = self._manager.valid_txns(self.txn_id)
            return self._txns

    def snapshot(self, tables: Sequence[TableName]) -> dict[TableName, ValidWriteIdList]:
        """The write ids each table shows to this transaction, its own included."""
        return self._manager.valid_write_ids(tables, self.valid_txns)

    def check(self) -> None:
        """Raise what the heartbeat was told, if the transaction is lost."""
        if self._error is not None:
            raise self._error

    # -- the end --------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether it was committed or aborted through this object."""
        return self._ended

    def commit(self) -> None:
        """Make the writes visible. WriteConflictError or TxnAbortedError if it is lost.

        Nothing happens if it has ended. A lost answer is asked for once more; after that
        CommitStateUnknownError.
        """
        with self._guard:
            if self._ended:
                return
            self._heart.stop()
            try:
                self._commit()
            except AcidSqlError as error:
                self._ended = True
                self.aborted = isinstance(error, TxnAbortedError)
                raise
            self._ended = True
            _log.info("committed", extra={"txn_id": self.txn_id, "write_ids": self._write_ids})

    def _commit(self) -> None:
        try:
            self._manager.commit_txn(self.txn_id)
        except StorageError:
            _log.warning("asking for a lost commit", extra={"txn_id": self.txn_id}, exc_info=True)
            try:
                self._manager.commit_txn(self.txn_id)
            except StorageError as error:
                raise CommitStateUnknownError(
                    f"it is not known whether txnid:{self.txn_id} was committed",
                    detail=str(error),
                    hint="SHOW TRANSACTIONS lists it as long as it is open or aborted.",
                ) from error

    def abort(self, reason: str = "") -> None:
        """Roll back. Nothing happens if it has ended."""
        with self._guard:
            if self._ended:
                return
            self._heart.stop()
            self._manager.abort_txn(self.txn_id, reason)
            self._ended = self.aborted = True
            _log.info("aborted", extra={"txn_id": self.txn_id, "reason": reason})

    def close(self) -> None:
        """End a transaction that only read: its commit cannot lose anything. Idempotent.

        If it was timed out meanwhile, it has ended already: what it had read was right, and what
        was removed since cannot be read at all.
        """
        try:
            self.commit()
        except (NoSuchTxnError, TxnAbortedError):
            _log.info("closed after its end", extra={"txn_id": self.txn_id}, exc_info=True)

    def abort_after(self, error: BaseException) -> None:
        """Roll back because of an error, which stays the one the caller sees."""
        reason = type(error).__name__ if not str(error) else str(error).splitlines()[0]
        with _logged("aborting", self.txn_id):
            self.abort(reason)

    def _beat(self) -> bool:
        """One heartbeat; False if there is nothing left to keep alive."""
        try:
            self._manager.heartbeat(self.txn_id)
        except TxnError as error:
            self._error = error
            return False
        except AcidSqlError:
            # A store out of reach may come back before the time-out.
            _log.warning("heartbeat failed", extra={"txn_id": self.txn_id}, exc_info=True)
        return True


@contextmanager
def transaction(
    manager: TxnManager,
    *,
    user: str,
    host: str,
    type: TxnType = TxnType.DEFAULT,
    policy: TxnPolicy | None = None,
    sleep: Callable[[float], None] = time.sleep,
    agent_info: str = "",
) -> Iterator[OpenTxn]:
    """A transaction for a block: leaving it commits, any exception aborts and is the one raised."""
    txn = OpenTxn(
        manager,
        user=user,
        host=host,
        type=type,
        policy=policy,
        sleep=sleep,
        agent_info=agent_info,
    )
    try:
        yield txn
        txn.commit()
    except BaseException as error:
        txn.abort_after(error)
        raise


class _Heart:
    """Calls ``beat`` at an interval from a thread of its own, until it says False or is stopped."""

    def __init__(self, beat: Callable[[], bool], interval_s: float, name: str) -> None:
        self._stopped = threading.Event()
        self._beat, self._interval_s = beat, interval_s
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            if not self._beat():
                return


@contextmanager
def _logged(what: str, txn_id: TxnId) -> Iterator[None]:
    """Log a failure of the clean-up instead of raising it over the first error."""
    try:
        yield
    except Exception:
        _log.warning("%s failed", what, extra={"txn_id": txn_id}, exc_info=True)

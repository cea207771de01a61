"""One transaction's life: open, heartbeat, lock, commit or abort."""

from __future__ import annotations

import logging
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    InternalError,
    LockTimeoutError,
    NoSuchLockError,
    NoSuchTxnError,
    StorageError,
    StoreNotWritableError,
    TxnAbortedError,
    TxnError,
    WriteConflictError,
)
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.progress import UNWATCHED, Progress
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.process.forks import Home
from acidsql.process.interrupts import uninterrupted
from acidsql.txn.entities import (
    LockComponent,
    LockResponse,
    LockState,
    LockType,
    Opened,
    TxnType,
)
from acidsql.txn.heartbeats import HEARTBEATS, Heartbeats
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy, lock_waits

_log = logging.getLogger(__name__)

_ANSWER_LOST = (StorageError, InternalError)
"""What a commit may raise that the store has carried out."""


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
        sleep: Callable[[float], None] | None = None,
        agent_info: str = "",
        heartbeats: Heartbeats = HEARTBEATS,
        tables: Sequence[TableName] = (),
        components: Sequence[LockComponent] = (),
        progress: Progress = UNWATCHED,
        heir_of: OpenTxn | None = None,
    ) -> None:
        """Open it; with ``components``, ask for these locks and for write ids in ``tables`` in the
        same step of the store. Then `lock` takes the answer. ``agent_info`` is an id of its own if
        none is given, by which the store knows its requests again. ``sleep`` replaces the waits
        for locks, in tests. ``heir_of`` is a transaction that has asked for the same components: it
        is aborted, and its locks, or its place in the queue for them, go to this one.
        """
        self._manager = manager
        self._user, self._host = user, host
        self._agent_info = agent_info or uuid.uuid4().hex
        self.type = type
        self.policy = policy or TxnPolicy()
        self._sleep = sleep
        self._progress = progress
        self._guard = threading.RLock()
        self._home = Home("transaction")
        self._ended = False
        self._conflicted = False
        self._error: TxnError | None = None
        self._txns: ValidTxnList | None = None
        self._write_ids: dict[TableName, WriteId] = {}
        self._first: tuple[Sequence[LockComponent], LockResponse] | None = None
        self.granted_on_open = False
        """Whether it had its locks and write ids at once, with its id: nobody has overtaken it."""
        self.txn_id: TxnId = self._open(tables, components, heir_of)
        try:
            self._heartbeat = heartbeats.start(_while_held(self._beat), self.policy.heartbeat_s)
        except BaseException as error:
            with _logged("aborting", self.txn_id):
                manager.abort_txn(self.txn_id, error_line(error))
            raise

    def _open(
        self,
        tables: Sequence[TableName],
        components: Sequence[LockComponent],
        heir_of: OpenTxn | None,
    ) -> TxnId:
        if not components:
            return self._manager.open_txn(self._user, self._host, self.type)
        request = self._user, self._host, self.type, tables, components, self._agent_info
        if heir_of is None:
            opened = self._manager.open_locked(*request)
        else:
            opened = heir_of.give_way(lambda ended: self._manager.open_locked(*request, ended))
        self._first = components, opened.response
        self.granted_on_open = opened.in_one_step and opened.response.state is LockState.ACQUIRED
        self._write_ids.update(opened.write_ids)
        return opened.txn_id

    def give_way(self, open_heir: Callable[[TxnId], Opened]) -> Opened:
        """What ``open_heir`` gives back, which aborts this transaction in the store."""
        self._home.require()
        with self._guard:
            self._heartbeat.stop()
            opened = open_heir(self.txn_id)
            self._ended = True
            return opened

    # -- what a statement needs -----------------------------------------------------------------

    def lock(self, components: Sequence[LockComponent], *, until_woken: bool = False) -> bool:
        """Wait until all components are granted.

        With ``until_woken`` the wait may end earlier: when the store says that the locks in the way
        are gone. Then the answer is False, and the request keeps its place for an heir. Else it is
        True.

        LockTimeoutError after the last retry, DeadlockError if this transaction has to give way.
        However it fails, the request is withdrawn, so that nobody queues behind a statement that
        has given up.
        """
        if not components:
            return True
        response = self._ask(components)
        try:
            if response.state is LockState.WAITING and self._reads_without_wait(components):
                raise _not_waiting(response)
            with self._progress.during("waiting for a lock"):
                return self._wait(response, until_woken=until_woken)
        except BaseException:
            with _logged("withdrawing a lock", self.txn_id):
                self._manager.unlock(response.lock_id)
            raise

    def try_lock(self, components: Sequence[LockComponent]) -> bool:
        """Take all components if they are granted at once, else none of them; whether they are."""
        if not components:
            return True
        response = self._ask(components)
        granted = response.state is LockState.ACQUIRED
        if not granted:
            self._manager.unlock(response.lock_id)
        return granted

    def _ask(self, components: Sequence[LockComponent]) -> LockResponse:
        if self._first is not None and self._first[0] is components:
            return self._first[1]
        return self._manager.lock(self.txn_id, components, self._user, self._host, self._agent_info)

    def _reads_without_wait(self, components: Sequence[LockComponent]) -> bool:
        reads = all(c.type is LockType.SHARED_READ for c in components)
        return reads and self.policy.zero_wait_reads

    def _wait(self, response: LockResponse, *, until_woken: bool) -> bool:
        """Look at a waiting request until it is granted: when the store says that it may be, and
        after each pause of Hive's. So the last look comes as late as if nobody were ever woken.
        """
        for pause_s in lock_waits(self.policy):
            until_s, left_s = time.monotonic() + pause_s, pause_s
            while response.state is not LockState.ACQUIRED and self._is_woken(response, left_s):
                if until_woken:
                    return False
                response = self._look(response)
                left_s = max(until_s - time.monotonic(), 0.0)
            if response.state is LockState.ACQUIRED:
                return True
            # Whoever holds the lock may be dead, and there need not be a service that notices.
            self._manager.time_out_txns()
            self._manager.resolve_deadlocks()
            response = self._look(response)
        if response.state is not LockState.ACQUIRED:
            raise LockTimeoutError(
                f"lockid:{response.lock_id} was not granted in time",
                detail=f"It waits for {response.blocked_by}." if response.blocked_by else None,
                hint="SHOW LOCKS tells who holds what.",
                code=10307,
            )
        return True

    def _is_woken(self, response: LockResponse, timeout_s: float) -> bool:
        """Wait until it is worth a look; False if it has taken all the time."""
        woken = False
        if self._sleep is not None:
            self._sleep(timeout_s)
        else:
            woken = self._manager.await_lock(response.lock_id, timeout_s)
        self.check()
        return woken

    def _look(self, response: LockResponse) -> LockResponse:
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

    def still_has(self, table: TableName, write_id: WriteId) -> bool:
        """Whether the store knows the write id as the transaction's in the table.

        One that was allocated before the table was locked may be of a table of that name that was
        dropped since; the present one has given, or will give, it to somebody else.
        """
        return self._manager.allocate_write_id(self.txn_id, table) == write_id

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

    def require_open(self) -> None:
        """Raise, after asking the store, unless the transaction is open. ForkError in a child."""
        self._home.require()
        self._manager.heartbeat(self.txn_id)

    def owns_files(self) -> bool:
        """Whether what it wrote is sure to be uncommitted and its own, to be removed by name.

        So it is while it is open, and when its own commit has just lost a conflict. One that others
        aborted has lost its locks: they may have made its table anew, with the same write ids.
        """
        if self._ended:
            return self._conflicted
        try:
            self.require_open()
        except AcidSqlError:
            return False
        return True

    def check(self) -> None:
        """Raise what the heartbeat was told, if the transaction is lost."""
        if self._error is not None:
            raise self._error

    # -- the end --------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether it was committed or aborted through this object."""
        return self._ended

    def commit(self, step: Callable[[TxnId], None] | None = None) -> None:
        """Make the writes visible. WriteConflictError or TxnAbortedError if it is lost.

        Nothing happens if it has ended. ``step`` commits in the store; it may do more in the same
        store transaction than `TxnManager.commit_txn`. A lost answer is asked for once more; after
        that CommitStateUnknownError. ForkError in a forked child, whose parent's it is.
        """
        self._home.require()
        with self._guard:
            if self._ended:
                return
            self._heartbeat.stop()
            try:
                with self._progress.during("committing"):
                    self._commit(step or self._manager.commit_txn)
            except AcidSqlError as error:
                self._ended = True
                self._conflicted = isinstance(error, WriteConflictError)
                raise
            self._ended = True
            _log.info("committed", extra={"txn_id": self.txn_id, "write_ids": self._write_ids})

    def _commit(self, step: Callable[[TxnId], None]) -> None:
        try:
            step(self.txn_id)
        except _ANSWER_LOST:
            _log.warning("asking for a lost commit", extra={"txn_id": self.txn_id}, exc_info=True)
            try:
                step(self.txn_id)
            except NoSuchTxnError as error:
                if not error.committed:
                    raise
            except _ANSWER_LOST as error:
                raise CommitStateUnknownError(
                    f"it is not known whether txnid:{self.txn_id} was committed",
                    detail=str(error),
                    hint="SHOW TRANSACTIONS lists it as long as it is open or aborted.",
                ) from error

    def abort(self, reason: str = "") -> None:
        """Roll back. Nothing happens if it has ended. ForkError in a forked child."""
        self._home.require()
        with self._guard:
            if self._ended:
                return
            self._heartbeat.stop()
            self._manager.abort_txn(self.txn_id, reason)
            self._ended = True
            _log.info("aborted", extra={"txn_id": self.txn_id, "reason": reason})

    def close(self) -> None:
        """End a transaction that only read: its commit cannot lose anything. Idempotent.

        If it was timed out meanwhile, it has ended already: what it had read was right, and what
        was removed since cannot be read at all. In a forked child nothing happens.
        """
        if not self._home.is_here:
            return
        try:
            self.commit()
        except (NoSuchTxnError, TxnAbortedError):
            _log.info("closed after its end", extra={"txn_id": self.txn_id}, exc_info=True)
        except CommitStateUnknownError as error:
            if not isinstance(error.__cause__, StoreNotWritableError):
                raise
            # What was read is right. Its locks go when it has timed out.
            reason = error_line(error.__cause__)
            _log.warning("not closed: %s", reason, extra={"txn_id": self.txn_id})

    def abort_after(self, error: BaseException) -> None:
        """Roll back because of an error, which stays the one the caller sees."""
        with _logged("aborting", self.txn_id):
            self.abort(error_line(error))

    def _beat(self) -> bool:
        """One heartbeat; False if there is nothing left to keep alive.

        A store out of reach may come back before the time-out, so what else is raised is for the
        supervisor of the heartbeats, and another beat comes.
        """
        try:
            self._manager.heartbeat(self.txn_id)
        except TxnError as error:
            self._error = error
            return False
        return True


def _while_held(beat: Callable[[], bool]) -> Callable[[], bool]:
    """A beat that ends with its transaction: one that nobody has any more can only time out."""
    held = weakref.WeakMethod(beat)

    def beat_if_held() -> bool:
        found = held()
        return found is not None and found()

    return beat_if_held


def error_line(error: BaseException) -> str:
    """An error in one line.

    >>> error_line(KeyboardInterrupt())
    'KeyboardInterrupt'
    """
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@dataclass(frozen=True, slots=True)
class TxnOpener:
    """How a session opens its transactions."""

    manager: TxnManager
    user: str
    host: str
    policy: TxnPolicy
    heartbeats: Heartbeats = HEARTBEATS
    progress: Progress = UNWATCHED

    def __call__(
        self,
        type: TxnType = TxnType.DEFAULT,
        *,
        tables: Sequence[TableName] = (),
        components: Sequence[LockComponent] = (),
        heir_of: OpenTxn | None = None,
    ) -> OpenTxn:
        """A new one; see `OpenTxn`. Ctrl-C leaves none behind that nobody knows of."""
        txn = None
        try:
            # The store may not answer for long, so it must be possible to insist.
            with uninterrupted(unless_repeated=True):
                txn = OpenTxn(
                    self.manager,
                    user=self.user,
                    host=self.host,
                    type=type,
                    policy=self.policy,
                    heartbeats=self.heartbeats,
                    tables=tables,
                    components=components,
                    progress=self.progress,
                    heir_of=heir_of,
                )
        except BaseException as error:
            if txn is not None:
                txn.abort_after(error)
            raise
        return txn


@contextmanager
def transaction(txn: OpenTxn) -> Iterator[OpenTxn]:
    """A transaction for a block: leaving it commits, any exception aborts and is the one raised."""
    try:
        yield txn
        txn.commit()
    except BaseException as error:
        txn.abort_after(error)
        raise


def _not_waiting(response: LockResponse) -> LockTimeoutError:
    return LockTimeoutError(
        "Unable to acquire read lock due to an existing exclusive lock",
        detail=f"It is {response.blocked_by}.",
        hint="Try again; with hive.txn.xlock.iow and hive.txn.write.xlock reads would wait.",
        code=10307,
    )


@contextmanager
def _logged(what: str, txn_id: TxnId) -> Iterator[None]:
    """Log a failure of the clean-up instead of raising it over the first error.

    That somebody else has ended the transaction is none.
    """
    try:
        yield
    except (NoSuchTxnError, TxnAbortedError) as error:
        _log.debug("%s: %s", what, error_line(error), extra={"txn_id": txn_id})
    except AcidSqlError as error:
        _log.warning("%s failed: %s", what, error_line(error), extra={"txn_id": txn_id})
    except Exception:
        _log.warning("%s failed", what, extra={"txn_id": txn_id}, exc_info=True)

"""The life of one transaction: it is opened and kept alive, takes locks, and commits or aborts."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Sequence

from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    NoSuchTxnError,
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
from acidsql.txn.cleanup import error_line, failures_logged
from acidsql.txn.commit import commit
from acidsql.txn.entities import LockComponent, LockResponse, LockState, Opened, TxnType
from acidsql.txn.heartbeats import HEARTBEATS, Heartbeat, Heartbeats, while_held
from acidsql.txn.lock_requests import LockRequests
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy

_log = logging.getLogger(__name__)


class OpenTxn:
    """A transaction and its heartbeat. Thread-safe.

    The first call that ends the transaction counts. Later ones do nothing.
    """

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
        is_block: bool = False,
    ) -> None:
        """Open the transaction. That of a block, ``is_block``, takes its snapshot as it opens.

        With ``components``, the step of the store that opens it also gives out write ids in
        ``tables`` and takes a request for these locks. `lock` of the same sequence then waits for
        the answer to that request. ``heir_of`` is a transaction that has asked for the same
        components: the store aborts it in this step, and gives its locks, or its place in the queue
        for them, to the new one.

        The store tells the requests of transactions apart by ``agent_info``, a random text unless
        given. ``sleep`` replaces the waits for locks, in tests.
        """
        self._manager = manager
        self.txn_id: TxnId
        self.type = type
        self.policy = policy or TxnPolicy()
        self._progress = progress
        self._guard = threading.RLock()
        self._home = Home("transaction")
        self._ended = self._lost_conflict = False
        self._heartbeat_error: TxnError | None = None
        self._valid_txns: ValidTxnList | None = None
        self._write_ids: dict[TableName, WriteId] = {}
        self.granted_on_open = False
        """Whether the step that opened the transaction also granted its locks and gave out its
        write ids. Then no other transaction came in between.
        """
        agent_info = agent_info or uuid.uuid4().hex
        request = user, host, type, tables, components, agent_info
        sent_on_open = self._open(request, heir_of, is_block=is_block)
        self._locks = LockRequests(
            manager,
            self.txn_id,
            user=user,
            host=host,
            agent_info=agent_info,
            policy=self.policy,
            progress=progress,
            sleep=sleep,
            sent_on_open=sent_on_open,
        )
        self._heartbeat = self._started_heartbeat(heartbeats)

    def _open(
        self, request: _Request, heir_of: OpenTxn | None, *, is_block: bool
    ) -> tuple[Sequence[LockComponent], LockResponse] | None:
        """Open it; with components in the step that asks for its locks: those, and the answer."""
        user, host, kind, _, components, _ = request
        if components:
            return components, self._open_locked(request, heir_of)
        if is_block:
            self.txn_id, self._valid_txns = self._manager.open_block(user, host, kind)
        else:
            self.txn_id = self._manager.open_txn(user, host, kind)
        return None

    def _open_locked(self, request: _Request, heir_of: OpenTxn | None) -> LockResponse:
        opened = _open_locked(self._manager, request, heir_of)
        granted = opened.response.state is LockState.ACQUIRED
        self.granted_on_open = opened.in_one_step and granted
        if self.granted_on_open:
            self._valid_txns = opened.valid_txns
        self._write_ids.update(opened.write_ids)
        self.txn_id = opened.txn_id
        return opened.response

    def _started_heartbeat(self, heartbeats: Heartbeats) -> Heartbeat:
        try:
            return heartbeats.start(while_held(self._beat), self.policy.heartbeat_s)
        except BaseException as error:
            with failures_logged("aborting", self.txn_id):
                self._manager.abort_txn(self.txn_id, error_line(error))
            raise

    def _beat(self) -> bool:
        """One heartbeat. False if the transaction has ended in the store.

        Other errors go on to the supervisor of the heartbeats, and the heart beats again: a store
        that is out of reach may come back before the time-out.
        """
        try:
            self._manager.heartbeat(self.txn_id)
        except TxnError as error:
            self._heartbeat_error = error
            return False
        return True

    def give_way(self, open_heir: Callable[[TxnId], Opened]) -> Opened:
        """What ``open_heir`` returns. It is given this transaction's id, and aborts it."""
        self._home.require()
        with self._guard:
            self._heartbeat.stop()
            opened = open_heir(self.txn_id)
            self._ended = True
            return opened

    # -- what a statement needs -----------------------------------------------------------------

    def lock(self, components: Sequence[LockComponent], *, until_woken: bool = False) -> bool:
        """Wait until all components are granted.

        With ``until_woken`` the answer is False as soon as the store says that the waiting request
        may be granted now; the request keeps its place for an heir. Otherwise the answer is True.

        LockTimeoutError after the last look, DeadlockError if this transaction was aborted to end a
        deadlock. After any exception the request is withdrawn.
        """
        return self._locks.lock(components, self.check, until_woken=until_woken)

    def try_lock(self, components: Sequence[LockComponent]) -> bool:
        """Whether all components are granted at once. If not, the request is withdrawn."""
        return self._locks.try_lock(components)

    def write_id(self, table: TableName) -> WriteId:
        """The transaction's write id in a table. The store is asked once."""
        with self._guard:
            if table not in self._write_ids:
                self._write_ids[table] = self._manager.allocate_write_id(self.txn_id, table)
            return self._write_ids[table]

    def still_has(self, table: TableName, write_id: WriteId) -> bool:
        """Whether this is the transaction's write id in the table that has this name now.

        A write id that was allocated before the table was locked may be of an earlier table with
        the same name, which was dropped since. In the present table it is, or will be, the write id
        of another transaction.
        """
        return self._manager.allocate_write_id(self.txn_id, table) == write_id

    def renew_write_id(self, table: TableName) -> WriteId:
        """Its write id in the table that has this name now, be it another one than `write_id` gave.

        For a statement that makes the table: another of this name may have been dropped since.
        """
        with self._guard:
            self._write_ids[table] = self._manager.allocate_write_id(self.txn_id, table)
            return self._write_ids[table]

    @property
    def valid_txns(self) -> ValidTxnList:
        """The transactions that this one sees, fixed at first use.

        That is after its locks: in the step that opened the transaction, if they were granted then.
        """
        with self._guard:
            if self._valid_txns is None:
                writes = self.type is not TxnType.READ_ONLY
                self._valid_txns = self._manager.valid_txns(self.txn_id, writes=writes)
            return self._valid_txns

    def see_latest(self) -> None:
        """Fix what it sees: all that is committed now, also by transactions that began later.

        For a statement that has locked what it reads, and makes other row ids of it. A writer does
        not see later transactions otherwise, so it would lose the rows of one that was granted its
        locks first. TxnError if it has seen anything already.
        """
        with self._guard:
            if self._valid_txns is not None:
                raise TxnError(f"the snapshot of transaction {self.txn_id} is fixed already")
            self._valid_txns = self._manager.valid_txns(self.txn_id, writes=False)

    def misses(self, txn_id: TxnId) -> bool:
        """Whether a transaction is committed by now, and this one does not see what it wrote."""
        return not self.valid_txns.is_valid(txn_id) and self._manager.valid_txns().is_valid(txn_id)

    def snapshot(self, tables: Sequence[TableName]) -> dict[TableName, ValidWriteIdList]:
        """The write ids of each table that this transaction sees, with its own."""
        return self._manager.valid_write_ids(tables, self.valid_txns)

    def require_open(self) -> None:
        """Ask the store, and raise unless the transaction is open. ForkError in a forked child."""
        self._home.require()
        self._manager.heartbeat(self.txn_id)

    def owns_files(self) -> bool:
        """Whether the files under the names of its writes are surely its own, and not committed.

        They are, as long as it is open, and after its own commit has lost a conflict. Only then may
        they be removed. A transaction that was aborted by others has lost its locks. Since then its
        table may have been dropped and made again, and files under the same names may belong to a
        transaction with the same write id.
        """
        if self._ended:
            return self._lost_conflict
        try:
            self.require_open()
        except AcidSqlError:
            return False
        return True

    def check(self) -> None:
        """Raise the error of the last heartbeat, if that found that the transaction has ended."""
        if self._heartbeat_error is not None:
            raise self._heartbeat_error

    # -- the end --------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether it was committed or aborted through this object."""
        return self._ended

    def commit(self, step: Callable[[TxnId], None] | None = None) -> None:
        """Make the writes visible. WriteConflictError or TxnAbortedError if they are lost.

        ``step`` commits in the store. It may do more in the same transaction of the store than
        `TxnManager.commit_txn`, which is the default. A lost answer is asked for once more. If that
        fails, too, CommitStateUnknownError. Nothing happens if the transaction has ended already.
        ForkError in a forked child.
        """
        self._home.require()
        with self._guard:
            if self._ended:
                return
            self._heartbeat.stop()
            try:
                with self._progress.during("committing"):
                    commit(self.txn_id, step or self._manager.commit_txn)
            except AcidSqlError as error:
                # Any other error comes before the commit: the transaction is open, to be aborted.
                self._ended = isinstance(error, TxnError)
                self._lost_conflict = isinstance(error, WriteConflictError)
                raise
            self._ended = True
            _log.info("committed", extra={"txn_id": self.txn_id, "write_ids": self._write_ids})

    def abort(self, reason: str = "") -> None:
        """Roll back. Nothing happens if it has ended already. ForkError in a forked child."""
        self._home.require()
        with self._guard:
            if self._ended:
                return
            self._heartbeat.stop()
            self._manager.abort_txn(self.txn_id, reason)
            self._ended = True
            _log.info("aborted", extra={"txn_id": self.txn_id, "reason": reason})

    def abort_after(self, error: BaseException) -> None:
        """Roll back because of an error, which the caller goes on to raise."""
        with failures_logged("aborting", self.txn_id):
            self.abort(error_line(error))

    def close(self) -> None:
        """End a transaction that only read. Idempotent. In a forked child nothing happens.

        Its commit loses no rows, so most failures are only logged. If the transaction has timed
        out, what it read before was right, and files that were removed since cannot be read.
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
            # The rows that the transaction read are right. The store releases its locks when it
            # times out.
            reason = error_line(error.__cause__)
            _log.warning("not closed: %s", reason, extra={"txn_id": self.txn_id})


_Request = tuple[str, str, TxnType, Sequence[TableName], Sequence[LockComponent], str]


def _open_locked(manager: TxnManager, request: _Request, heir_of: OpenTxn | None) -> Opened:
    if heir_of is None:
        return manager.open_locked(*request)
    return heir_of.give_way(lambda ended: manager.open_locked(*request, ended))

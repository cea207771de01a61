"""The TxnManager port: Hive's verbs over a transaction store.

Each verb is one short transaction of the store, and none is open while a job runs. Each says how it
may be repeated after a lost answer: *read-only*, *idempotent*, *safe to retry* (a repetition leaves
something harmless behind, which times out) or *not retryable*. The stores are in
``acidsql/backends``; the reference model is ``acidsql/backends/memory``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acidsql.model.ids import CompactionId, LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.components import TxnComponent
from acidsql.txn.conflict import Winner
from acidsql.txn.entities import (
    NO_OPTIONS,
    AbortedCompaction,
    ChangedPlace,
    Compaction,
    CompactionOptions,
    CompactionType,
    Lock,
    LockComponent,
    LockResponse,
    Opened,
    Reached,
    Txn,
    TxnRangeResponse,
    TxnType,
    WriteOperation,
    Written,
)


class TxnManager(Protocol):
    """Hive's transaction verbs.

    Every verb that needs an open transaction may raise NoSuchTxnError or TxnAbortedError.
    """

    # -- transactions ---------------------------------------------------------------------------

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        """Open a transaction. Safe to retry. TooManyOpenTxnsError at hive.max.open.txns."""
        ...

    def open_block(
        self, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> tuple[TxnId, ValidTxnList]:
        """`open_txn` and `valid_txns`, in one step if the store can. Safe to retry.

        If others open and commit transactions between two steps, the list may have a commit, but
        not one before it whose id is higher.
        """
        ...

    def open_txns(
        self, count: int, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> list[TxnId]:
        """Open several transactions with consecutive ids, the lowest first. Safe to retry.

        They are at most hive.txn.max.open.batch. TxnError if ``count`` is less than 1,
        TooManyOpenTxnsError if they would exceed hive.max.open.txns.
        """
        ...

    def open_locked(
        self,
        user: str,
        host: str,
        type: TxnType,
        tables: Sequence[TableName],
        components: Sequence[LockComponent],
        agent_info: str = "",
        heir_of: TxnId | None = None,
    ) -> Opened:
        """Open a transaction, allocate its write ids in ``tables``, and ask for its locks.

        This is `open_txn`, `allocate_write_id` and `lock`, in one step if the store can. Not
        retryable: if the answer is lost, the locks stay until the transaction times out. A store
        that tries again by itself finds the transaction by ``agent_info``. So each transaction
        needs an ``agent_info`` of its own.

        ``heir_of`` is a transaction to abort in the same step. Its lock requests, granted or
        waiting, become those of the new transaction and keep their place in the queue. The latest
        of them must have been for the same components; the store looks again whether it is granted.
        If there is no request or the transaction is no longer open, the new one asks for its locks
        as usual. It does so, too, in a store that cannot do all this in one step.
        """
        ...

    def heartbeat(self, txn_id: TxnId) -> None:
        """Say that the transaction is alive. Idempotent."""
        ...

    def heartbeat_txn_range(self, first: TxnId, last: TxnId) -> TxnRangeResponse:
        """A heartbeat for all open transactions from ``first`` to ``last``, both included.

        The answer has those that are not open. Idempotent.
        """
        ...

    def commit_txn(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> None:
        """Make everything the transaction wrote visible at once, and release its locks.

        ``reached`` is recorded before, as by `add_dynamic_partitions`. ``written`` are the places
        in which the transaction leaves directories. The store notes them for `committed_writes`.

        The first committer wins. If another transaction updated or deleted in the same table or
        partition, and committed after this one had opened, this one is aborted, with a
        WriteConflictError. Idempotent: a committed transaction stays committed.
        """
        ...

    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        """Release the locks and make the write ids count as aborted. Idempotent."""
        ...

    def abort_txns(self, txn_ids: Sequence[TxnId], reason: str = "") -> list[TxnId]:
        """Abort those of the transactions that are open, and return their ids.

        Idempotent, but a repetition returns no ids.
        """
        ...

    def valid_txns(self, txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        """The valid txn list of a transaction, or, without ``txn_id``, of this moment. Read-only.

        The transaction's own id is not among the exceptions, nor are those of read-only
        transactions. If it ``writes``, all later ids lie above the high watermark: what has them
        wins conflicts. A transaction that only reads sees what has been committed by now. Otherwise
        it would miss the commit of a later id, and see one of an earlier id that came after that.
        """
        ...

    def show_txns(self) -> list[Txn]:
        """Open and aborted transactions, sorted by id. Read-only."""
        ...

    def latest_txn_in_conflict(self, txn_id: TxnId) -> Winner | None:
        """The latest transaction that would win a write conflict over this one, or None. Read-only.

        The locks that this one asked for say what it changes (get_latest_txnid_in_conflict).
        """
        ...

    def time_out_txns(self) -> list[TxnId]:
        """Abort transactions without a heartbeat for hive.txn.timeout, and return their ids.

        So are those of compactions that were begun longer ago than hive.compactor.worker.timeout.
        Compactions whose worker is gone become initiated again. Such a compaction has a transaction
        that has ended and gave its last heartbeat as long ago as hive.txn.timeout, or it was taken
        as long ago and never recorded a transaction. One that was begun `compaction_attempts` times
        has failed instead. Idempotent.
        """
        ...

    def trim(self) -> None:
        """Drop rows that no snapshot can need any more. Idempotent.

        These are write sets, ended transactions, write ids of old transactions, all but the latest
        write to each place, and all but the latest compactions of each place and kind of end
        (hive.compactor.history.retention).
        """
        ...

    # -- write ids ------------------------------------------------------------------------------

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        """The transaction's write id in a table, allocated at first use. Idempotent."""
        ...

    def allocate_write_ids(self, txn_ids: Sequence[TxnId], table: TableName) -> list[WriteId]:
        """The write id of each of these transactions in a table, in their order. Idempotent.

        Those that are new are given out in one step. So if none of the transactions has one yet,
        the ids are consecutive: no other transaction's id lies between them.
        """
        ...

    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        """Never give out a write id up to ``highest``: directories of the table have them already.

        Those that no transaction of this store has count as committed, at the latest once a
        transaction has been given the next write id. Idempotent (Hive seed_write_id).
        """
        ...

    def seed_txn_id(self, highest: TxnId) -> None:
        """Never give out a txn id up to ``highest``, which is in the name of a compacted directory.

        Those that no transaction of this store has count as committed. Idempotent (Hive
        seed_txn_id).
        """
        ...

    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        """The valid write id list of each table that belongs to a valid txn list. Read-only."""
        ...

    def known_write_id(self, txn_id: TxnId, table: TableName) -> WriteId | None:
        """The write id that a transaction has in the table of this name now, or None. Read-only.

        A Hive Metastore does not tell. There the transaction is given one if it has none.
        """
        ...

    def writer_of(self, table: TableName, write_id: WriteId) -> Txn | None:
        """The transaction that a write id belongs to, if the store still has it. Read-only."""
        ...

    def add_dynamic_partitions(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        """Record, before the commit, in which partitions a dynamic write wrote. Idempotent."""
        ...

    # -- locks ----------------------------------------------------------------------------------

    def lock(
        self,
        txn_id: TxnId,
        components: Sequence[LockComponent],
        user: str,
        host: str,
        agent_info: str = "",
    ) -> LockResponse:
        """Ask for all components at once. Safe to retry.

        They are granted together, or the request waits in the queue. The store records the INSERT,
        UPDATE and DELETE components as what the transaction may write, with its write ids. So
        these are allocated before.
        """
        ...

    def check_lock(self, lock_id: LockId) -> LockResponse:
        """Grant a waiting request if that is possible now. It counts as a heartbeat. Idempotent.

        NoSuchLockError if the request was withdrawn, or went with its transaction.
        """
        ...

    def await_lock(self, lock_id: LockId, timeout_s: float) -> bool:
        """Wait until nothing seems to keep a request waiting, at most ``timeout_s`` seconds.

        Returns whether that has happened. The answer is a hint: `check_lock` decides. A store that
        is not told of changes by others waits for the whole time. Read-only, and no heartbeat.
        """
        ...

    def unlock(self, lock_id: LockId) -> None:
        """Withdraw a waiting request, and what it alone has recorded. Idempotent.

        TxnError if the request is granted: only the end of a transaction releases its locks.
        """
        ...

    def resolve_deadlocks(self) -> list[TxnId]:
        """Abort the youngest transaction of each circle of waiting ones, and return their ids.

        Idempotent.
        """
        ...

    def show_locks(self) -> list[Lock]:
        """All locks, sorted by lock id and component. Read-only."""
        ...

    # -- compaction -----------------------------------------------------------------------------

    def compact(
        self,
        table: TableName,
        partition: str | None,
        type: CompactionType,
        initiator: str = "manual",
        host: str = "",
        options: CompactionOptions = NO_OPTIONS,
    ) -> CompactionId:
        """Put a compaction into the queue. Not retryable: a repetition is refused.

        CompactionRefusedError if one of the same table or partition is initiated or working.
        UnsupportedStatementError if a Hive Metastore does not know the type or the options.
        """
        ...

    def changed_places(self) -> list[ChangedPlace]:
        """The places with committed writes that no cleaned compaction covers, or aborted writes.

        Of several writes to a place only the latest counts. A partition that a writer has not named
        yet is no place. Nothing from a Hive Metastore, whose own initiator looks for them (Hive
        findPotentialCompactions). Read-only.
        """
        ...

    def next_compaction(self, worker_id: str, pool: str | None = None) -> Compaction | None:
        """The oldest initiated entry, which is working from now on, or None. Safe to retry.

        With ``pool`` it is one of that pool. Without, it is one of no pool, or one that has waited
        longer than hive.compactor.worker.pool.timeout for a worker of its pool.
        """
        ...

    def abort_compactions(self, compaction_ids: Sequence[CompactionId]) -> list[AbortedCompaction]:
        """End initiated entries, and say for each id what became of it, in the order of the ids.

        An entry that a worker has taken, or that has ended, stays as it is. An id that is named
        twice has the same answer twice. Idempotent, but a repetition says that the entries are
        aborted already.
        """
        ...

    def compaction_started(
        self, compaction_id: CompactionId, txn_id: TxnId, highest_write_id: WriteId
    ) -> None:
        """Record, before the work, what is compacted and by which transaction. Idempotent."""
        ...

    def mark_compacted(self, compaction_id: CompactionId) -> None:
        """The work is done: the entry becomes ready for cleaning. Idempotent.

        The transaction that has worked on it is committed in the same step.
        """
        ...

    def mark_refused(self, compaction_id: CompactionId, reason: str) -> None:
        """There is nothing to compact, or it must not be compacted. Idempotent."""
        ...

    def mark_failed(self, compaction_id: CompactionId, reason: str) -> None:
        """The work failed. Idempotent."""
        ...

    def ready_to_clean(self) -> list[Compaction]:
        """The entries whose obsolete directories no open transaction needs, oldest first.

        Each open transaction has noted the least transaction that was open when it began (Hive
        MIN_HISTORY_LEVEL). The next txn id of these entries is not above any of them. With
        hive.compactor.delayed.cleanup.enabled, entries count once they were committed as long ago
        as hive.compactor.cleaner.retention.time.seconds says. Read-only.
        """
        ...

    def oldest_needed(self) -> TxnId:
        """Every open transaction has seen how each transaction below this one has ended. Read-only.

        0, so that nothing is known, from a Hive Metastore.
        """
        ...

    def aborted_writes(self) -> list[TxnComponent]:
        """What aborted transactions have written, or were going to write. Read-only.

        Transactions count once they have given no heartbeat for hive.txn.timeout. Nothing from a
        Hive Metastore, whose own cleaner removes their files.
        """
        ...

    def forget_aborted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        """Drop the records of what these aborted transactions wrote into a table. Idempotent.

        Their files must be gone before, because their write ids will count as committed.
        """
        ...

    def committed_writes(self, table: TableName) -> frozenset[Written]:
        """The places in which committed writes have left directories. Read-only.

        The commits have told the store. It forgets a write when a compaction that covers it has
        been cleaned, and at each `trim`, which leaves the last write to each place. Nothing from a
        Hive Metastore, which does not tell.
        """
        ...

    def mark_cleaned(self, compaction_id: CompactionId) -> None:
        """The obsolete directories are gone: the entry has succeeded. Idempotent.

        Aborted writes stay recorded until `forget_aborted`. A Hive Metastore forgets them here.
        """
        ...

    def show_compactions(self) -> list[Compaction]:
        """The entries of queue and history, newest first. Read-only."""
        ...

    # -- mutexes --------------------------------------------------------------------------------

    def take_mutex(self, name: str, owner: str, lease_s: float) -> bool:
        """Take or renew a named mutex for ``lease_s`` seconds of the store's clock. Idempotent.

        False if another owner has it and its lease has not ended. Owners that die are survived:
        their leases end. A mutex saves work that would be done twice. Nothing may rely on it: a
        process can be stopped for longer than its lease (Hive AUX_TABLE). Always True over a Hive
        Metastore, which has no such verb.
        """
        ...

    def release_mutex(self, name: str, owner: str) -> None:
        """Give a mutex back, if the owner still has it. Idempotent."""
        ...

    def close(self) -> None:
        """Release the connection to the store. Idempotent."""
        ...

"""The TxnManager port: Hive's verbs over a transaction store.

Each verb is one short transaction of the store, never held open while a job runs. Each states how
it may be retried after a lost answer: *read-only*, *idempotent*, *safe to retry* (a repetition
leaves something harmless that times out) or *not retryable*.
Implementations: ``acidsql/backends``; the reference model is ``acidsql/backends/memory``.
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
    Compaction,
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
    """Hive's transaction verbs. ``NoSuchTxnError`` and ``TxnAbortedError`` may come from every verb
    that names a transaction which has to be open.
    """

    # -- transactions ---------------------------------------------------------------------------

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        """A new open transaction. Safe to retry. TooManyOpenTxnsError at hive.max.open.txns."""
        ...

    def open_txns(
        self, count: int, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> list[TxnId]:
        """Several new open transactions with consecutive ids, but no more than
        hive.txn.max.open.batch. Safe to retry. TxnError if ``count`` is less than 1,
        TooManyOpenTxnsError if not all of them would be within hive.max.open.txns.
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
        """Open a transaction, allocate its write ids in some tables, ask for its locks.

        What `open_txn`, `allocate_write_id` and `lock` do, in one step where the store can. Not
        retryable: what an answer that was lost has locked stays so until it times out. A store
        that tries again by itself finds it by ``agent_info``, if that is nobody else's.

        ``heir_of`` is a transaction to abort in the same step. Its lock requests, of which the
        latest was for the same components, become those of the new one and keep their place in the
        queue, be they granted or waiting. The latest is looked at again. If there is none, or the
        transaction is not open any more, the new one asks as usual; so it does where the store has
        no such step.
        """
        ...

    def heartbeat(self, txn_id: TxnId) -> None:
        """Renew the transaction's sign of life. Idempotent."""
        ...

    def heartbeat_txn_range(self, first: TxnId, last: TxnId) -> TxnRangeResponse:
        """Renew the signs of life of those that are open, and say of which there is none to renew.

        Both ends are included. Idempotent.
        """
        ...

    def commit_txn(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> None:
        """Make everything the transaction wrote visible at once, and release its locks.

        ``reached`` is added before, as by `add_dynamic_partitions`. ``written`` are the places in
        which the transaction leaves directories: it is noted of what the store records of them.
        First committer wins: WriteConflictError, and the transaction is aborted, if another one
        that committed since this one opened updated or deleted in the same table or partition.
        Idempotent: a committed transaction stays committed.
        """
        ...

    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        """Release the locks and make the write ids count as aborted. Idempotent."""
        ...

    def abort_txns(self, txn_ids: Sequence[TxnId], reason: str = "") -> list[TxnId]:
        """Abort those that are open and pass over the others; the ids that this call aborted.

        Idempotent, but a repetition has nothing to tell.
        """
        ...

    def valid_txns(self, txn_id: TxnId | None = None) -> ValidTxnList:
        """The snapshot of a transaction (its own id is not an exception), or of now. Read-only.

        Read-only transactions are left out of it.
        """
        ...

    def show_txns(self) -> list[Txn]:
        """Open and aborted transactions, by id. Read-only."""
        ...

    def latest_txn_in_conflict(self, txn_id: TxnId) -> Winner | None:
        """The latest transaction that would win a write conflict over this one, going by the locks
        it asked for (get_latest_txnid_in_conflict). Read-only.
        """
        ...

    def time_out_txns(self) -> list[TxnId]:
        """Abort transactions without a heartbeat for hive.txn.timeout; the ids. Idempotent.

        Compactions whose worker is gone go back to initiated: those of ended transactions without
        a sign of life for as long, and those that never recorded a transaction.
        """
        ...

    def trim(self) -> None:
        """Drop rows no snapshot can need any more. Idempotent.

        Write sets, ended transactions, old mappings; all but the latest write to each place, and
        all but the last compactions of each (hive.compactor.history.retention).
        """
        ...

    # -- write ids ------------------------------------------------------------------------------

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        """The transaction's write id in a table, allocated on first use. Idempotent."""
        ...

    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        """Never hand out a write id up to ``highest``: directories of the table have it already.

        Those that nobody was given here count as committed from the next write id on that is, as
        a transaction's. Idempotent (Hive seed_write_id).
        """
        ...

    def seed_txn_id(self, highest: TxnId) -> None:
        """Never hand out a txn id up to ``highest``, which a compactor's directory ends in.

        Those that nobody was given here count as committed. Idempotent (Hive seed_txn_id).
        """
        ...

    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        """The snapshot per table that belongs to a valid txn list. Read-only."""
        ...

    def writer_of(self, table: TableName, write_id: WriteId) -> Txn | None:
        """The transaction a write id belongs to, if the store knows it still. Read-only."""
        ...

    def add_dynamic_partitions(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        """Say, before commit, which partitions a dynamic write reached. Idempotent."""
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
        """Ask for all components at once; granted together or waiting in order. Safe to retry.

        Records the INSERT, UPDATE and DELETE components as what the transaction may write, so
        write ids are allocated before.
        """
        ...

    def check_lock(self, lock_id: LockId) -> LockResponse:
        """Try a waiting request again; counts as a heartbeat. Idempotent. NoSuchLockError."""
        ...

    def await_lock(self, lock_id: LockId, timeout_s: float) -> bool:
        """Wait until nothing seems to keep a request waiting, or for ``timeout_s`` seconds; whether
        a look is worth it. A hint: `check_lock` decides. Read-only, and no heartbeat.

        A store that learns nothing from the transactions of others waits for the whole time.
        """
        ...

    def unlock(self, lock_id: LockId) -> None:
        """Withdraw a waiting request, and what it alone recorded. Idempotent. TxnError if it is
        granted: a transaction's locks are released by its end alone.
        """
        ...

    def resolve_deadlocks(self) -> list[TxnId]:
        """Abort the youngest transaction of each circle of waiting ones; the ids. Idempotent."""
        ...

    def show_locks(self) -> list[Lock]:
        """All locks, by lock id and component. Read-only."""
        ...

    # -- compaction -----------------------------------------------------------------------------

    def compact(
        self,
        table: TableName,
        partition: str | None,
        type: CompactionType,
        initiator: str = "manual",
        host: str = "",
    ) -> CompactionId:
        """Enqueue. CompactionRefusedError if one of the same table or partition is initiated or
        working. Not retryable: the repetition is refused.
        """
        ...

    def next_compaction(self, worker_id: str) -> Compaction | None:
        """Take the oldest initiated entry, now working; None if there is none. Safe to retry."""
        ...

    def compaction_started(
        self, compaction_id: CompactionId, txn_id: TxnId, highest_write_id: WriteId
    ) -> None:
        """Record, before writing, what will be compacted and by which transaction. Idempotent."""
        ...

    def mark_compacted(self, compaction_id: CompactionId) -> None:
        """The work is done and its transaction commits in the same step: ready for cleaning.
        Idempotent.
        """
        ...

    def mark_refused(self, compaction_id: CompactionId, reason: str) -> None:
        """There was nothing to do, or it must not be done. Idempotent."""
        ...

    def mark_failed(self, compaction_id: CompactionId, reason: str) -> None:
        """The work failed. Idempotent."""
        ...

    def ready_to_clean(self) -> list[Compaction]:
        """Entries ready for cleaning that no open transaction can still need, oldest first.

        Those are the entries whose next txn id is not above the least transaction that was open
        when one that is open now began (Hive MIN_HISTORY_LEVEL). Read-only.
        """
        ...

    def aborted_writes(self) -> list[TxnComponent]:
        """What transactions wrote, or were about to, that were aborted and have given no sign of
        life for hive.txn.timeout. Read-only.

        Nothing from a Hive Metastore: its own cleaner sees to them.
        """
        ...

    def forget_aborted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        """Drop the records of what these aborted transactions wrote into a table. Idempotent.

        None of it may be there any more, since their write ids will count as committed.
        """
        ...

    def committed_writes(self, table: TableName) -> frozenset[Written]:
        """Where directories of committed writes are, as their commits have said, as far as the
        store knows it still: until a compaction of the place is cleaned, and since the last `trim`
        the last write to each place. Read-only.

        Nothing from a Hive Metastore, which does not tell.
        """
        ...

    def mark_cleaned(self, compaction_id: CompactionId) -> None:
        """The obsolete directories are gone: succeeded. Idempotent.

        What was aborted is remembered: see `forget_aborted`. A Hive Metastore forgets it here.
        """
        ...

    def show_compactions(self) -> list[Compaction]:
        """Queue and history, newest first. Read-only."""
        ...

    def close(self) -> None:
        """Release the connection to the store. Idempotent."""
        ...

"""Checks that all stores make, and their errors with Hive's texts and codes."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import (
    CompactionRefusedError,
    DeadlockError,
    NoSuchLockError,
    NoSuchTxnError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    TxnError,
)
from acidsql.model.ids import CompactionId, LockId, TxnId
from acidsql.model.names import TableName
from acidsql.txn.components import WRITES
from acidsql.txn.entities import (
    AbortedCompaction,
    Compaction,
    CompactionState,
    CompactionType,
    LockComponent,
    Txn,
    TxnState,
    TxnType,
    WriteOperation,
    Written,
)

TIMED_OUT = "heartbeat time-out"
"""The abort reason of `TxnManager.time_out_txns`."""

WORKED_TOO_LONG = "compaction time-out"
"""The abort reason of a compaction that takes longer than hive.compactor.worker.timeout."""

BEGUN_ANEW = "its statement began anew"
"""The abort reason of a transaction whose locks go to another one (`TxnManager.open_locked`)."""


def require_open(txn_id: TxnId, state: TxnState | None, reason: str = "") -> None:
    """Raise unless the transaction is open. ``state`` is None if the store does not know it."""
    match state:
        case TxnState.OPEN:
            return
        case TxnState.ABORTED:
            kind = DeadlockError if reason.startswith("deadlock") else TxnAbortedError
            raise kind(
                f"Transaction txnid:{txn_id} already aborted",
                detail=f"Reason: {reason}." if reason else None,
                code=10263,
            )
        case TxnState.COMMITTED:
            error = NoSuchTxnError(f"Transaction txnid:{txn_id} is already committed.", code=10262)
            error.committed = True
            raise error
        case None:
            raise NoSuchTxnError(f"No such transaction txnid:{txn_id}", code=10262)


def batch_size(count: int, max_open_batch: int) -> int:
    """How many transactions a request for ``count`` opens. TxnError if it asks for none."""
    if count < 1:
        raise TxnError(f"Invalid input for number of txns: {count}")
    return min(count, max_open_batch)


def require_room(open_txns: int, max_open_txns: int, wanted: int) -> None:
    """Raise if ``wanted`` more transactions would exceed the limit of open ones."""
    if open_txns + wanted > max_open_txns:
        raise too_many_open_txns(f"{open_txns} transactions are open.")


def too_many_open_txns(detail: str, hint: str | None = None) -> TooManyOpenTxnsError:
    """The error for a request beyond the limit of open transactions."""
    return TooManyOpenTxnsError(
        "Maximum allowed number of open transactions has been reached. See hive.max.open.txns.",
        detail=detail,
        hint=hint,
    )


def require_request(
    type: TxnType, tables: Sequence[TableName], components: Sequence[LockComponent]
) -> None:
    """Raise if there is nothing to lock, or if a read-only transaction asks for write ids."""
    if not components:
        raise TxnError("a lock request needs at least one component")
    if type is TxnType.READ_ONLY:
        for table in tables:
            raise write_id_refused(table)


def no_such_lock(lock_id: LockId) -> NoSuchLockError:
    """The error for a lock that never was, was withdrawn, or went with its transaction."""
    return NoSuchLockError(f"No such lock lockid:{lock_id}", code=10270)


def lock_is_granted(lock_id: LockId, txn_id: TxnId) -> TxnError:
    """The error for an unlock of a granted lock: only the end of a transaction releases it."""
    return TxnError(
        f"lockid:{lock_id} is granted and belongs to txnid:{txn_id}",
        hint="Commit or abort the transaction.",
    )


def write_id_refused(table: TableName) -> TxnError:
    """The error for a read-only transaction that asks for a write id."""
    return TxnError(
        f"Write ID allocation failed on {table} as not all input txns in open state or read-only"
    )


def compaction_is_scheduled(entry: Compaction) -> CompactionRefusedError:
    """The error if the table or partition has an unfinished compaction, which is ``entry``."""
    return CompactionRefusedError(
        f"Compaction is already scheduled with state='{entry.state.word}' "
        f"and id={entry.compaction_id}",
        code=10432,
    )


def no_such_compaction(compaction_id: CompactionId) -> TxnError:
    """The error for an entry that was never queued, or went with its table."""
    return TxnError(f"No such compaction: {compaction_id}")


ABORTED_BY_REQUEST = "Compaction Aborted by Abort Comapction request."
"""Hive's error message of an aborted entry, with Hive's spelling."""


def aborted_compaction(
    compaction_id: CompactionId, found: CompactionState | None
) -> AbortedCompaction:
    """What becomes of an entry that was found in this state; None if there is none.

    The words are those of Hive's AbortCompactionFunction.
    """
    if found is None:
        return AbortedCompaction(compaction_id, "Error", "No Such Compaction Id Available")
    if found is CompactionState.INITIATED:
        return AbortedCompaction(compaction_id, "Success", "Successfully aborted compaction")
    reason = f"Error while aborting compaction as compaction is in state-{found.word}"
    return AbortedCompaction(compaction_id, "Error", reason)


def workers_are_gone(attempts: int) -> str:
    """Why a compaction has failed that was begun several times."""
    return f"It was begun {attempts} times, and each time its worker was gone before the end"


def require_reach(operation: WriteOperation) -> None:
    """Raise unless partitions can be written to by this operation."""
    if operation not in WRITES:
        raise TxnError(f"a write cannot reach partitions by {operation.name}")


def require_compaction(entry: Compaction, *states: CompactionState) -> None:
    """Raise unless the entry is in one of the states."""
    if entry.state not in states:
        wanted = " or ".join(state.word for state in states)
        raise TxnError(f"Compaction {entry.compaction_id} is {entry.state.word}, not {wanted}")


def recorded_txn(entry: Compaction) -> TxnId:
    """The transaction that works on the entry. TxnError if there is none."""
    require_compaction(entry, CompactionState.WORKING)
    if entry.txn_id is None:
        raise TxnError(f"Compaction {entry.compaction_id} has not recorded its transaction")
    return entry.txn_id


def written_by(entry: Compaction) -> list[Written]:
    """Where the commit of a compaction leaves a directory that nothing else can stand in for.

    That is the base of a rebalance. What other compactions make holds writes that are known.
    """
    if entry.type is not CompactionType.REBALANCE or entry.highest_write_id is None:
        return []
    table = TableName(entry.database, entry.table)
    return [Written(entry.highest_write_id, table, entry.partition)]


def require_worker(entry: Compaction, txn: Txn) -> None:
    """Raise unless the transaction may work on the entry.

    A rebalance gives new row ids, so its transaction can lose a write conflict, as that of an
    update. The others never lose one. A worker that seemed dead may come back after another worker
    has taken its entry.
    """
    if txn.type not in (TxnType.COMPACTION, TxnType.REBALANCE_COMPACTION):
        raise TxnError(f"txnid:{txn.txn_id} is not a compaction transaction")
    if entry.txn_id not in (None, txn.txn_id):
        raise TxnError(f"Compaction {entry.compaction_id} belongs to txnid:{entry.txn_id}")

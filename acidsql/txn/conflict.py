"""Write conflicts: the first committer wins, per table or partition, never per row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId
from acidsql.txn.components import CHANGES, TxnComponent
from acidsql.txn.entities import Txn, WriteSetEntry


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entry of the committing transaction, and the committed one that came first."""

    own: WriteSetEntry
    other: WriteSetEntry

    def __str__(self) -> str:
        """Hive's words, which tools look for in logs.

        >>> from acidsql.txn.entities import WriteOperation
        >>> a = WriteSetEntry("db", "t", None, TxnId(4), TxnId(5), WriteOperation.UPDATE)
        >>> b = WriteSetEntry("db", "t", None, TxnId(5), TxnId(5), WriteOperation.DELETE)
        >>> str(Conflict(b, a))[:68]
        'Aborting [txnid:5,5] due to a write conflict on db/t committed by [t'
        """
        own, other = self.own, self.other
        parts = (own.database, own.table, own.partition)
        place = "/".join(p for p in parts if p is not None)
        return (
            f"Aborting [txnid:{own.txn_id},{own.commit_id}] due to a write conflict on {place} "
            f"committed by [txnid:{other.txn_id},{other.commit_id}] "
            f"{own.operation.value}/{other.operation.value}"
        )

    def error(self, winner: Txn | None) -> WriteConflictError:
        """What the losing transaction is told; ``winner`` is the other one, if still known."""
        own = self.own
        who = f" by {winner.user}@{winner.host}" if winner else ""
        return WriteConflictError(
            str(self),
            table=f"{own.database}.{own.table}",
            partition=own.partition,
            txn_id=own.txn_id,
            other_txn_id=self.other.txn_id,
            other_user=winner.user if winner else None,
            other_host=winner.host if winner else None,
            detail=f"Transaction {self.other.txn_id}{who} committed first; "
            f"transaction {own.txn_id} is rolled back.",
        )


def first_conflict(
    own: Iterable[WriteSetEntry], committed: Iterable[WriteSetEntry]
) -> Conflict | None:
    """The conflict that keeps a transaction from committing, or None.

    Two transactions conflict if both updated or deleted in the same table or partition, and the
    other one committed after the own one had opened (Hive TxnHandler.commitTxn). A transaction is
    an interval from its id to the high watermark of its commit; intervals that meet overlap.
    """
    others = sorted(committed, key=_order)
    for mine in sorted(own, key=_order):
        for other in others:
            if _conflicts(mine, other):
                return Conflict(mine, other)
    return None


def _order(entry: WriteSetEntry) -> tuple[str, str, str, int, str]:
    partition = entry.partition or ""
    return entry.database, entry.table, partition, entry.txn_id, entry.operation.value


def _conflicts(own: WriteSetEntry, other: WriteSetEntry) -> bool:
    return (
        (own.database, own.table, own.partition) == (other.database, other.table, other.partition)
        and own.txn_id != other.txn_id
        and own.txn_id <= other.commit_id
        and own.operation in CHANGES
        and other.operation in CHANGES
    )


def latest_conflict(
    txn_id: TxnId, own: Iterable[TxnComponent], committed: Iterable[WriteSetEntry]
) -> TxnId | None:
    """The latest transaction an open one would lose to, going by the locks it asked for.

    Unlike at commit, a change whose partitions are not known yet meets every partition.
    """
    places = {(c.database, c.table, c.partition) for c in own if c.operation in CHANGES}
    winners = [
        entry.txn_id
        for entry in committed
        if entry.txn_id != txn_id
        and txn_id <= entry.commit_id
        and entry.operation in CHANGES
        and places
        & {
            (entry.database, entry.table, entry.partition),
            (entry.database, entry.table, None),
        }
    ]
    return max(winners, default=None)

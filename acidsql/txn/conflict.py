"""Write conflicts: the first committer wins, per table or partition, never per row."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.txn.components import CHANGES, TxnComponent
from acidsql.txn.entities import Txn, WriteSetEntry

Place = tuple[str, str | None, str | None]
"""Database, table and partition. None stands for all tables, or for all partitions."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A write conflict: an entry of the committing transaction, and the one committed before it."""

    own: WriteSetEntry
    other: WriteSetEntry

    def __str__(self) -> str:
        """The conflict in Hive's words, which tools look for in logs.

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
        """The error for the transaction that loses. ``winner`` is the other one, if still known."""
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

    ``own`` has the entries of the transaction, ``committed`` those of all others. Two transactions
    conflict if both updated or deleted in the same table or partition, and the other one committed
    after this one had opened (Hive TxnHandler.commitTxn). A transaction is the interval of ids from
    its own to the highest one at its commit. Two intervals that share only one id overlap, too.
    """
    others = sorted(committed, key=_sort_key)
    for mine in sorted(own, key=_sort_key):
        for other in others:
            if _conflicts(mine, other):
                return Conflict(mine, other)
    return None


def _sort_key(entry: WriteSetEntry) -> tuple[str, str, str, int, str]:
    partition = entry.partition or ""
    return entry.database, entry.table, partition, entry.txn_id, entry.operation.value


def _conflicts(own: WriteSetEntry, other: WriteSetEntry) -> bool:
    return (
        (own.database, own.table, own.partition) == (other.database, other.table, other.partition)
        and own.operation in CHANGES
        and _wins(other, own.txn_id)
    )


def _wins(change: WriteSetEntry, txn_id: TxnId) -> bool:
    """Whether a transaction that changes the same place would lose to a committed change.

    The change is another transaction's, which committed after this one had opened.
    """
    return change.operation in CHANGES and change.txn_id != txn_id and txn_id <= change.commit_id


@dataclass(frozen=True, slots=True)
class Winner:
    """The transaction that an open one would lose to, and the place of the conflict.

    Some stores tell the id alone.
    """

    txn_id: TxnId
    table: TableName | None = None
    partition: str | None = None
    user: str | None = None
    host: str | None = None

    def known_as(self, txn: Txn | None) -> Winner:
        """This winner with the user and host of its transaction, if the store still has that."""
        return self if txn is None else replace(self, user=txn.user, host=txn.host)

    def error(self, txn_id: TxnId, table: TableName) -> WriteConflictError:
        """The error for a statement on ``table``, whose transaction ``txn_id`` would lose."""
        who = f" by {self.user}@{self.host}" if self.user is not None else ""
        place = str(self.table or table) + (f"/{self.partition}" if self.partition else "")
        return WriteConflictError(
            f"transaction {txn_id} cannot write to table {table} any more: "
            f"transaction {self.txn_id} changed what it works on after it had begun",
            table=str(self.table or table),
            partition=self.partition,
            txn_id=txn_id,
            other_txn_id=self.txn_id,
            other_user=self.user,
            other_host=self.host,
            detail=f"Transaction {self.txn_id}{who} committed a change of {place} first.",
        )


def latest_conflict(
    txn_id: TxnId,
    own: Iterable[TxnComponent],
    locked: Collection[Place],
    committed: Iterable[WriteSetEntry],
) -> Winner | None:
    """The latest committed transaction that an open one would lose to, or None.

    ``own`` is what was recorded of the locks that it asked for. A change whose partitions are not
    known yet may be in every place of its table that the transaction has locked against other
    changes: these places are ``locked``. The commit need not guess, since it knows the partitions.
    """
    places = {
        place
        for c in own
        if c.operation in CHANGES
        for place in _touched_places((c.database, c.table, c.partition), locked)
    }
    winners = [
        entry
        for entry in committed
        if _wins(entry, txn_id)
        and places
        & {
            (entry.database, entry.table, entry.partition),
            (entry.database, entry.table, None),
        }
    ]
    if not winners:
        return None
    latest = max(e.txn_id for e in winners)
    entry = min((e for e in winners if e.txn_id == latest), key=_sort_key)
    return Winner(latest, TableName(entry.database, entry.table), entry.partition)


def _touched_places(place: Place, locked: Collection[Place]) -> Collection[Place]:
    """The places that a change may touch which is recorded for this place."""
    database, table, partition = place
    if partition is not None:
        return [place]
    return [at for at in locked if at[:2] == (database, table)] or [place]

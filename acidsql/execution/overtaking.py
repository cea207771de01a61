"""Writes that a later write id overtook while they waited: bases hide what has a lower write id.

Write ids are allocated before locks are granted, so a statement that waited may find a higher one
committed. Its own rows could then be hidden by a base, or its base could fail to hide the other's
rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.errors import WriteConflictError
from acidsql.layout.dir_names import parse_base
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.snapshot import Range
from acidsql.model.table import TableKind
from acidsql.plans.plan import TableWrite, replaces
from acidsql.ports.engine import WriteContext
from acidsql.ports.storage import Storage
from acidsql.txn.manager import TxnManager


@dataclass(frozen=True, slots=True)
class Overtaker:
    """The later write that was committed first; ``partition`` if it is known."""

    write_id: WriteId
    partition: PartitionName | None = None


def overtaker(
    plan: TableWrite, context: WriteContext, txns: TxnManager, storage: Storage
) -> Overtaker | None:
    """The later write that forces a retry of the statement, which has its locks, or None.

    An overwrite must be retried if anything is committed that its snapshot does not see: its base
    would hide that, or stand below it. Other writes must be retried if a base has a higher write
    id. The statement's own snapshot does not tell, since it never sees a later transaction.
    """
    snapshot, own = context.read.tables[plan.table], context.write_ids[plan.table]
    if snapshot.table.kind is TableKind.PLAIN:
        return None
    now = txns.valid_write_ids([plan.table], txns.valid_txns())[plan.table]
    if replaces(plan):
        unseen = next(now.committed_since(snapshot.write_ids), None)
        return Overtaker(unseen) if unseen is not None else None
    above = WriteId(own + 1), WriteId(max(own + 1, now.high_watermark))
    if now.range_valid(*above) is Range.NONE:
        return None
    for partition in snapshot.partitions:
        for name in storage.list_directories(partition.location):
            base = parse_base(name)
            if base is not None and base.write_id > own and now.is_valid(base.write_id):
                return Overtaker(base.write_id, partition.name)
    return None


def overtaken(
    table: TableName, txn_id: TxnId, by: Overtaker, txns: TxnManager
) -> WriteConflictError:
    """The error of a statement that later writes have overtaken as often as it may retry."""
    writer = txns.writer_of(table, by.write_id)
    place = f"{table}/{by.partition}" if by.partition is not None else str(table)
    who = (
        f"Transaction {writer.txn_id} by {writer.user}@{writer.host}"
        if writer
        else "Another transaction"
    )
    return WriteConflictError(
        f"transaction {txn_id} was overtaken by later writes of table {table}",
        table=str(table),
        partition=str(by.partition) if by.partition is not None else None,
        txn_id=txn_id,
        other_txn_id=writer.txn_id if writer else None,
        other_user=writer.user if writer else None,
        other_host=writer.host if writer else None,
        detail=f"{who} committed write id {by.write_id} of {place} first.",
    )

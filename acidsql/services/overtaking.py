"""Writes whose write id came too early: bases hide what has a lower write id.

Write ids are allocated before locks are granted, so a statement that waited may find a higher one
committed. Its own rows could then be hidden by a base, or its base fail to hide the other's rows.
"""

from __future__ import annotations

from acidsql.errors import WriteConflictError
from acidsql.layout.dir_names import parse_base
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import Range, ValidWriteIdList
from acidsql.model.table import TableKind
from acidsql.plans.engine import WriteContext
from acidsql.plans.plan import WritePlan, replaces
from acidsql.storage import Storage
from acidsql.txn.manager import TxnManager


def is_overtaken(
    plan: WritePlan, context: WriteContext, txns: TxnManager, storage: Storage
) -> bool:
    """Whether the statement, which has its locks, must start anew under a higher write id.

    An overwrite has to, if anything is committed that its snapshot does not see: its base would
    hide it, or stand below it. Other writes have to, if a base has a higher write id. The
    statement's own snapshot does not tell: it never sees a later transaction.
    """
    snapshot, own = context.read.tables[plan.table], context.write_id
    if snapshot.table.kind is TableKind.PLAIN:
        return False
    now = txns.valid_write_ids([plan.table], txns.valid_txns())[plan.table]
    if replaces(plan):
        return _has_unseen(now, snapshot.write_ids)
    above = WriteId(own + 1), WriteId(max(own + 1, now.high_watermark))
    if now.range_valid(*above) is Range.NONE:
        return False
    return any(
        base.write_id > own
        for partition in snapshot.partitions
        for name in storage.list_directories(partition.location)
        if (base := parse_base(name)) is not None
    )


def _has_unseen(now: ValidWriteIdList, seen: ValidWriteIdList) -> bool:
    """Whether a write id is committed now that the snapshot counts as open or does not reach."""
    if any(now.is_valid(write_id) for write_id in seen.open):
        return True
    if now.high_watermark <= seen.high_watermark:
        return False
    later = WriteId(seen.high_watermark + 1), now.high_watermark
    return now.range_valid(*later) is not Range.NONE


def overtaken(table: TableName, txn_id: TxnId) -> WriteConflictError:
    """What a statement is told that was overtaken too often."""
    return WriteConflictError(
        f"transaction {txn_id} was overtaken by later writes of table {table}",
        table=str(table),
        txn_id=txn_id,
    )

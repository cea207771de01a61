"""The write ids of one table that belong to a valid txn list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList


def write_id_list(
    table: TableName,
    txns: ValidTxnList,
    write_ids: Mapping[TxnId, WriteId],
    next_write_id: WriteId,
    written: Iterable[WriteId] = (),
) -> ValidWriteIdList:
    """The snapshot of one table (Hive TxnHandler.getValidWriteIdsForTable).

    ``write_ids`` has the write id of each transaction that the store still knows; others are old
    and committed. Write ids are numbered in the order of allocation. So one below the high
    watermark may belong to a transaction that is newer than the list; it counts as open.
    ``written`` are write ids whose commits left a directory in the table itself. The snapshot need
    not see them.

    >>> txns = ValidTxnList(TxnId(9), open=frozenset({TxnId(7)}))
    >>> ids = {TxnId(7): WriteId(1), TxnId(12): WriteId(2), TxnId(8): WriteId(3)}
    >>> str(write_id_list(TableName("db", "t"), txns, ids, WriteId(4)))
    'db.t:3:1:1,2:'
    """
    seen = [w for t, w in write_ids.items() if t <= txns.high_watermark]
    mark = WriteId(max(seen, default=next_write_id - 1))
    hidden = {
        (w, txns.is_aborted(t)) for t, w in write_ids.items() if w <= mark and not txns.is_valid(t)
    }
    seen_ids = ValidWriteIdList(
        str(table),
        mark,
        open=frozenset(w for w, aborted in hidden if not aborted),
        aborted=frozenset(w for w, aborted in hidden if aborted),
    )
    return replace(seen_ids, written=frozenset(filter(seen_ids.is_valid, written)))

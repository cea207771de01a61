"""Reads valid txn lists and valid write id lists from a metastore's answers."""

from __future__ import annotations

from itertools import compress
from typing import Any

from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList


def txn_list(answer: Any, txn_id: TxnId | None, *, writes: bool = True) -> ValidTxnList:
    """The valid txn list of a transaction, or, None, of a reader without one.

    The transaction's own id is not among the exceptions. If it ``writes``, later ids lie above the
    high watermark (Hive createValidReadTxnList).
    """
    newest = TxnId(answer.txn_high_water_mark)
    mark = min(txn_id, newest) if txn_id is not None and writes else newest
    bits = _bits(answer.abortedBits, len(answer.open_txns))
    listed = [
        (TxnId(i), aborted)
        for i, aborted in zip(answer.open_txns, bits, strict=True)
        if i <= mark and i != txn_id
    ]
    return ValidTxnList(
        mark,
        frozenset(i for i, aborted in listed if not aborted),
        frozenset(i for i, aborted in listed if aborted),
    )


def write_id_list(table: TableName, answer: Any) -> ValidWriteIdList:
    """The valid write id list of a TableValidWriteIds."""
    bits = _bits(answer.abortedBits, len(answer.invalidWriteIds))
    ids = [WriteId(i) for i in answer.invalidWriteIds]
    aborted = frozenset(compress(ids, bits))
    mark = WriteId(answer.writeIdHighWaterMark)
    return ValidWriteIdList(str(table), mark, frozenset(ids) - aborted, aborted)


def _bits(packed: bytes, count: int) -> list[bool]:
    """The bits of a Java BitSet, whose bytes leave out zero bytes at the end.

    >>> _bits(bytes([0b101]), 10)[:4]
    [True, False, True, False]
    """
    return [i >> 3 < len(packed) and bool(packed[i >> 3] >> (i & 7) & 1) for i in range(count)]

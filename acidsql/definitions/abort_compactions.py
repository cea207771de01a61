"""ABORT COMPACTIONS."""

from __future__ import annotations

from acidsql.execution.result import Result, text_rows
from acidsql.statements import AbortCompactions
from acidsql.txn.manager import TxnManager

_COLUMNS = ("compactionid", "status", "message")


def abort_compactions(statement: AbortCompactions, txns: TxnManager) -> Result:
    """End the entries that no worker has taken. One row for each id says what became of it."""
    done = txns.abort_compactions(statement.compaction_ids)
    rows = [(str(d.compaction_id), d.status, d.message) for d in done]
    return text_rows("abort compactions", _COLUMNS, rows)

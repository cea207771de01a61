"""What a lock component or a partition says is done to it, in Thrift's numbers."""

from __future__ import annotations

from acidsql.backends.metastore.idl import hms
from acidsql.txn.entities import WriteOperation

OPERATIONS = {
    WriteOperation.SELECT: hms.DataOperationType.SELECT,
    WriteOperation.INSERT: hms.DataOperationType.INSERT,
    WriteOperation.UPDATE: hms.DataOperationType.UPDATE,
    WriteOperation.DELETE: hms.DataOperationType.DELETE,
    WriteOperation.NO_TXN: hms.DataOperationType.NO_TXN,
}
"""A compaction is none of them: the compactor says so by other calls."""

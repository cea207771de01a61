"""The operations of lock components and dynamic partitions, as Thrift's numbers."""

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
"""Write operation → Thrift's number. Compactions are not among them: they have other calls."""

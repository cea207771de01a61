"""What cleaning works on: ports, transactions, and a supervisor for failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from acidsql.model.access import Access, Operation
from acidsql.model.names import TableName
from acidsql.ports.catalog import Catalog
from acidsql.ports.storage import Storage
from acidsql.process.supervisor import Supervisor
from acidsql.txn.entities import TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.manager import TxnManager
from acidsql.txn.transaction import OpenTxn, TxnOpener, transaction


@dataclass(frozen=True, slots=True)
class BackgroundScope:
    """The ports, a way to open transactions, and the supervisor that failures are reported to."""

    txns: TxnManager
    catalog: Catalog
    storage: Storage
    open_txn: TxnOpener
    supervisor: Supervisor

    @contextmanager
    def kept_in_place(self, table: TableName) -> Iterator[OpenTxn | None]:
        """A transaction whose lock keeps the table's directories in place for a ``with`` block.

        No session can move or drop them meanwhile. None if the lock is not free at once, because
        cleaning does not wait for definitions.
        """
        locks = lock_components([Access.of(table, Operation.SELECT)])
        with transaction(self.open_txn(TxnType.READ_ONLY, components=locks)) as txn:
            yield txn if txn.try_lock(locks) else None

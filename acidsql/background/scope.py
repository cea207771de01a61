"""What work in the background works on: ports, transactions, a supervisor for failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from acidsql.background.events import Event, Tell, log_event
from acidsql.model.access import Access, Operation
from acidsql.model.names import TableName
from acidsql.model.table import Table
from acidsql.ports.catalog import Catalog
from acidsql.ports.storage import Storage
from acidsql.process.supervisor import Supervisor
from acidsql.txn.entities import TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.manager import TxnManager
from acidsql.txn.transaction import OpenTxn, TxnOpener, transaction


@dataclass(frozen=True, slots=True)
class BackgroundScope:
    """The ports, a way to open transactions, and the supervisor that failures are reported to.

    What was done is told to ``tell``. ``clock`` and ``sleep`` are in seconds.
    """

    txns: TxnManager
    catalog: Catalog
    storage: Storage
    open_txn: TxnOpener
    supervisor: Supervisor
    tell: Tell = log_event
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def told(self, event: Event) -> None:
        """Tell an event. That telling fails does not undo what was done: it is only counted."""
        self.supervisor.attempt("log", lambda: self.tell(event), None)

    @contextmanager
    def kept_in_place(self, table: TableName) -> Iterator[OpenTxn | None]:
        """A transaction whose lock keeps the table's directories in place for a ``with`` block.

        No session can move or drop them meanwhile. None if the lock is not free at once, because
        cleaning does not wait for definitions.
        """
        locks = lock_components([Access.of(table, Operation.SELECT)])
        with transaction(self.open_txn(TxnType.READ_ONLY, components=locks)) as txn:
            yield txn if txn.try_lock(locks) else None


NO_CLEANUP = "no_cleanup"


def may_be_cleaned(table: Table) -> bool:
    """Whether files of the table may be removed in the background: not with NO_CLEANUP.

    What is to be cleaned waits until the property is gone.
    """
    texts = {key.lower(): value for key, value in table.parameters.items()}
    return texts.get(NO_CLEANUP, "").lower() != "true"

"""How transactions are opened, and ended with a block of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from acidsql.model.names import TableName
from acidsql.model.progress import UNWATCHED, Progress
from acidsql.process.interrupts import uninterrupted
from acidsql.txn.cleanup import error_line
from acidsql.txn.entities import LockComponent, TxnType
from acidsql.txn.heartbeats import HEARTBEATS, Heartbeats
from acidsql.txn.manager import TxnManager
from acidsql.txn.open_txn import OpenTxn
from acidsql.txn.policy import TxnPolicy

# The other packages import these names from here.
__all__ = ["OpenTxn", "TxnOpener", "error_line", "transaction"]


@dataclass(slots=True)
class TxnOpener:
    """Opens the transactions of a session. SET may change the policy of the next ones."""

    manager: TxnManager
    user: str
    host: str
    policy: TxnPolicy
    heartbeats: Heartbeats = HEARTBEATS
    progress: Progress = UNWATCHED

    def __call__(
        self,
        type: TxnType = TxnType.DEFAULT,
        *,
        tables: Sequence[TableName] = (),
        components: Sequence[LockComponent] = (),
        heir_of: OpenTxn | None = None,
        is_block: bool = False,
    ) -> OpenTxn:
        """A new transaction; `OpenTxn` explains the arguments.

        After Ctrl-C no transaction stays open of which the caller does not know.
        """
        txn = None
        try:
            # The store may take long to answer. So a second Ctrl-C does interrupt.
            with uninterrupted(unless_repeated=True):
                txn = OpenTxn(
                    self.manager,
                    user=self.user,
                    host=self.host,
                    type=type,
                    policy=self.policy,
                    heartbeats=self.heartbeats,
                    tables=tables,
                    components=components,
                    progress=self.progress,
                    heir_of=heir_of,
                    is_block=is_block,
                )
        except BaseException as error:
            if txn is not None:
                txn.abort_after(error)
            raise
        return txn


@contextmanager
def transaction(txn: OpenTxn) -> Iterator[OpenTxn]:
    """Commit the transaction at the end of the block. After an exception, abort it and raise."""
    try:
        yield txn
        txn.commit()
    except BaseException as error:
        txn.abort_after(error)
        raise

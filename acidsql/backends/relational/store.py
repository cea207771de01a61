"""The store: both ports over one database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.backends.relational.catalog import RelationalCatalog
from acidsql.backends.relational.compactions import RelationalCompactions
from acidsql.backends.relational.connection import Mode, SqlConnection
from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId
from acidsql.txn.entities import Reached, Written
from acidsql.txn.open_count import OpenTxnCount
from acidsql.txn.policy import TxnPolicy


class RelationalStore(RelationalCompactions, RelationalCatalog):
    """Catalog and transaction manager over a connection, which it owns.

    ``warehouse`` becomes the location of the default database when the store does not have one
    yet. Raises StorageError, from every verb, with the store's place in it.
    """

    def __init__(
        self,
        sql: SqlConnection,
        *,
        warehouse: str = "",
        policy: TxnPolicy | None = None,
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        self._policy = policy or TxnPolicy()
        self._open_count = OpenTxnCount(self._policy, clock_ms)
        try:
            RelationalCatalog.__init__(self, sql, warehouse)
        except BaseException:
            sql.close()
            raise

    def close(self) -> None:
        """Release the connection. Idempotent."""
        self._sql.close()

    @contextmanager
    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        try:
            with self._sql.transaction(Mode.ALONE):
                self._require_open(txn_id)
                yield
                self.commit_txn(txn_id, reached, written)
        except WriteConflictError as conflict:
            # What the block did is undone, and the abort with it.
            self.abort_txn(txn_id, conflict.message)
            raise

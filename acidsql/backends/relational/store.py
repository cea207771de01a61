"""The store: both ports over one database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.backends.relational.catalog import RelationalCatalog
from acidsql.backends.relational.compactions import RelationalCompactions
from acidsql.backends.relational.connection import Mode, SqlConnection
from acidsql.backends.relational.mutexes import RelationalMutexes
from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId
from acidsql.txn.entities import Reached, Written
from acidsql.txn.open_count import OpenTxnCount
from acidsql.txn.policy import TxnPolicy


class RelationalStore(RelationalCompactions, RelationalMutexes, RelationalCatalog):
    """Catalog and transaction manager over a connection, which the store owns and closes.

    ``warehouse`` becomes the location of the default database if the default database has none yet.
    Every verb may raise StorageError, which names the store.
    """

    commits_in_one_step = True

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
    def while_open(self, txn_id: TxnId) -> Iterator[None]:
        with self._sql.transaction(Mode.ALONE):
            self._require_open(txn_id)
            yield

    @contextmanager
    def committing(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        try:
            with self.while_open(txn_id):
                yield
                self.commit_txn(txn_id, reached, written)
        except WriteConflictError as conflict:
            # The changes of the block are undone, and so is the abort.
            self.abort_txn(txn_id, conflict.message)
            raise

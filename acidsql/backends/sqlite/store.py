"""The store: both ports over one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acidsql.backends.sqlite.catalog import SqliteCatalog
from acidsql.backends.sqlite.compactions import SqliteCompactions
from acidsql.backends.sqlite.connection import SqliteFile
from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId
from acidsql.txn.policy import TxnPolicy


class SqliteStore(SqliteCompactions, SqliteCatalog):
    """Catalog and transaction manager in one SQLite file, shared by threads and processes.

    ``warehouse`` becomes the location of the default database when the file does not have one yet.
    ``clock_ms`` replaces SQLite's clock, in tests. Raises StorageError, from every verb, with the
    path in it.
    """

    def __init__(
        self,
        path: str,
        *,
        warehouse: str = "",
        policy: TxnPolicy | None = None,
        clock_ms: Callable[[], int] | None = None,
        busy_timeout_s: float = 30.0,
    ) -> None:
        self._file = SqliteFile(path, busy_timeout_s, clock_ms)
        self._policy = policy or TxnPolicy()
        SqliteCatalog.__init__(self, self._file, warehouse)

    def close(self) -> None:
        """Release the connection. Idempotent."""
        self._file.close()

    @contextmanager
    def committing(self, txn_id: TxnId) -> Iterator[None]:
        try:
            with self._file.writing():
                self._require_open(txn_id)
                yield
                self.commit_txn(txn_id)
        except WriteConflictError as conflict:
            # What the block did is undone, and the abort with it.
            self.abort_txn(txn_id, conflict.message)
            raise

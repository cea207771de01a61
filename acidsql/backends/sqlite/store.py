"""The store in a file."""

from __future__ import annotations

from collections.abc import Callable

from acidsql.backends.relational import RelationalStore
from acidsql.backends.sqlite.connection import SqliteFile
from acidsql.txn.policy import TxnPolicy


class SqliteStore(RelationalStore):
    """Catalog and transaction manager in one SQLite file, shared by threads and processes.

    If ``path`` has no file, one is made and ``is_new`` is true. With ``must_exist`` it is a
    MissingFileError instead. In tests, ``clock_ms`` replaces SQLite's clock.
    """

    def __init__(
        self,
        path: str,
        *,
        warehouse: str = "",
        policy: TxnPolicy | None = None,
        clock_ms: Callable[[], int] | None = None,
        busy_timeout_s: float = 30.0,
        must_exist: bool = False,
    ) -> None:
        file = SqliteFile(path, busy_timeout_s, clock_ms, must_exist=must_exist)
        self.is_new = file.is_new
        super().__init__(file, warehouse=warehouse, policy=policy, clock_ms=clock_ms)

"""The store on a server."""

from __future__ import annotations

import time
from collections.abc import Callable

from acidsql.backends.postgres.connection import PostgresServer
from acidsql.backends.relational import RelationalStore
from acidsql.txn.policy import TxnPolicy


class PostgresStore(RelationalStore):
    """Catalog and transaction manager in a PostgreSQL database, shared by machines.

    ``url`` is a libpq URL that may have the option ``schema``. ConfigError if it is another text.
    If the schema has no store, one is made and ``is_new`` is true. With ``must_exist`` it is a
    MissingFileError instead. In tests, ``clock_ms`` replaces the server's clock, and ``sleep`` the
    waits before a verb is tried again.
    """

    def __init__(
        self,
        url: str,
        *,
        warehouse: str = "",
        policy: TxnPolicy | None = None,
        clock_ms: Callable[[], int] | None = None,
        lock_timeout_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        must_exist: bool = False,
    ) -> None:
        server = PostgresServer(url, lock_timeout_s, clock_ms, sleep, must_exist=must_exist)
        self.is_new = server.is_new
        super().__init__(server, warehouse=warehouse, policy=policy, clock_ms=clock_ms)

"""What all processes of a soak share: the tables, the store, and how the service is set."""

from __future__ import annotations

import os
from dataclasses import dataclass

from acidsql.backends.postgres.store import PostgresStore
from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.ports.store import Store
from acidsql.session.session import Session
from acidsql.txn.compaction_need import Thresholds
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine

TABLES = ("a", "b", "s")
"""``a`` has all writers in one place, ``b`` a partition for each, ``s`` is streamed into."""
CREATE = tuple(
    f"CREATE TABLE {table} (k int, v string) {parts}"
    " TBLPROPERTIES ('transactional' = 'true', 'acidsql.hive4.names' = 'true')"
    for table, parts in (("a", ""), ("b", "PARTITIONED BY (p int)"), ("s", ""))
)
SECONDS = float(os.environ.get("ACIDSQL_SOAK_SECONDS", "0"))
"""How long a soak goes on; 0 for the short form."""
TIMEOUT_S = 3.0 if SECONDS else 0.6
"""How long a transaction lives without a sign of life. The quiet after a round takes a few times as
long."""
KEYS = 1000
"""Writer n owns the keys from n * KEYS on: nobody else changes their rows."""
THRESHOLDS = Thresholds(delta_count=4, delta_share=4.0, failures=0, aborted_s=TIMEOUT_S / 2)
POLICY = TxnPolicy(timeout_s=TIMEOUT_S, lock_sleep_s=0.02)
SERVICE = (
    "--workers", "2", "--interval", "0.2",
    "-D", "hive.compactor.check.interval=200ms",
    "-D", f"hive.compactor.delta.num.threshold={THRESHOLDS.delta_count}",
    "-D", f"hive.compactor.delta.pct.threshold={THRESHOLDS.delta_share}",
    "-D", f"hive.compactor.aborted.txn.time.threshold={THRESHOLDS.aborted_s * 1000:.0f}ms",
    # A compaction that is killed again and again is asked for again.
    "-D", f"hive.compactor.initiator.failed.compacts.threshold={THRESHOLDS.failures}",
    "-D", "hive.timedout.txn.reaper.start=0s", "-D", "hive.timedout.txn.reaper.interval=200ms",
    "-D", f"hive.txn.timeout={TIMEOUT_S * 1000:.0f}ms", "-D", "acidsql.service.lease=1s",
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """Where the tables are; ``url`` is that of a PostgreSQL store, else there is one in a file."""

    warehouse: str
    url: str | None = None

    def session(
        self,
        user: str,
        storage: LocalStorage | None = None,
        engine: type[PythonEngine] = PythonEngine,
    ) -> Session:
        """A session with a store and an engine of its own."""
        storage = storage or LocalStorage()
        return Session(
            store=self._store(), engine=engine(storage, None, {}), storage=storage, policy=POLICY,
            warehouse=self.warehouse, user=user, host="here", thresholds=THRESHOLDS,
        )  # fmt: skip

    def _store(self) -> Store:
        if self.url is not None:
            return PostgresStore(self.url, warehouse=self.warehouse, policy=POLICY)
        path = f"{self.warehouse}/.acidsql.db"
        return SqliteStore(path, warehouse=self.warehouse, policy=POLICY)

    def create(self) -> None:
        with self.session("creator") as session:
            for statement in CREATE:
                session.execute(statement)

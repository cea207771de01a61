"""Sessions on one warehouse, without Spark, for tests of several transactions at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acidsql.backends.storage.local import LocalStorage
from acidsql.model.names import TableName
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import contents
from tests.property.hooked_store import HookedStore
from tests.python_engine import PythonEngine

T = TableName("default", "t")


class Place:
    """A session and what is under it. Table ``t`` has the columns k and v."""

    def __init__(self, root: Path, policy: TxnPolicy | None = None) -> None:
        self.root = root
        warehouse = str(root / "w")
        policy = policy or TxnPolicy()
        self.store = HookedStore(f"{root}/store.db", warehouse=warehouse, policy=policy)
        self.engine = PythonEngine(LocalStorage(), None, {})
        self.sleep: Callable[[float], None] = time.sleep
        self.session = Session(
            store=self.store, engine=self.engine, storage=LocalStorage(), policy=policy,
            warehouse=warehouse, user="ann", host="host1", sleep=lambda s: self.sleep(s),  # noqa: PLW0108
        )  # fmt: skip

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def update(self, key: int, value: str) -> None:
        """Give the rows of a key another value."""
        self.engine.key, self.engine.change = key, lambda _: value
        self.session.execute(f"UPDATE t SET v = '{value}' WHERE k = {key}")

    def delete(self, key: int) -> None:
        """Remove the rows of a key."""
        self.engine.key = key
        self.session.execute(f"DELETE FROM t WHERE k = {key}")

    def rebalance(self) -> None:
        """Ask for one, and run the worker."""
        self.session.execute("ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 2 BUCKETS")
        self.session.run_worker()

    def rows(self) -> list[tuple[Any, ...]]:
        """What a query of the session yields, sorted."""
        return sorted(map(tuple, self.session.execute("SELECT * FROM t").fetchall()))

    def row_ids(self) -> dict[Any, tuple[Any, ...]]:
        """Row id → row, in the snapshot of the session's block, or that of this moment."""
        block = self.session._transactions._block
        table = self.store.table(T)
        txns = self.store.valid_txns() if block is None else block.txn.valid_txns
        write_ids = self.store.valid_write_ids([T], txns)[T]
        snapshot = TableSnapshot(table, (PartitionLocation(None, table.location),), write_ids)
        (seen,) = contents(snapshot, txns)
        return {row_id: (row["k"], row["v"]) for row_id, row in seen.rows.items()}

    def directories(self, place: str = "t") -> list[str]:
        """The names of the directories of a table or partition."""
        return sorted(p.name for p in (self.root / "w" / place).iterdir() if p.is_dir())

"""A process that forks while a session of it is in the middle of things; `test_forks.py` runs it.

Its arguments are the store, the warehouse, and the ways in which children are to end: it forks once
for each. The child does with its copies what a library or a careless program may do, and ends. Then
the parent goes on. What either saw is printed as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from acidsql.backends.memory import MemoryStore
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import AcidSqlError
from acidsql.session.session import Session
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine

POLICY = TxnPolicy(timeout_s=0.5)
"""Heartbeats come soon. No housekeeper runs, so a late one does no harm."""


def session_on(url: str, warehouse: str) -> Session:
    store: Any
    if url == "memory":
        store = MemoryStore(lambda: time.time_ns() // 1_000_000, POLICY, warehouse)
    elif url.startswith("postgresql"):
        store = PostgresStore(url, warehouse=warehouse, policy=POLICY)
    else:
        store = SqliteStore(url, warehouse=warehouse, policy=POLICY)
    storage = LocalStorage()
    return Session(
        store=store, engine=PythonEngine(storage, None, {}), storage=storage, policy=POLICY,
        warehouse=warehouse, user="ann", host="host1", heartbeats=Heartbeats(5),
    )  # fmt: skip


def told(use: Callable[[], object]) -> str:
    try:
        use()
    except AcidSqlError as error:
        return type(error).__name__
    return "nothing"


def tell(seen: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(seen) + "\n")
    sys.stdout.flush()


def servers(session: Session) -> list[int]:
    """The processes of PostgreSQL that idle connections of the session lead to."""
    server: Any = getattr(session._store, "_sql", None)
    return [p.connection.info.backend_pid for p in getattr(server, "_idle", ())]


def child(session: Session, result: Any, how: str) -> None:
    seen = {
        "execute": told(lambda: session.execute("INSERT INTO t VALUES (2, 'b')")),
        "commit": told(lambda: session.execute("COMMIT")),
        "rollback": told(lambda: session.execute("ROLLBACK")),
        "table": told(lambda: session.table("t")),
        "worker": told(session.run_worker),
        "cleaner": told(session.run_cleaner),
        "housekeeper": told(session.run_housekeeper),
        "block": told(lambda: session.transaction().__enter__()),
        "store": told(session._store.show_txns),
        "close of a result": told(result.close),
        "close": told(session.close),
    }
    tell(seen)
    if how == "_exit":
        os._exit(0)
    if how == "kill":
        os.kill(os.getpid(), 9)


def main(url: str, warehouse: str, how: str) -> None:
    session = session_on(url, warehouse)
    session.execute("CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO t VALUES (0, 'a')")
    result = session.execute("SELECT * FROM t")
    with session.transaction():
        session.execute("INSERT INTO t VALUES (1, 'a')")
        before, led_to = os.listdir(f"{warehouse}/t"), set(servers(session))
        pid = os.fork()
        if pid == 0:
            child(session, result, how)
            del session, result
            gc.collect()
            # Leaves the block by an exception, then ends with all that Python does at the end.
            sys.exit(7)
        _, status = os.waitpid(pid, 0)
        beats = [txn.last_heartbeat_ms for txn in session._store.show_txns()]
        while [txn.last_heartbeat_ms for txn in session._store.show_txns()] == beats:
            time.sleep(0.05)
        seen: dict[str, Any] = {"status": status, "files": os.listdir(f"{warehouse}/t") == before}
        session.execute("INSERT INTO t VALUES (2, 'a')")
    seen["same servers"] = set(servers(session)) >= led_to
    seen["lazy"] = result.fetchall()
    seen["rows"] = sorted(session.execute("SELECT * FROM t").fetchall())
    seen["check"] = session.execute("CHECK TABLE t").fetchall()
    seen["failures"] = dict(session.failures)
    tell(seen)
    session.execute("DROP TABLE t")
    session.close()


if __name__ == "__main__":
    for each in sys.argv[3:]:
        main(*sys.argv[1:3], each)

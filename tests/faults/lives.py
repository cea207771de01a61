"""The lives of statements, step by step: what docs/faults.md lists, and a session that can tell.

A step is a verb of the store or of the storage that changes something. What happens inside of a
verb of the store is a step for each of its statements.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from acidsql.backends.postgres.store import PostgresStore
from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.model.names import TableName
from acidsql.ports.store import Store
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine

STORE_VERBS = (
    "open_txn", "open_txns", "open_block", "open_locked", "allocate_write_id",
    "allocate_write_ids", "lock",
    "add_dynamic_partitions", "commit_txn", "abort_txn", "abort_txns", "compact",
    "next_compaction", "compaction_started", "mark_compacted", "mark_refused", "mark_failed",
    "mark_cleaned", "time_out_txns", "trim",
)  # fmt: skip
STORAGE_VERBS = ("make_directory", "put_file", "write_file", "append", "rename", "remove")
INSIDE = ", inside"
POLICY = TxnPolicy(timeout_s=100, lock_retries=0)

T, P = TableName("default", "t"), TableName("default", "p")
CREATE = (
    "CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')",
    "CREATE TABLE p (k int, v string) PARTITIONED BY (d int)"
    " TBLPROPERTIES ('transactional' = 'true')",
)
RESET = (
    "INSERT OVERWRITE t VALUES (1, 'a')",
    "INSERT INTO t VALUES (2, 'b')",
    "INSERT OVERWRITE p VALUES (1, 'a', 1), (2, 'b', 2)",
    "INSERT INTO p VALUES (3, 'c', 1), (4, 'd', 2)",
)
"""A base and a delta in each place, and the same rows whatever there was before."""


@dataclass(frozen=True)
class World:
    """Where the tables are; ``url`` is that of a PostgreSQL store, else there is one in a file."""

    warehouse: str
    url: str | None = None

    def session(self, clock_ms: Callable[[], int], storage: LocalStorage | None = None) -> Session:
        """A session with a store of its own, which goes by the clock."""
        storage = storage or LocalStorage()
        return Session(
            store=self._store(clock_ms), engine=PythonEngine(storage, None, {}), storage=storage,
            policy=POLICY, warehouse=self.warehouse, user="u", host="h",
        )  # fmt: skip

    def _store(self, clock_ms: Callable[[], int]) -> Store:
        settings: dict[str, Any] = {"policy": POLICY, "clock_ms": clock_ms}
        if self.url is not None:
            return PostgresStore(
                self.url, warehouse=self.warehouse, sleep=lambda _: None, **settings
            )
        path = f"{self.warehouse}/.acidsql.db"
        return SqliteStore(path, warehouse=self.warehouse, **settings)


# -- what lives ------------------------------------------------------------------------------------


def change(session: Session, key: int, value: str) -> None:
    """Prepare the engine for what the SQL says."""
    engine: Any = session._engine
    engine.key, engine.change, engine.merged = key, lambda _: value, (9, value)


def insert(session: Session) -> None:
    session.execute("INSERT INTO t VALUES (3, 'c')")


def update(session: Session) -> None:
    change(session, 1, "x")
    session.execute("UPDATE p SET v = 'x' WHERE k = 1")


def merge(session: Session) -> None:
    change(session, 1, "m")
    session.execute(
        "MERGE INTO t USING (SELECT 1 AS k UNION SELECT 9) s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'm')"
    )


def overwrite(session: Session) -> None:
    session.execute("INSERT OVERWRITE p VALUES (5, 'e', 1), (6, 'f', 2)")


def new_partition(session: Session) -> None:
    session.execute("INSERT INTO p VALUES (7, 'g', 7)")


def without_partition(session: Session) -> None:
    session.execute("ALTER TABLE p DROP IF EXISTS PARTITION (d = 7)")


def others_in_partition(session: Session) -> None:
    for _ in range(2):
        session.execute("INSERT INTO p VALUES (8, 'h', 7)")


def block(session: Session) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (3, 'c')")
    update(session)
    session.execute("COMMIT")


def own_rows(session: Session) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    change(session, 3, "x")
    session.execute("DELETE FROM t WHERE k = 3")
    for key in (4, 2):
        change(session, key, "y")
        session.execute(f"UPDATE t SET v = 'y' WHERE k = {key}")
    session.execute("COMMIT")


def minor(session: Session) -> None:
    session.execute("INSERT INTO t VALUES (4, 'd')")
    session.execute("ALTER TABLE t COMPACT 'minor'")


def work(session: Session) -> None:
    assert session.run_worker() == 1


def major(session: Session) -> None:
    session.execute("ALTER TABLE p PARTITION (d = 1) COMPACT 'major' AND WAIT")


def rebalance(session: Session) -> None:
    session.execute("ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 2 BUCKETS AND WAIT")


def clean(session: Session) -> None:
    assert session.run_cleaner() == 1


def replaced(session: Session) -> None:
    overwrite(session)
    major(session)


def vacuum(session: Session) -> None:
    """After a compaction in one partition, and an overwrite in another one."""
    found = session.execute("VACUUM p").fetchall()
    assert {why for _, _, why in found} == {"replaced by a compaction", "replaced by an overwrite"}


def nothing(session: Session) -> None:
    pass


@dataclass(frozen=True)
class Life:
    """What lives, what has to be there before, and what leads the cleaner to what is left."""

    run: Callable[[Session], None]
    before: Callable[[Session], None] = nothing
    then: Callable[[Session], None] = nothing


LIVES = {
    "INSERT": Life(insert),
    "UPDATE": Life(update),
    "MERGE": Life(merge),
    "OVERWRITE": Life(overwrite),
    "new partition": Life(new_partition, without_partition, others_in_partition),
    "block": Life(block),
    "own rows": Life(own_rows),
    "minor": Life(work, minor),
    "major": Life(major),
    "rebalance": Life(rebalance),
    "cleaner": Life(clean, major),
    "VACUUM": Life(vacuum, replaced),
}


# -- steps -----------------------------------------------------------------------------------------


class Steps:
    """Tells ``reached`` of each step of a session, by its name, when it is done."""

    def __init__(self, reached: Callable[[str], object]) -> None:
        self._reached = reached
        self._verb: str | None = None

    def watch(self, session: Session) -> None:
        store: Any = session._store
        for verb in STORE_VERBS:
            setattr(store, verb, self._verb_of_store(verb, getattr(store, verb)))
        store.committing = self._committing(store.committing)
        store._sql.run = self._inside(store._sql.run)
        storage: Any = session._storage
        for verb in STORAGE_VERBS:
            setattr(storage, verb, self._then(verb, getattr(storage, verb)))

    def _verb_of_store(self, verb: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if self._verb is not None:
                return method(*args, **kwargs)
            with self._within(verb):
                return method(*args, **kwargs)

        return called

    def _committing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def committing(*args: Any) -> Iterator[None]:
            with self._within("commit_txn"), method(*args):
                yield

        return committing

    @contextmanager
    def _within(self, verb: str) -> Iterator[None]:
        self._verb = verb
        try:
            yield
        finally:
            self._verb = None
        self._reached(verb)

    def _inside(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> None:
            run(*args, **kwargs)
            if self._verb is not None:
                self._reached(f"{self._verb}{INSIDE}")

        return called

    def _then(self, verb: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            answer = method(*args, **kwargs)
            self._reached(verb)
            return answer

        return called


class Countdown:
    """Does something at the step of that name that comes after ``earlier`` others of that name."""

    def __init__(self, step: str, earlier: int, happens: Callable[[], object]) -> None:
        self._step, self._left, self._happens = step, earlier, happens

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == -1:
                self._happens()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_and_die(world: World, life: str, now_ms: int, step: str, earlier: int) -> None:
    """What a process does that is killed at a step. Its temporary files go with the warehouse."""
    tempfile.tempdir = f"{world.warehouse}/_temporary"
    os.makedirs(tempfile.tempdir, exist_ok=True)
    with world.session(lambda: now_ms) as session:
        Steps(Countdown(step, earlier, die)).watch(session)
        LIVES[life].run(session)

"""A client of a history: a process that appends to lists and reads them, by SQL.

The lists are the rows of two tables. All that is left out, unless ``spark`` is set, is Spark.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from acidsql.backends.postgres.store import PostgresStore
from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    CompactionRefusedError,
    StorageError,
    TxnError,
)
from acidsql.ports.store import Store
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.history.history import Journal
from tests.python_engine import PythonEngine

KEYS = 3
TABLES = ("a", "b")
CREATE = (
    "CREATE TABLE a (k int, v string) TBLPROPERTIES ('transactional' = 'true')",
    "CREATE TABLE b (k int, v string) PARTITIONED BY (p int)"
    " TBLPROPERTIES ('transactional' = 'true')",
    "INSERT INTO a VALUES (0, ''), (1, ''), (2, '')",
    "INSERT INTO b VALUES (0, '', 0), (1, '', 1), (2, '', 2)",
)
SPARK = {
    "spark.master": "local[1]",
    "spark.driver.memory": "512m",
    # Few statements, so what makes the later ones fast takes longer than it saves.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True)
class World:
    """What all clients of a history share. ``store`` is the kind of a store in a file."""

    warehouse: str
    url: str | None = None
    write_xlock: bool = True
    timeout_s: float = 30.0
    spark: bool = False
    store: type[SqliteStore] = SqliteStore

    def session(self, user: str) -> Session:
        """A session with a store and an engine of its own."""
        storage = LocalStorage()
        policy = TxnPolicy(
            timeout_s=self.timeout_s, lock_sleep_s=0.02, write_xlock=self.write_xlock
        )
        kind = SparkEngine if self.spark else PythonEngine
        return Session(
            store=self._store(policy), engine=kind(storage, None, SPARK), storage=storage,
            policy=policy, warehouse=self.warehouse, user=user, host="here",
        )  # fmt: skip

    def _store(self, policy: TxnPolicy) -> Store:
        if self.url is not None:
            return PostgresStore(self.url, warehouse=self.warehouse, policy=policy)
        path = f"{self.warehouse}/.acidsql.db"
        return self.store(path, warehouse=self.warehouse, policy=policy)


class Client:
    """One session and its journal; ``name`` makes its values differ from those of the others."""

    def __init__(self, session: Session, journal: Journal, name: int) -> None:
        self.session = session
        self.journal = journal
        self.name = name
        self.number = 0
        self.random = random.Random(name)
        self.engine: Any = session._engine

    def run(self, count: int) -> None:
        for _ in range(count):
            match self.random.randrange(10):
                case 0:
                    self.do_chores()
                case 1:
                    self.read_alone()
                case 2 | 3:
                    self.append_alone()
                case _:
                    self.transact()

    # -- transactions ------------------------------------------------------------------------------

    def transact(self) -> None:
        """BEGIN, some reads and appends, COMMIT or sometimes ROLLBACK."""
        with self.noted():
            self.session.execute("BEGIN")
            try:
                for _ in range(self.random.randint(1, 4)):
                    table = self.random.choice(TABLES)
                    (self.append if self.random.random() < 0.5 else self.read)(table)
            except AcidSqlError:
                with suppress(AcidSqlError):
                    self.session.execute("ROLLBACK")
                raise
            if self.random.random() < 0.1:
                self.session.execute("ROLLBACK")
                return
            self.journal.note("commit")
            self.session.execute("COMMIT")
            self.journal.note("end", "committed", time.monotonic_ns())

    def append_alone(self) -> None:
        with self.noted():
            self.append(self.random.choice(TABLES), alone=True)
            self.journal.note("end", "committed", time.monotonic_ns())

    def read_alone(self) -> None:
        with self.noted():
            self.journal.note("commit")
            self.read(self.random.choice(TABLES))
            self.journal.note("end", "committed", time.monotonic_ns())

    def read_all(self) -> None:
        """Both tables in one transaction, which has to work."""
        self.journal.note("begin", self.next_name(), time.monotonic_ns())
        with self.session.transaction(read_only=True):
            for table in TABLES:
                self.read(table)
            self.journal.note("commit")
        self.journal.note("end", "committed", time.monotonic_ns())

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A transaction in the journal, with its error if it has one."""
        self.journal.note("begin", self.next_name(), time.monotonic_ns())
        try:
            yield
        except AcidSqlError as error:
            self.journal.note("error", type(error).__name__, str(error))
            known = not isinstance(error, CommitStateUnknownError | StorageError)
            if known:
                self.journal.note("end", "aborted", time.monotonic_ns())

    def next_name(self) -> str:
        self.number += 1
        return f"{self.name}.{self.number}"

    # -- statements --------------------------------------------------------------------------------

    def append(self, table: str, *, alone: bool = False) -> None:
        self.number += 1
        key, value = self.random.randrange(KEYS), self.name * 100_000 + self.number
        self.engine.key, self.engine.change = key, lambda old: f"{old},{value}"
        self.journal.note("append", f"{table}{key}", value)
        if alone:
            self.journal.note("commit")
        sql = f"UPDATE {table} SET v = concat(v, ',{value}') WHERE k = {key}"
        self.session.execute(sql)

    def read(self, table: str) -> None:
        """All lists of a table: twice where a row is there twice, empty where it is gone."""
        rows = self.session.execute(f"SELECT * FROM {table}").fetchall()
        for wanted in range(KEYS):
            for text in [text for key, text, *_ in rows if key == wanted] or [""]:
                values = [int(v) for v in text.split(",") if v]
                self.journal.note("read", f"{table}{wanted}", values)

    # -- background --------------------------------------------------------------------------------

    def do_chores(self) -> None:
        table, number = self.random.choice(TABLES), self.random.randrange(KEYS)
        place = f"b PARTITION (p = {number})" if table == "b" else "a"
        kind = self.random.choice(["minor", "major"])
        try:
            self.session.execute(f"ALTER TABLE {place} COMPACT '{kind}' AND WAIT")
            self.session.run_cleaner()
            self.session.run_housekeeper()
        except (CompactionRefusedError, TxnError, StorageError) as error:
            # Another client compacts it, or has compacted it since this one was stopped.
            self.journal.note("chore", type(error).__name__, str(error))


def run(world: World, path: str, name: int, count: int) -> None:
    """What the process of a client does."""
    with world.session(f"u{name}") as session, closing(Journal(path)) as journal:
        Client(session, journal, name).run(count)

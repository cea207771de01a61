"""acidsql and a Hive over one metastore: nothing has to be brought in step."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from acidsql.backends.metastore import MetastoreStore
from acidsql.model.table import Table
from acidsql.session.session import Session
from acidsql.txn.entities import CompactionState
from tests.integration.hive.process import Hive
from tests.integration.hive.shared import Row, Shared


class OneMetastore(Shared):
    """A database that both have open, and both know of."""

    def _create_database(self) -> None:
        self.session.execute(f"CREATE DATABASE {self.database}")

    def acidsql(self, sql: str) -> list[Any]:
        """A statement of acidsql."""
        sql = self._begin(sql)
        return self.session.execute(sql).fetchall()

    def theirs(self, sql: str) -> list[Any]:
        """A statement of Hive."""
        sql = self._begin(sql)
        return self.hive.run(sql)

    def same(self, name: str, count: int) -> list[Row]:
        """The rows, if there are so many, all readers agree on them, and CHECK TABLE is content."""
        rows = self.rows(name)
        assert len(rows) == count, rows
        self._check(self.table(name), after_hive=True)
        return rows

    def described(self, name: str) -> dict[str, str]:
        """What Hive's DESCRIBE FORMATTED says, parameters and all, by its words."""
        pairs = {}
        for row in self.hive.run(f"DESCRIBE FORMATTED {name}"):
            first, second, third = ((value or "").strip() for value in row.values())
            pairs[first.rstrip(":") or second] = second if first else third
        return pairs

    def columns(self, name: str) -> list[tuple[str, str, str]]:
        """Names, types and comments as Hive's DESCRIBE has them."""
        rows = self.hive.run(f"DESCRIBE {name}")
        told = [tuple((value or "").strip() for value in row.values()) for row in rows]
        return [(a, b, c) for a, b, c in told if a and not a.startswith("#")]


class Turns(OneMetastore):
    """The same, with everything looked at after every turn, as `Shared` does."""

    acidsql = Shared.acidsql
    theirs = Shared.theirs

    def __init__(self, hive: Hive, session: Session, database: str) -> None:
        super().__init__(hive, session, database)
        self._definers = itertools.cycle([session.execute, hive.run])

    def both(self, sql: str) -> None:
        """A definition, made by one of the two, in turn."""
        next(self._definers)(self._begin(sql))

    def _work(self) -> None:
        if self.hive.version == 3:  # whose metastore has no verbs for workers elsewhere
            self.hive.work()
        else:
            self.session.run_worker()

    def _clean(self) -> None:
        """Cleaning is the metastore's own."""
        assert self.session.run_cleaner() == 0
        time.sleep(1.2)
        self.hive.run("!cleaner")

    def _tell_hive(self, table: Table) -> None:
        self._same_partitions(table)

    def _tell_acidsql(self, table: Table) -> None:
        self._same_partitions(table)

    def _same_partitions(self, table: Table) -> None:
        ours = [str(p.name) for p in self.store.partitions(table.name)]
        assert ours == sorted(self._hive_partitions(table)), table.name


@contextmanager
def compacting(hive: Hive) -> Iterator[None]:
    """Hive 3.1 gives its queue to its own workers: one of them is there."""
    if hive.version != 3:
        yield
        return
    store = MetastoreStore(hive.metastore_url, user="ann")
    done = threading.Event()
    failed: list[Exception] = []

    def work() -> None:
        try:
            while not done.wait(0.5):
                if any(c.state is CompactionState.INITIATED for c in store.show_compactions()):
                    hive.work()
        except Exception as error:
            failed.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        done.set()
        worker.join()
        store.close()
    assert not failed

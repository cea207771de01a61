"""One metastore in two hands: acidsql and a Hive share tables, transactions and locks."""

from __future__ import annotations

import itertools
import time
from typing import Any

from acidsql.model.table import Table
from acidsql.session import Session
from tests.integration.hive.process import Hive
from tests.integration.hive.shared import Shared


class Live(Shared):
    """A database of the one metastore. Nothing has to be kept in step, and cleaning is Hive's."""

    def __init__(self, hive: Hive, session: Session, database: str) -> None:
        self._definers = itertools.cycle([session.execute, hive.run])
        super().__init__(hive, session, database)

    def both(self, sql: str) -> None:
        """A definition, made by one of the two, in turn."""
        next(self._definers)(self._begin(sql))

    def _open(self) -> None:
        self.session.execute(f"CREATE DATABASE {self.database}")
        for run in (self.session.execute, self.hive.run):
            run(f"USE {self.database}")

    def _work(self) -> None:
        if self.hive.version == 3:  # whose metastore has no verbs for workers elsewhere
            self.hive.run("!worker")
        else:
            self.session.run_worker()

    def _clean(self) -> None:
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

    def statistics(self, table: Table) -> Any:
        """What Hive counts, by its statistics where it trusts them."""
        self.hive.run("SET hive.compute.query.using.stats=true")
        try:
            return self.hive.run(f"SELECT count(*) AS n FROM {table.name}")[0]["n"]
        finally:
            self.hive.run("SET hive.compute.query.using.stats=false")

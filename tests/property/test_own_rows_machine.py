"""Transactions that change their own rows over and over, compared with a dict.

No Spark: updates and deletes choose their rows in Python. Statements and commits fail in the middle
of their files; results stay unread; compactions and the cleaner come in between.
ACIDSQL_SOAK_STEPS=<n> runs many more of them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import CompactionRefusedError, StorageError
from acidsql.execution.snapshots import table_directories
from acidsql.model.names import TableName
from acidsql.ports.engine import TableSnapshot
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import Event, check_table, chosen, read_events
from tests.python_engine import PythonEngine

SOAK = bool(os.environ.get("ACIDSQL_SOAK_STEPS"))
T = TableName("default", "t")
KEYS = st.integers(1, 3)
FAILS = st.sampled_from([False] * 5 + [True])
VALUES = st.sampled_from("abcdef")
LAYOUTS = {
    "plain": "",
    "partitioned": "PARTITIONED BY (d int)",
    "bucketed": "CLUSTERED BY (k) INTO 2 BUCKETS",
}


class FailingStorage(LocalStorage):
    """The rename that ``left`` others come before fails."""

    left: int | None = None

    def rename(self, source: str, target: str) -> None:
        if self.left == 0:
            raise StorageError("no room left", detail=target)
        if self.left is not None:
            self.left -= 1
        super().rename(source, target)


class OwnRowsMachine(RuleBasedStateMachine):
    """``committed`` and ``rows`` are by key, several rows to a key; ``rows`` is within a block."""

    @initialize(layout=st.sampled_from(sorted(LAYOUTS)), is_hive4=st.booleans())
    def begin_table(self, layout: str, is_hive4: bool) -> None:
        self.directory = tempfile.mkdtemp()
        self.storage = FailingStorage()
        self.store = MemoryStore(lambda: 1_000_000, TxnPolicy(), self.directory)
        self.engine = PythonEngine(self.storage, None, {})
        self.session = Session(
            store=self.store, engine=self.engine, storage=self.storage, policy=TxnPolicy(),
            warehouse=self.directory, user="u", host="h",
        )  # fmt: skip
        hive4 = ", 'acidsql.hive4.names' = 'true'" if is_hive4 else ""
        self.session.execute(
            f"CREATE TABLE t (k int, v string) {LAYOUTS[layout]}"
            f" TBLPROPERTIES ('transactional' = 'true'{hive4})"
        )
        self.is_partitioned = layout == "partitioned"
        self.committed: list[tuple[Any, ...]] = []
        self.rows: list[tuple[Any, ...]] | None = None
        self.unread: list[tuple[Any, list[Any]]] = []

    # -- statements --------------------------------------------------------------------------------

    @precondition(lambda self: self.rows is None)
    @rule()
    def begin(self) -> None:
        self.session.execute("BEGIN")
        self.rows = list(self.committed)

    @precondition(lambda self: self.rows is not None)
    @rule(keys=st.lists(KEYS, min_size=1, max_size=4), value=VALUES, fails=FAILS)
    def insert(self, keys: list[int], value: str, fails: bool) -> None:
        more = [(k, value, str(k % 2))[: 3 if self.is_partitioned else 2] for k in keys]
        texts = [f"({k}, '{value}'{f', {k % 2}' * self.is_partitioned})" for k in keys]
        self._write(f"INSERT INTO t VALUES {', '.join(texts)}", self._now + more, fails)

    @precondition(lambda self: self.rows is not None)
    @rule(key=KEYS, value=VALUES, fails=FAILS)
    def update(self, key: int, value: str, fails: bool) -> None:
        self.engine.key, self.engine.change = key, lambda _: value
        rows = [(r[0], value, *r[2:]) if r[0] == key else r for r in self._now]
        self._write(f"UPDATE t SET v = '{value}' WHERE k = {key}", rows, fails)

    @precondition(lambda self: self.rows is not None)
    @rule(key=KEYS, fails=FAILS)
    def delete(self, key: int, fails: bool) -> None:
        self.engine.key = key
        rows = [r for r in self._now if r[0] != key]
        self._write(f"DELETE FROM t WHERE k = {key}", rows, fails)

    @precondition(lambda self: self.rows is not None)
    @rule(left=st.sampled_from([None] * 5 + [0, 1]))
    def commit(self, left: int | None) -> None:
        assert self.rows is not None
        self.storage.left = left
        try:
            self.session.execute("COMMIT")
        except StorageError:
            assert left is not None
        else:
            self.committed = self.rows
        finally:
            self.storage.left = None
        self.rows = None
        self._compare()

    @precondition(lambda self: self.rows is not None)
    @rule()
    def roll_back(self) -> None:
        self.session.execute("ROLLBACK")
        self.rows = None
        self._compare()

    @property
    def _now(self) -> list[tuple[Any, ...]]:
        return self.committed if self.rows is None else self.rows

    def _write(self, statement: str, rows: list[tuple[Any, ...]], fails: bool) -> None:
        """A statement, which fails if it is to and renames anything at all."""
        self.storage.left = 0 if fails else None
        try:
            self.session.execute(statement)
        except StorageError:
            assert fails
        else:
            self.rows = rows
        finally:
            self.storage.left = None
        self._compare()

    # -- what goes on beside them ------------------------------------------------------------------

    @rule()
    def leave_unread(self) -> None:
        self.unread.append((self.session.execute("SELECT * FROM t"), sorted(self._now)))

    @precondition(lambda self: self.unread)
    @rule()
    def close_unread(self) -> None:
        result, _ = self.unread.pop()
        result.close()

    @precondition(lambda self: self.rows is None)
    @rule(kind=st.sampled_from(["minor", "major"]))
    def compact(self, kind: str) -> None:
        for place in self._places():
            try:
                self.session.execute(f"ALTER TABLE t {place} COMPACT '{kind}'")
            except CompactionRefusedError:
                continue
        self.session.run_worker()
        self._compare()

    @precondition(lambda self: self.rows is None)
    @rule()
    def clean(self) -> None:
        self.session.run_cleaner()
        self._compare()

    def _places(self) -> list[str]:
        if not self.is_partitioned:
            return [""]
        return [f"PARTITION (d = {p.name.values[0]})" for p in self.store.partitions(T)]

    # -- what must hold ----------------------------------------------------------------------------

    def _compare(self) -> None:
        """What is committed for all, as for the session itself; nothing deletes own rows."""
        assert sorted(check_table(self.store, T)) == sorted(self.committed)
        found = self.session.execute("SELECT * FROM t").fetchall()
        assert sorted((r[0], r[1], *map(str, r[2:])) for r in found) == sorted(self._now)
        assert [e for e in self._chosen_deletes() if e.row_id[0] == e.write_id] == []

    def _chosen_deletes(self) -> list[Event]:
        """The delete events that a reader of what is committed reads."""
        txns, table = self.store.valid_txns(), self.store.table(T)
        places = tuple(table_directories(self.store, table))
        ids = self.store.valid_write_ids([T], txns)[T]
        states = chosen(TableSnapshot(table, places, ids), txns)
        return [
            event
            for place, state in zip(places, states, strict=True)
            for directory in state.delete_deltas
            for file in directory.files
            for event in read_events(Path(place.location) / file.path)
        ]

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()
            shutil.rmtree(self.directory)


TestOwnRows = OwnRowsMachine.TestCase
TestOwnRows.settings = settings(
    max_examples=500 if SOAK else settings().max_examples // 3,
    stateful_step_count=40 if SOAK else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

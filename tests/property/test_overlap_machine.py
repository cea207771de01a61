"""Statements that overlap, die, time out; readers that stay; compactions and the cleaner.

Two sessions on one SQLite store, and no Spark: updates and deletes choose their rows in Python, so
that thousands of steps are cheap. ACIDSQL_SOAK_STEPS=<n> runs many more of them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import pyarrow.orc as pa_orc
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import (
    CommitStateUnknownError,
    CompactionRefusedError,
    LockTimeoutError,
    StorageError,
    TxnAbortedError,
)
from acidsql.execution.snapshots import table_directories
from acidsql.layout.acid_state import NOT_ENOUGH_HISTORY, AcidState
from acidsql.model.access import Access, Operation
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import TableKind
from acidsql.ports.engine import TableSnapshot
from acidsql.session.acid_directory import directory_snapshot, directory_txns
from acidsql.session.session import Session
from acidsql.txn.entities import CompactionState, TxnState, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn
from tests.checks import chosen, read_contents, visible_rows
from tests.property.hooked_store import COMPACTING, HOOKS, HookedStore
from tests.python_engine import PythonEngine

SOAK = bool(os.environ.get("ACIDSQL_SOAK_STEPS"))
NAME = TableName("default", "t")
POLICY = TxnPolicy(timeout_s=1000, lock_retries=0)
Row = list[Any]
"""Key, value and, in a partitioned table, the partition's."""


@dataclass
class Process:
    """A session with a store and an engine of its own."""

    store: HookedStore
    engine: PythonEngine
    session: Session


@dataclass
class Reader:
    """An open transaction, its snapshot, the files chosen by it, and the rows these hold."""

    txn: OpenTxn
    snapshot: TableSnapshot
    states: list[AcidState]
    expected: Counter[Any]


@dataclass
class Statement:
    """SQL, how the session is prepared for it, and what it does to the rows; None for the rest.

    ``exclusive`` statements wait for everybody, ``changes`` for one another, but for those of other
    partitions than ``place``, which is one partition's value or None for the whole table.
    """

    sql: str
    key: int = 0
    value: int = 0
    effect: Callable[[], object] | None = None
    exclusive: bool = False
    changes: bool = False
    place: str | None = None

    def meets(self, other: Statement) -> bool:
        """Whether both may be at work in the same partition."""
        return self.place is None or other.place is None or self.place == other.place


keys = st.integers(0, 4)
places = st.sampled_from([None, "x", "y/z"])
rows = st.lists(st.tuples(keys, st.integers(0, 99), places), min_size=1, max_size=4)


class OverlapMachine(RuleBasedStateMachine):
    """One table and the list of its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.now_ms = 1_000_000_000
        self.rows: list[Row] = []
        self.readers: list[Reader] = []
        self.pasts: list[tuple[str, str, Counter[Any]]] = []
        self.dead: set[int] = set()
        self.processes = [self.process(), self.process()]
        self.store = self.processes[0].store
        self.history: list[str] = []

    def process(self) -> Process:
        store = HookedStore(
            f"{self.directory}/.acidsql.db",
            warehouse=self.directory,
            policy=POLICY,
            clock_ms=lambda: self.now_ms,
        )
        storage = LocalStorage()
        engine = PythonEngine(storage, None, {})
        session = Session(
            store=store,
            engine=engine,
            storage=storage,
            policy=POLICY,
            warehouse=self.directory,
            user="u",
            host="h",
        )
        return Process(store, engine, session)

    def teardown(self) -> None:
        for process in self.processes:
            process.session.close()
        shutil.rmtree(self.directory)

    @initialize(
        partitioned=st.booleans(),
        buckets=st.integers(0, 2),
        hive4_names=st.booleans(),
        insert_only=st.sampled_from([False, False, False, True]),
    )
    def create(self, partitioned: bool, buckets: int, hive4_names: bool, insert_only: bool) -> None:
        self.partitioned, self.insert_only = partitioned, insert_only
        parts = "PARTITIONED BY (p string)" if partitioned else ""
        clustered = f"CLUSTERED BY (k) INTO {buckets} BUCKETS" if buckets else ""
        properties = "'transactional' = 'true'"
        properties += f", 'acidsql.hive4.names' = '{str(hive4_names).lower()}'"
        if insert_only:
            properties += ", 'transactional_properties' = 'insert_only'"
        self.processes[0].session.execute(
            f"CREATE TABLE t (k int, v int) {parts} {clustered} STORED AS ORC"
            f" TBLPROPERTIES ({properties})"
        )

    # -- statements --------------------------------------------------------------------------------

    def statement(self, data: st.DataObject) -> Statement:
        kinds = ["insert", "insert", "overwrite", "truncate"]
        kinds += [] if self.insert_only else ["update", "update", "delete"]
        kind = data.draw(st.sampled_from(kinds), label="statement")
        if kind in ("insert", "overwrite"):
            return self.insertion(data, kind == "overwrite")
        if kind == "truncate":
            return self.truncation(data)
        key, value = data.draw(keys), data.draw(st.integers(100, 199))
        place = data.draw(places, label="only in") if self.partitioned else None
        chosen = [row for row in self.rows if row[0] == key and place in (None, row[-1])]
        where = f"k = {key}" + (f" AND p = '{place}'" if place else "")
        if kind == "update":
            sql = f"UPDATE t SET v = {value} WHERE {where}"
            effect = lambda: self.set_values(chosen, value)  # noqa: E731
        else:
            sql = f"DELETE FROM t WHERE {where}"
            effect = lambda: self.remove(chosen)  # noqa: E731
        return Statement(
            sql, key, value, effect, changes=True, place=repr(place) if place else None
        )

    def insertion(self, data: st.DataObject, overwrite: bool) -> Statement:
        width = 3 if self.partitioned else 2
        given = [list(row[:width]) for row in data.draw(rows)]
        lines = ", ".join(
            "(" + ", ".join("NULL" if v is None else repr(v) for v in row) + ")" for row in given
        )
        if not overwrite:
            return Statement(
                f"INSERT INTO t VALUES {lines}", effect=lambda: self.rows.extend(given)
            )
        reached = {row[2] for row in given} if self.partitioned else None

        def replace_rows() -> None:
            gone = [r for r in self.rows if reached is None or r[2] in reached]
            self.remove(gone)
            self.rows.extend(given)

        return Statement(
            f"INSERT OVERWRITE t VALUES {lines}", effect=replace_rows, exclusive=True, changes=True
        )

    def truncation(self, data: st.DataObject) -> Statement:
        clause, value = self.clause(data)
        gone = [r for r in self.rows if not self.partitioned or r[2] == value]
        return Statement(
            f"TRUNCATE TABLE t {clause}",
            effect=lambda: self.remove([r for r in self.rows if any(r is g for g in gone)]),
            exclusive=True,
            changes=True,
            place=repr(value) if self.partitioned else None,
        )

    def clause(self, data: st.DataObject) -> tuple[str, str | None]:
        """A partition that is there; for none of them, one that could be."""
        if not self.partitioned:
            return "", None
        values = [p.name.values[0] for p in self.store.partitions(NAME)]
        value = data.draw(st.sampled_from(values)) if values else "none"
        return f"PARTITION (p = {'NULL' if value is None else repr(value)})", value

    def set_values(self, chosen: list[Row], value: int) -> None:
        for row in chosen:
            row[1] = value

    def remove(self, gone: list[Row]) -> None:
        self.rows = [row for row in self.rows if not any(row is g for g in gone)]

    def run(self, process: Process, statement: Statement) -> None:
        process.engine.key = statement.key
        process.engine.change = lambda _: statement.value
        self.history.append(statement.sql)
        process.session.execute(statement.sql)

    @rule(data=st.data(), at=st.integers(0, 1))
    def write(self, data: st.DataObject, at: int) -> None:
        if self.partitioned and not self.store.partitions(NAME):
            statement = self.insertion(data, overwrite=False)
        else:
            statement = self.statement(data)
        try:
            self.run(self.processes[at], statement)
        except LockTimeoutError:
            self.history.append("  (lock)")
            assert self.open_dead() or self.readers
            return
        assert statement.effect is not None
        statement.effect()

    @rule(data=st.data(), verb=st.sampled_from(HOOKS))
    def die(self, data: st.DataObject, verb: str) -> None:
        """A statement of a process that dies on the way; or before it has begun."""
        if self.partitioned and not self.store.partitions(NAME):
            return
        process = self.process()
        statement = self.compaction(data) if verb == "mark_compacted" else self.statement(data)
        before = {t.txn_id for t in self.store.show_txns()}
        process.store.die_at(verb)
        self.history.append(f"  dies at {verb}:")
        try:
            self.run(process, statement)
        except (CommitStateUnknownError, StorageError):
            assert process.store.dead
        except (LockTimeoutError, CompactionRefusedError):
            self.history.append("  (refused)")
        else:
            if statement.effect is not None:
                # It never came to the verb: nothing reached.
                assert not process.store.dead
                statement.effect()
        if process.store.dead:
            self.dead |= {t.txn_id for t in self.store.show_txns()} - before
        process.store.dead = True

    @rule(data=st.data(), inner=st.sampled_from(["write", "compact", "clean", "sleep", "open"]))
    def overlap(self, data: st.DataObject, inner: str) -> None:
        """Something else happens between what a statement has written and its commit."""
        if self.partitioned and not self.store.partitions(NAME):
            return
        statement = self.statement(data)
        process, other = self.processes
        self.history.append(f"  {inner} within:")

        def happens() -> None:
            self.meanwhile(inner, data, other, statement)
            self.look()

        process.store.before_commit(happens)
        # What it acts on was chosen by its snapshot: rows that come meanwhile are not touched.
        try:
            self.run(process, statement)
        except LockTimeoutError:
            self.history.append("  (lock)")
            assert self.open_dead() or self.readers
        except TxnAbortedError:
            if inner != "sleep":
                raise
        else:
            assert inner != "sleep"
            assert statement.effect is not None
            statement.effect()
        finally:
            process.store.before = None

    @rule(
        data=st.data(),
        verb=st.sampled_from(COMPACTING),
        inner=st.sampled_from(["write", "clean", "open"]),
    )
    def overlap_compaction(self, data: st.DataObject, verb: str, inner: str) -> None:
        """Something else happens while a compaction writes, or before it commits."""
        if self.partitioned and not self.store.partitions(NAME):
            return
        process, other = self.processes
        self.history.append(f"  {inner} at {verb} of:")

        def happens() -> None:
            if inner == "write":
                self.write_in(data, other)
            else:
                self.meanwhile(inner, data, other)
            self.look()

        process.store.before = ((verb,), happens)
        self.compact_in(data, process)
        process.store.before = None

    def meanwhile(
        self, inner: str, data: st.DataObject, process: Process, writer: Statement | None = None
    ) -> None:
        match inner:
            case "write":
                self.write_in(data, process, writer)
            case "compact":
                self.compact_in(data, process)
            case "clean":
                self.clean_in(process)
            case "open":
                self.open_in()
            case "sleep":
                self.now_ms += 3 * POLICY.timeout_ms
                self.forget_readers()
                process.session.run_housekeeper()

    def write_in(
        self, data: st.DataObject, process: Process, writer: Statement | None = None
    ) -> None:
        statement = self.statement(data)
        try:
            self.run(process, statement)
        except LockTimeoutError:
            self.history.append("  (lock)")
            return
        if writer is not None and writer.meets(statement):
            assert not statement.exclusive, "nobody else was to write"
            assert not (statement.changes and writer.changes), "the two should have waited"
        assert statement.effect is not None
        statement.effect()

    def open_dead(self) -> bool:
        found = {t.txn_id for t in self.store.show_txns() if t.state is TxnState.OPEN}
        return bool(found & self.dead)

    # -- background --------------------------------------------------------------------------------

    def compaction(self, data: st.DataObject) -> Statement:
        clause, _ = self.clause(data)
        kind = data.draw(st.sampled_from(["minor", "major", "rebalance"]))
        return Statement(f"ALTER TABLE t {clause} COMPACT '{kind}' AND WAIT")

    @rule(data=st.data(), at=st.integers(0, 1))
    def compact(self, data: st.DataObject, at: int) -> None:
        if not self.partitioned or self.store.partitions(NAME):
            self.compact_in(data, self.processes[at])

    def compact_in(self, data: st.DataObject, process: Process) -> None:
        statement = self.compaction(data)
        queued = [
            c
            for c in self.store.show_compactions()
            if c.state in (CompactionState.INITIATED, CompactionState.WORKING)
        ]
        try:
            self.run(process, statement)
        except CompactionRefusedError:
            assert queued

    @rule(at=st.integers(0, 1), vacuums=st.booleans())
    def clean(self, at: int, vacuums: bool) -> None:
        self.clean_in(self.processes[at], vacuums=vacuums)

    def clean_in(self, process: Process, *, vacuums: bool = False) -> None:
        self.history.append("VACUUM" if vacuums else "clean")
        self.pasts.clear()
        if not vacuums:
            process.session.run_cleaner()
            return
        # While somebody else is in a transaction that keeps readers out.
        with contextlib.suppress(LockTimeoutError):
            process.session.execute("VACUUM t")

    @rule(periods=st.integers(1, 7), at=st.integers(0, 1))
    def pass_time(self, periods: int, at: int) -> None:
        """Living transactions have their heartbeat, dead ones have not."""
        self.history.append(f"{periods} half time-outs pass")
        for _ in range(periods):
            self.now_ms += POLICY.timeout_ms // 2
            for txn in self.store.show_txns():
                if txn.state is TxnState.OPEN and txn.txn_id not in self.dead:
                    self.store.heartbeat(txn.txn_id)
        self.processes[at].session.run_housekeeper()
        assert periods < 3 or not self.open_dead()

    # -- readers -----------------------------------------------------------------------------------

    @rule()
    def open_reader(self) -> None:
        self.open_in()

    def open_in(self) -> None:
        self.history.append("open reader")
        txn = OpenTxn(self.store, user="u", host="h", type=TxnType.READ_ONLY, policy=POLICY)
        try:
            txn.lock(lock_components([Access.of(NAME, Operation.SELECT)]))
        except LockTimeoutError:
            txn.abort()
            return
        write_ids = txn.snapshot([NAME])[NAME]
        snapshot = self.snapshot(write_ids)
        states = chosen(snapshot, txn.valid_txns)
        self.readers.append(Reader(txn, snapshot, states, self.expected()))

    @precondition(lambda self: self.readers)
    @rule(data=st.data())
    def close_reader(self, data: st.DataObject) -> None:
        self.history.append("close reader")
        reader = self.readers.pop(data.draw(st.integers(0, len(self.readers) - 1)))
        self.read(reader)
        reader.txn.close()

    def forget_readers(self) -> None:
        for reader in self.readers:
            self.read(reader)
        self.readers.clear()

    def read(self, reader: Reader) -> None:
        assert rows_of(reader.snapshot, reader.states) == reader.expected

    # -- what must hold ----------------------------------------------------------------------------

    def snapshot(self, write_ids: ValidWriteIdList) -> TableSnapshot:
        table = self.store.table(NAME)
        return TableSnapshot(table, tuple(table_directories(self.store, table)), write_ids)

    def expected(self) -> Counter[Any]:
        return Counter(map(tuple, self.rows))

    @invariant()
    def same_rows(self) -> None:
        if self.store.find_table(NAME) is not None:
            self.look()

    def look(self) -> None:
        expected = self.expected()
        txns = self.store.valid_txns()
        write_ids = self.store.valid_write_ids([NAME], txns)[NAME]
        snapshot = self.snapshot(write_ids)
        assert rows_of(snapshot, chosen(snapshot, txns)) == expected
        # Unless it has to wait for somebody.
        with contextlib.suppress(LockTimeoutError):
            assert self.processes[1].session.execute("CHECK TABLE t").fetchall() == []
        for reader in self.readers:
            self.read(reader)
        self.pasts = [*self.pasts[-3:], (str(write_ids), str(txns), expected)]
        for past in self.pasts:
            self.look_back(*past)

    def look_back(self, write_ids: str, txns: str, expected: Counter[Any]) -> None:
        """A snapshot shows what it did, or is told that a compaction made it too old."""
        partitioned_by = "p string" if self.partitioned else ""
        snapshot = directory_snapshot(
            f"{self.directory}/t",
            "k int, v int",
            partitioned_by,
            write_ids,
            LocalStorage(),
            row_id=not self.insert_only,
        )
        try:
            states = chosen(snapshot, directory_txns(txns))
        except StorageError as error:
            if error.code != NOT_ENOUGH_HISTORY:
                raise
            return
        assert rows_of(snapshot, states) == expected


def rows_of(snapshot: TableSnapshot, states: Sequence[AcidState]) -> Counter[Any]:
    """The rows that a snapshot shows of what was chosen by it."""
    if snapshot.table.kind is TableKind.FULL_ACID:
        found = read_contents(snapshot, states)
        return Counter(row for held in found for row in visible_rows(snapshot.table, held))
    rows: Counter[Any] = Counter()
    for place, state in zip(snapshot.partitions, states, strict=True):
        behind = place.name.values if place.name else ()
        for directory in (*([state.base] if state.base else []), *state.deltas):
            for file in directory.files:
                table = pa_orc.ORCFile(f"{place.location}/{file.path}").read()
                rows.update((*row.values(), *behind) for row in table.to_pylist())
    return rows


TestOverlap = OverlapMachine.TestCase
TestOverlap.settings = settings(
    max_examples=500 if SOAK else 8,
    stateful_step_count=40 if SOAK else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

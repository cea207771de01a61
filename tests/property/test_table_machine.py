"""Random tables of random types under random statements, dying writers, passing time, old readers.

Two sessions on one SQLite store, beside a model in plain Python. ACIDSQL_SOAK_STEPS=<n> runs n
steps per example, and ACIDSQL_SOAK_EXAMPLES of them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark import deletes, job, places
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import (
    AcidSqlError,
    CardinalityError,
    CommitStateUnknownError,
    CompactionRefusedError,
    LockTimeoutError,
    StorageError,
)
from acidsql.layout.acid_state import NOT_ENOUGH_HISTORY
from acidsql.layout.bucketing import is_bucketable
from acidsql.model.names import TableName
from acidsql.model.types import parse_type
from acidsql.orc import set_columns
from acidsql.session.session import Session
from acidsql.txn.entities import CompactionState, TxnState
from acidsql.txn.policy import TxnPolicy
from tests.property.hooked_store import HookedStore
from tests.property.table_model import Column, Condition, Row, compared_rows, conditions
from tests.property.typed_values import BY_NAME, PARTITION_KINDS, STYLES, Value, kinds

SOAK_STEPS = int(os.environ.get("ACIDSQL_SOAK_STEPS", "0"))
STEPS = SOAK_STEPS or 6
EXAMPLES = int(os.environ.get("ACIDSQL_SOAK_EXAMPLES", "4")) if SOAK_STEPS else 2
ROWS_MAX = 120
NAME = TableName("default", "t")
NAMES = ["v", "bucket", "rowid", "row", "operation", "a b", "ä.b", "select", "x-y", "1a", "p", "q"]
POLICY = TxnPolicy(timeout_s=1000, lock_retries=0, lock_sleep_s=0.01)
KINDS = [
    "full-acid",
    "full-acid",
    "full-acid",
    "converted",
    "insert-only orc",
    "insert-only parquet",
]
DEATHS = ["add_partitions", "committing", "commit_txn", "commit_txn"]


@dataclass
class Reader:
    """A result or frame that is not read yet, and what it has to yield."""

    owner: int
    source: Any
    columns: list[Column]
    expected: Counter[str]
    frame: bool
    loose: bool = False
    """Its transaction has ended, so the cleaner may take its files."""
    perhaps_gone: bool = False


@dataclass
class Past:
    """A snapshot in Hive's text forms, and the rows it shows."""

    write_ids: str
    txns: str
    expected: Counter[str]


class TableMachine(RuleBasedStateMachine):
    """One table and its model."""

    spark: Any

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.now_ms = 1_000_000_000
        self.store = self.open_store(SqliteStore)
        self.sessions = [self.open_session(self.open_store(SqliteStore)) for _ in range(2)]
        self.readers: list[Reader] = []
        self.pasts: list[Past] = []
        self.dead: set[int] = set()
        self.dead_write_ids: set[int] = set()
        self.columns: list[Column] = []
        self.rows: list[Row] = []
        self.row_ids: dict[str, str] | None = None
        self.steps = 0
        self.changed = False
        self.log: list[str] = []

    def open_store(self, kind: type[SqliteStore]) -> Any:
        return kind(
            f"{self.directory}/.acidsql.db",
            warehouse=self.directory,
            policy=POLICY,
            clock_ms=lambda: self.now_ms,
        )

    def open_session(self, store: Any) -> Session:
        storage = LocalStorage()
        return Session(
            store=store,
            engine=SparkEngine(storage, self.spark, {}),
            storage=storage,
            policy=POLICY,
            warehouse=self.directory,
            user="u",
            host="h",
        )

    def teardown(self) -> None:
        for session in self.sessions:
            session.close()
        self.store.close()
        shutil.rmtree(self.directory)

    # -- the table ---------------------------------------------------------------------------------

    @initialize(data=st.data())
    def create(self, data: st.DataObject) -> None:
        self.kind = data.draw(st.sampled_from(KINDS), label="kind")
        count = data.draw(st.integers(1, 4))
        names = data.draw(
            st.lists(st.sampled_from(NAMES), min_size=count, max_size=count, unique=True)
        )
        self.columns = [Column("k", replace(BY_NAME["int"], values=st.integers(0, 9)))]
        self.columns += [Column(name, data.draw(kinds)) for name in names]
        clauses = []
        for name in ["p1", "p2"][: data.draw(st.sampled_from([0, 0, 1, 2]))]:
            said = data.draw(st.sampled_from(sorted(PARTITION_KINDS)))
            some = replace(BY_NAME[said], values=st.sampled_from(PARTITION_KINDS[said]))
            self.columns.append(Column(name, some, partition=True))
        if self.keys:
            said = ", ".join(f"{c.quoted} {c.kind.text}" for c in self.keys)
            clauses.append(f"PARTITIONED BY ({said})")
        version = data.draw(st.sampled_from([1, 2]))
        self.buckets: list[str] = []
        if data.draw(st.booleans()) and self.kind != "converted":
            possible = [
                c.name for c in self.plain if is_bucketable(parse_type(c.kind.text), version)
            ]
            self.buckets = data.draw(
                st.lists(st.sampled_from(possible), min_size=1, max_size=2, unique=True)
            )
            said = ", ".join(f"`{name}`" for name in self.buckets)
            clauses.append(f"CLUSTERED BY ({said}) INTO {data.draw(st.integers(1, 4))} BUCKETS")
        self.file_format = "PARQUET" if self.kind.endswith("parquet") else "ORC"
        clauses.append(f"STORED AS {self.file_format}")
        properties = {"bucketing_version": str(version)}
        if self.kind != "converted":
            properties["transactional"] = "true"
        if self.kind.startswith("insert-only"):
            properties["transactional_properties"] = "insert_only"
        if data.draw(st.booleans()):
            properties["acidsql.hive4.names"] = "true"
        said = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        clauses.append(f"TBLPROPERTIES ({said})")
        listed = ", ".join(f"{c.quoted} {c.kind.text}" for c in self.plain)
        self.execute(f"CREATE TABLE t ({listed}) {' '.join(clauses)}")
        if self.kind == "converted":
            for _ in range(data.draw(st.integers(0, 2))):
                self.insert_rows(self.some_rows(data), "typed", data.draw(st.booleans()))
            self.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
        self.insert_rows(self.some_rows(data, least=4, most=12), "typed", computed=True)

    @property
    def plain(self) -> list[Column]:
        return [c for c in self.columns if not c.partition]

    @property
    def keys(self) -> list[Column]:
        return [c for c in self.columns if c.partition]

    @property
    def full_acid(self) -> bool:
        return not self.kind.startswith("insert-only")

    # -- statements --------------------------------------------------------------------------------

    def execute(self, sql: str, arguments: list[Value] | None = None, at: int = 0) -> Any:
        self.log.append(f"{at}: {sql} {arguments or ''}")
        self.changed = True
        return self.sessions[at].execute(sql, arguments or None)

    def change(
        self, data: st.DataObject, sql: str, arguments: list[Value], *, exclusive: bool
    ) -> Any:
        """Run it in one of the sessions; None if somebody else has the lock, or it died."""
        if data.draw(st.sampled_from([False] * 7 + [True]), label="dies"):
            return self.die(data, sql, arguments)
        at = data.draw(st.integers(0, 1), label="session")
        if exclusive:
            self.loosen(at)
        try:
            return self.execute(sql, arguments, at)
        except LockTimeoutError:
            self.log.append("  (lock)")
            others = any(not r.loose and (r.owner != at or not exclusive) for r in self.readers)
            assert self.open_dead() or others, "nobody holds a lock"
            return None

    def die(self, data: st.DataObject, sql: str, arguments: list[Value]) -> Any:
        """A process that runs the statement up to somewhere before its commit is seen.

        If it never gets there, for there is no new partition, then it lives, and has a result.
        """
        store = self.open_store(HookedStore)
        verb = data.draw(st.sampled_from(DEATHS), label="dies at")
        store.die_at(verb)
        before = {t.txn_id for t in self.store.show_txns()}
        session = self.open_session(store)
        self.log.append(f"dies at {verb}: {sql} {arguments}")
        self.changed = True
        try:
            return session.execute(sql, arguments or None)
        except (StorageError, CommitStateUnknownError):
            self.dead |= {t.txn_id for t in self.store.show_txns()} - before
        except LockTimeoutError:
            pass
        return None

    def open_dead(self) -> bool:
        found = {t.txn_id for t in self.store.show_txns() if t.state is TxnState.OPEN}
        return bool(found & self.dead)

    def loosen(self, owner: int) -> None:
        """An exclusive lock ends the transactions of its own session's readers."""
        for reader in self.readers:
            reader.loose |= reader.owner == owner

    def some_rows(self, data: st.DataObject, least: int = 1, most: int = 5) -> list[Row]:
        row = st.tuples(*(c.values() for c in self.columns)).map(list)
        return data.draw(st.lists(row, min_size=least, max_size=most), label="rows")

    def values_sql(self, rows: list[Row], style: str) -> tuple[str, list[Value]]:
        arguments: list[Value] = []
        lines = [
            ", ".join(
                c.kind.written(v, style, arguments) for c, v in zip(self.columns, row, strict=True)
            )
            for row in rows
        ]
        return "VALUES " + ", ".join(f"({line})" for line in lines), arguments

    @property
    def listed(self) -> str:
        return ", ".join(c.quoted for c in self.columns)

    def insert_rows(self, rows: list[Row], style: str, computed: bool) -> None:
        values, arguments = self.values_sql(rows, style)
        star = "SELECT * FROM " if computed else ""
        result = self.execute(f"INSERT INTO t ({self.listed}) {star}{values}", arguments)
        assert result.rows_inserted == len(rows)
        self.rows += rows

    @rule(data=st.data(), style=st.sampled_from(STYLES))
    def insert(self, data: st.DataObject, style: str) -> None:
        rows = self.some_rows(data)
        values, arguments = self.values_sql(rows, style)
        result = self.change(
            data, f"INSERT INTO t ({self.listed}) {values}", arguments, exclusive=False
        )
        if result is not None:
            assert result.rows_inserted == len(rows)
            self.rows += rows

    @rule(data=st.data())
    def insert_select(self, data: st.DataObject) -> None:
        where = data.draw(conditions(self.columns, "t."))
        found = [list(row) for row in self.rows if where.of(row)]
        if len(self.rows) + len(found) > ROWS_MAX:
            return
        sql = f"INSERT INTO t ({self.listed}) SELECT * FROM t WHERE {where.sql}"
        if found and (result := self.change(data, sql, [*where.arguments], exclusive=False)):
            assert result.rows_inserted == len(found)
            self.rows += found

    @rule(data=st.data(), style=st.sampled_from(STYLES), computed=st.booleans())
    def overwrite(self, data: st.DataObject, style: str, computed: bool) -> None:
        rows = self.some_rows(data)
        values, arguments = self.values_sql(rows, "typed" if computed else style)
        star = "SELECT * FROM " if computed else ""
        sql = f"INSERT OVERWRITE TABLE t ({self.listed}) {star}{values}"
        if self.change(data, sql, arguments, exclusive=True) is not None:
            self.replace_rows(rows)

    @rule(data=st.data())
    def overwrite_with_itself(self, data: st.DataObject) -> None:
        where = data.draw(conditions(self.columns, "t."))
        found = [row for row in self.rows if where.of(row)]
        sql = f"INSERT OVERWRITE TABLE t SELECT * FROM t WHERE {where.sql}"
        if self.keys and not found:
            return
        if self.change(data, sql, [*where.arguments], exclusive=True) is not None:
            self.replace_rows(found)

    def replace_rows(self, rows: list[Row]) -> None:
        reached = {repr(self.place(row)) for row in rows}
        kept = [r for r in self.rows if self.keys and repr(self.place(r)) not in reached]
        self.rows = [*kept, *rows]

    def place(self, row: Row) -> list[Value]:
        return row[len(self.columns) - len(self.keys) :]

    def partition(self, data: st.DataObject) -> tuple[str, list[Value]] | None:
        """The clause for a partition that rows came to, with its values."""
        if not self.keys:
            return "", []
        if not self.rows:
            return None
        place = self.place(data.draw(st.sampled_from(self.rows)))
        pairs = [
            f"{c.quoted} = {'NULL' if v is None else (c.kind.bare or c.kind.literal)(v)}"
            for c, v in zip(self.keys, place, strict=True)
        ]
        return f"PARTITION ({', '.join(pairs)})", place

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        found = self.partition(data)
        if found is None:
            return
        if self.change(data, f"TRUNCATE TABLE t {found[0]}", [], exclusive=True) is not None:
            gone = repr(found[1])
            self.rows = [r for r in self.rows if repr(self.place(r)) != gone]

    @precondition(lambda self: self.full_acid)
    @rule(data=st.data(), style=st.sampled_from(STYLES))
    def update(self, data: st.DataObject, style: str) -> None:
        where = data.draw(conditions(self.columns))
        at = self.settable(data)
        if at is None:
            return
        value = data.draw(self.columns[at].values(), label="value")
        arguments: list[Value] = []
        written = self.columns[at].kind.written(value, style, arguments)
        found = [row for row in self.rows if where.of(row)]
        sql = f"UPDATE t SET {self.columns[at].quoted} = {written} WHERE {where.sql}"
        result = found and self.change(data, sql, [*arguments, *where.arguments], exclusive=False)
        if result:
            assert result.rows_updated == len(found)
            for row in found:
                row[at] = value

    def settable(self, data: st.DataObject) -> int | None:
        """The place of a column that may be set."""
        some = [at for at, c in enumerate(self.plain) if c.name not in self.buckets]
        return data.draw(st.sampled_from(some), label="column") if some else None

    @precondition(lambda self: self.full_acid)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        where = data.draw(conditions(self.columns, "t."))
        found = [row for row in self.rows if where.of(row)]
        sql = f"DELETE FROM t WHERE {where.sql}"
        if found and (result := self.change(data, sql, [*where.arguments], exclusive=False)):
            assert result.rows_deleted == len(found)
            self.rows = [row for row in self.rows if not where.of(row)]

    @precondition(lambda self: self.full_acid)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        given = self.some_rows(data)
        values, _ = self.values_sql(given, "typed")
        extra = data.draw(st.none() | conditions(self.columns, "t."), label="extra")
        legs: list[str] = []
        acts: list[tuple[Condition | None, int | None]] = []
        at = self.settable(data)
        order = data.draw(st.permutations(["update", "delete"]))[: data.draw(st.integers(0, 2))]
        for number, leg in enumerate(order):
            if leg == "update" and at is None:
                continue
            last = number == len(order) - 1
            when = None if last else data.draw(conditions(self.columns, "t."), label="when")
            said = f" AND {when.sql}" if when else ""
            what = (
                "DELETE"
                if leg == "delete"
                else f"UPDATE SET {self.columns[at or 0].quoted} = q.{self.columns[at or 0].quoted}"
            )
            legs.append(f"WHEN MATCHED{said} THEN {what}")
            acts.append((when, at if leg == "update" else None))
        inserts = not legs or data.draw(st.booleans())
        if inserts:
            taken = ", ".join(f"q.{c.quoted}" for c in self.columns)
            legs.append(f"WHEN NOT MATCHED THEN INSERT ({self.listed}) VALUES ({taken})")
        on = "t.k = q.k" + (f" AND {extra.sql}" if extra else "")
        sql = (
            f"MERGE INTO t USING (SELECT * FROM {values} AS s({self.listed})) AS q ON {on} "
            + " ".join(legs)
        )
        arguments = [
            *(extra.arguments if extra else ()),
            *(a for w, _ in acts if w for a in w.arguments),
        ]
        plan = self.merged(given, extra, acts, inserts)
        try:
            result = self.change(data, sql, arguments, exclusive=False)
        except CardinalityError:
            assert plan is None
            return
        if result:
            assert plan is not None
            rows, counts = plan
            assert (result.rows_inserted, result.rows_updated, result.rows_deleted) == counts
            self.rows = rows

    def merged(
        self,
        given: list[Row],
        extra: Condition | None,
        acts: list[tuple[Condition | None, int | None]],
        inserts: bool,
    ) -> tuple[list[Row], tuple[int, int, int]] | None:
        """The rows after a MERGE and its counts; None if it is not clear what to write."""

        def on(target: Row, source: Row) -> bool:
            same = target[0] is not None and target[0] == source[0]
            return same and (extra is None or bool(extra.of(target)))

        kept, updated, deleted = [], 0, 0
        for target in self.rows:
            done = []
            for source in given:
                if on(target, source):
                    act = next(((c, a) for c, a in acts if c is None or c.of(target)), None)
                    done += [(act[1], source)] if act else []
            if len(done) > 1 and any(at is not None for at, _ in done):
                return None
            if not done:
                kept.append(target)
            elif done[0][0] is None:
                deleted += 1
            else:
                at, source = done[0]
                kept.append([*target[:at], source[at], *target[at + 1 :]])
                updated += 1
        new = [s for s in given if inserts and not any(on(t, s) for t in self.rows)]
        return kept + new, (len(new), updated, deleted)

    # -- columns -----------------------------------------------------------------------------------

    def define(self, data: st.DataObject, sql: str) -> bool:
        at = data.draw(st.integers(0, 1), label="session")
        self.loosen(at)
        try:
            self.execute(sql, at=at)
        except LockTimeoutError:
            self.log.append("  (lock)")
            assert self.open_dead() or any(not r.loose for r in self.readers)
            return False
        self.pasts.clear()
        return True

    def new_name(self, data: st.DataObject) -> str:
        taken = {c.name for c in self.columns}
        return data.draw(st.sampled_from([n for n in NAMES if n not in taken]), label="name")

    @precondition(lambda self: len(self.plain) < 6)
    @rule(data=st.data())
    def add_column(self, data: st.DataObject) -> None:
        new = Column(self.new_name(data), data.draw(kinds))
        if self.define(data, f"ALTER TABLE t ADD COLUMN {new.quoted} {new.kind.text}"):
            at = len(self.plain)
            self.columns.insert(at, new)
            for row in self.rows:
                row.insert(at, None)

    @precondition(lambda self: self.full_acid)
    @rule(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        old = data.draw(
            st.sampled_from([c for c in self.plain[1:] if c.name not in self.buckets] or [None])
        )
        if old is None:
            return
        name = self.new_name(data)
        if self.define(data, f"ALTER TABLE t RENAME COLUMN {old.quoted} TO `{name}`"):
            at = self.columns.index(old)
            self.columns[at] = replace(old, name=name)

    @rule(data=st.data())
    def widen_column(self, data: st.DataObject) -> None:
        some = [c for c in self.plain[1:] if c.name not in self.buckets and c.kind.wider]
        if not some:
            return
        old = data.draw(st.sampled_from(some))
        kind = BY_NAME[data.draw(st.sampled_from(old.kind.wider))]
        sql = f"ALTER TABLE t CHANGE COLUMN {old.quoted} {old.quoted} {kind.text}"
        if self.define(data, sql):
            at = self.columns.index(old)
            self.columns[at] = replace(old, kind=kind)

    # -- background --------------------------------------------------------------------------------

    @rule(data=st.data(), kind=st.sampled_from(["minor", "major", "rebalance"]))
    def compact(self, data: st.DataObject, kind: str) -> None:
        found = self.partition(data)
        if found is None:
            return
        sql = f"ALTER TABLE t {found[0]} COMPACT '{kind}' AND WAIT"
        queued = (CompactionState.INITIATED, CompactionState.WORKING)
        busy = any(c.state in queued for c in self.store.show_compactions())
        try:
            if data.draw(st.sampled_from([False] * 5 + [True]), label="dies"):
                store = self.open_store(HookedStore)
                verb = data.draw(st.sampled_from(["mark_compacted", "commit_txn"]))
                store.die_at(verb)
                before = {t.txn_id for t in self.store.show_txns()}
                self.log.append(f"dies at {verb}: {sql}")
                with contextlib.suppress(StorageError, CommitStateUnknownError):
                    self.open_session(store).execute(sql)
                # Where the worker died its error is logged, not raised: see what is left open.
                self.dead |= {t.txn_id for t in self.store.show_txns()} - before
                self.changed = True
            else:
                self.execute(sql, at=data.draw(st.integers(0, 1)))
        except CompactionRefusedError:
            assert busy

    @rule(data=st.data(), vacuums=st.booleans())
    def clean(self, data: st.DataObject, vacuums: bool) -> None:
        self.log.append("VACUUM" if vacuums else "clean")
        self.changed = True
        for reader in self.readers:
            reader.perhaps_gone |= reader.loose
        self.pasts.clear()
        session = self.sessions[data.draw(st.integers(0, 1))]
        if not vacuums:
            session.run_cleaner()
            return
        try:
            session.execute("VACUUM t")
        except LockTimeoutError:
            assert self.open_dead()

    @rule(how=st.sampled_from(["little", "much", "asleep"]), data=st.data())
    def pass_time(self, how: str, data: st.DataObject) -> None:
        """Living transactions have their heartbeat, dead ones have not; or all of them sleep."""
        self.log.append(f"time passes: {how}")
        self.changed = True
        if how == "asleep":
            self.now_ms += 3 * POLICY.timeout_ms
            for reader in self.readers:
                reader.loose = True
        else:
            for _ in range(1 if how == "little" else 6):
                self.now_ms += POLICY.timeout_ms // 2
                for txn in self.store.show_txns():
                    if txn.state is TxnState.OPEN and txn.txn_id not in self.dead:
                        self.store.heartbeat(txn.txn_id)
        self.sessions[data.draw(st.integers(0, 1))].run_housekeeper()
        if how != "little":
            assert not self.open_dead()

    # -- readers -----------------------------------------------------------------------------------

    @rule(data=st.data(), frame=st.booleans(), owner=st.integers(0, 1))
    def open_reader(self, data: st.DataObject, frame: bool, owner: int) -> None:
        self.log.append(f"{owner}: open {'frame' if frame else 'result'}")
        session = self.sessions[owner]
        where = Condition("true", (), lambda row: True)
        try:
            if frame:
                source = session.table("t")
            else:
                where = data.draw(conditions(self.columns))
                source = session.execute(
                    f"SELECT * FROM t WHERE {where.sql}", [*where.arguments] or None
                )
        except LockTimeoutError:
            assert self.open_dead()
            return
        found = [row for row in self.rows if where.of(row)]
        columns = [*self.columns]
        expected = compared_rows(columns, found)
        self.readers.append(Reader(owner, source, columns, expected, frame))

    @precondition(lambda self: self.readers)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        reader = data.draw(st.sampled_from(self.readers))
        if not reader.frame:  # whose snapshot is kept until its session is closed
            self.readers = [r for r in self.readers if r is not reader]
        self.log.append(f"read {reader.owner} {reader.frame} {reader.loose}")
        self.read_now(reader)

    def read_now(self, reader: Reader) -> None:
        try:
            found = reader.source.collect() if reader.frame else reader.source.fetchall()
        except Exception as error:
            if not reader.perhaps_gone and not (
                reader.loose and isinstance(error, AcidSqlError) and "txn" in str(error)
            ):
                raise
            return
        assert compared_rows(reader.columns, found) == reader.expected

    @rule(at=st.integers(0, 1))
    def reopen(self, at: int) -> None:
        """A process reads what it had open, ends, and another one takes its place."""
        self.log.append(f"reopen {at}")
        mine = [r for r in self.readers if r.owner == at]
        self.readers = [r for r in self.readers if r.owner != at]
        for reader in mine:
            self.read_now(reader)
        self.sessions[at].close()
        self.sessions[at] = self.open_session(self.open_store(SqliteStore))

    # -- what must hold ----------------------------------------------------------------------------

    @invariant()
    def same_rows(self) -> None:
        if not self.columns or not self.changed:
            return
        self.changed = False
        self.steps += 1
        self.check_now()

    def check_now(self) -> None:
        expected = compared_rows(self.columns, self.rows)
        session = self.sessions[self.steps % 2]
        row_id = "row__id, " if self.full_acid else ""
        try:
            found = session.execute(f"SELECT {row_id}* FROM t").fetchall()
        except LockTimeoutError:
            assert self.open_dead()
            found = None
        if found is not None:
            if self.full_acid:
                ids = Counter(repr((row[0], self.place(list(row[1:])))) for row in found)
                assert not ids or max(ids.values()) == 1, "row ids are not unique"
                found = [row[1:] for row in found]
            seen = compared_rows(self.columns, found)
            assert seen == expected, (seen - expected, expected - seen)
            problems = session.execute("CHECK TABLE t").fetchall()
            assert problems == [], problems
        if self.file_format == "ORC" and self.steps % 3 == 0:
            self.pasts.append(self.now(expected))
            del self.pasts[:-4]
            for past in {id(p): p for p in (self.pasts[0], self.pasts[-1])}.values():
                self.look_back(past)

    def look_back(self, past: Past) -> None:
        """Since a compaction a snapshot may be too old, which is said."""
        try:
            found = self.read_acid(past)
        except StorageError as error:
            if error.code != NOT_ENOUGH_HISTORY:
                raise
            return
        assert compared_rows(self.columns, found) == past.expected

    def now(self, expected: Counter[str]) -> Past:
        txns = self.store.valid_txns()
        write_ids = self.store.valid_write_ids([NAME], txns)[NAME]
        return Past(str(write_ids), str(txns), expected)

    def read_acid(self, past: Past) -> list[Any]:
        def said(columns: list[Column]) -> str:
            return ", ".join(f"{c.quoted} {c.kind.text}" for c in columns)

        frame = self.sessions[0].read_acid(
            f"{self.directory}/t",
            schema=said(self.plain),
            partitioned_by=said(self.keys),
            valid_write_ids=past.write_ids,
            valid_txns=past.txns,
        )
        return frame.collect()


PATHS: dict[str, dict[tuple[Any, str], int]] = {
    "driver": {},
    "distributed": {
        (job, "DRIVER_BYTES_MAX"): 0,
        (job, "DRIVER_ROWS_MIN"): 0,
        (deletes, "BROADCAST_BYTES_MAX"): 0,
        (places, "MAP_FILES_MAX"): 0,
        (set_columns, "SMALL_BYTES"): 0,
    },
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", PATHS)
def test_rows_are_those_of_the_model(
    path: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for (module, name), value in PATHS[path].items():
        monkeypatch.setattr(module, name, value)

    class Machine(TableMachine):
        pass

    Machine.spark = spark
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            phases=(Phase.explicit, Phase.generate),
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

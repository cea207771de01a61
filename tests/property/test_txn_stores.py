"""Random verbs on every store: the answers and the errors are always the same."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from acidsql.backends.memory import MemoryStore
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.errors import AcidSqlError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Partition
from acidsql.txn.entities import (
    CompactionOptions,
    CompactionType,
    LockComponent,
    LockType,
    Opened,
    Reached,
    TxnState,
    TxnType,
    WriteOperation,
    Written,
)
from acidsql.txn.locks import blocks
from acidsql.txn.policy import TxnPolicy

TABLES = [TableName("default", "a"), TableName("default", "b")]
POLICY = TxnPolicy(timeout_s=10, max_open_txns=6, max_open_batch=3, worker_timeout_s=30)

ids = st.integers(0, 4)
tables = st.sampled_from(TABLES)
partitions = st.sampled_from([None, "p=1", "p=2"])
operations = st.sampled_from(WriteOperation)
changes = st.sampled_from([WriteOperation.INSERT, WriteOperation.UPDATE, WriteOperation.DELETE])
components = st.builds(
    LockComponent,
    st.sampled_from(list(LockType)),
    st.just("default"),
    st.sampled_from([None, "a", "b"]),
    partitions,
    st.sampled_from([o for o in WriteOperation if o is not WriteOperation.COMPACT]),
    st.booleans(),
    st.booleans(),
)


def answer(store, verb, *arguments):
    """What the verb gives back, or the error as a caller meets it."""
    try:
        found = getattr(store, verb)(*arguments)
    except AcidSqlError as error:
        return type(error), str(error), error.code
    # Of a lock that it had to look at twice, a store does not know that nobody came in between.
    return replace(found, in_one_step=False) if isinstance(found, Opened) else found


class Stores(RuleBasedStateMachine):
    """A store against the model. Ids are counted back from the newest one."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.model = MemoryStore(lambda: self.now_ms, POLICY, "/w")
        self.store = self.make_store()
        self.txns = self.locks = self.compactions = 1
        self.snapshots = [self.model.valid_txns()]
        self.written = {}
        self.ended = {}

    def make_store(self):
        raise NotImplementedError

    def teardown(self) -> None:
        self.store.close()

    def both(self, verb, *arguments):
        expected = answer(self.model, verb, *arguments)
        assert answer(self.store, verb, *arguments) == expected
        return expected

    def txn(self, back):
        return self.txns - back

    @rule(type=st.sampled_from([*TxnType, TxnType.DEFAULT, TxnType.DEFAULT]))
    def open_txn(self, type):
        txn_id = self.both("open_txn", "ann", "host1", type)
        self.txns = txn_id if isinstance(txn_id, int) else self.txns

    @rule(count=st.integers(0, 4))
    def open_txns(self, count):
        opened = self.both("open_txns", count, "bob", "host2", TxnType.DEFAULT)
        self.txns = opened[-1] if isinstance(opened, list) else self.txns

    @rule(
        type=st.sampled_from(TxnType),
        written=st.lists(tables, max_size=2, unique=True),
        request=st.lists(components, max_size=3),
        heir_of=st.none() | ids,
    )
    def open_locked(self, type, written, request, heir_of):
        asked = "ann", "host1", type, written, request, ""
        heir_of = None if heir_of is None else self.txn(heir_of)
        is_open = heir_of in self.model.open_txn_ids()
        opened = self.both("open_locked", *asked, heir_of)
        if isinstance(opened, Opened):
            if is_open:
                self.ended[heir_of] = "aborted"
            self.txns = opened.txn_id
            for table, write_id in opened.write_ids.items():
                self.written[table, write_id] = opened.txn_id
            self._asked(opened.response)

    @rule(back=ids, length=st.integers(-1, 4))
    def touch_range(self, back, length):
        self.both("heartbeat_txn_range", self.txn(back), self.txn(back) + length)

    @rule(backs=st.lists(ids, max_size=3))
    def abort_some(self, backs):
        for txn_id in self.both("abort_txns", [self.txn(back) for back in backs], "all"):
            self.ended[txn_id] = "aborted"

    @rule(back=ids, verb=st.sampled_from(["heartbeat", "latest_txn_in_conflict"]))
    def touch(self, back, verb):
        self.both(verb, self.txn(back))

    @rule(
        back=ids,
        reached=st.lists(
            st.builds(
                Reached,
                st.integers(1, 4),
                tables,
                st.lists(st.sampled_from(["p=1", "p=2"]), max_size=3),
                changes | operations,
            ),
            max_size=2,
        ),
        written=st.lists(st.builds(Written, st.integers(1, 4), tables, partitions), max_size=3),
    )
    def commit(self, back, reached=(), written=()):
        if self.both("commit_txn", self.txn(back), reached, written) is None:
            self.ended[self.txn(back)] = "committed"

    @rule(back=ids)
    def abort(self, back):
        if self.both("abort_txn", self.txn(back), f"reason {back}") is None:
            self.ended[self.txn(back)] = "aborted"

    @rule(back=ids, table=tables, partition=partitions, operation=changes)
    def write(self, back, table, partition, operation):
        txn = self.txn(back)
        self.allocate(back, table)
        lock = LockComponent(
            LockType.SHARED_WRITE, table.database, table.table, partition, operation
        )
        self._asked(self.both("lock", txn, [lock], "ann", "host1"))

    @rule(back=ids, table=tables, operation=changes)
    def write_and_commit(self, back, table, operation):
        self.write(back, table, None, operation)
        own = [w for (t, w), txn in self.written.items() if (t, txn) == (table, self.txn(back))]
        self.commit(back, (), [Written(w, table, None) for w in own])

    @rule(back=ids, table=tables)
    def allocate(self, back, table):
        write_id = self.both("allocate_write_id", self.txn(back), table)
        if isinstance(write_id, int):
            self.written[table, write_id] = self.txn(back)

    @rule(
        back=ids,
        write_id=st.integers(1, 4),
        table=tables,
        reached=st.lists(st.sampled_from(["p=1", "p=2"]), max_size=3),
        operation=changes | operations,
    )
    def reach(self, back, write_id, table, reached, operation):
        self.both("add_dynamic_partitions", self.txn(back), write_id, table, reached, operation)

    @rule(back=ids, request=st.lists(components, max_size=3))
    def lock(self, back, request):
        self._asked(self.both("lock", self.txn(back), request, "ann", "host1", "q"))

    def _asked(self, response):
        self.locks = getattr(response, "lock_id", self.locks)

    @rule(back=st.integers(0, 4), verb=st.sampled_from(["check_lock", "unlock"]))
    def look(self, back, verb):
        self.both(verb, self.locks - back)

    @rule(back=st.none() | ids)
    def snapshot(self, back):
        txns = self.both("valid_txns", None if back is None else self.txn(back))
        self.snapshots = [*self.snapshots[-4:], txns]

    @rule(
        table=tables,
        partition=partitions,
        type=st.sampled_from(CompactionType),
        options=st.builds(
            CompactionOptions,
            st.sampled_from([None, "fast"]),
            st.sampled_from([None, 3]),
            st.sampled_from([None, "ORDER BY `a`"]),
            st.sampled_from([{}, {"orc.compress": "zlib", "ü": "1:2"}]),
        ),
    )
    def compact(self, table, partition, type, options):
        queued = self.both("compact", table, partition, type, "ann", "host1", options)
        self.compactions = queued if isinstance(queued, int) else self.compactions

    @rule(highest=st.integers(1, 4), pool=st.sampled_from([None, None, "fast"]))
    def work(self, highest, pool):
        entry = self.both("next_compaction", "worker 1", pool)
        if entry is None:
            return
        if entry.type is not CompactionType.REBALANCE:
            self.open_txn(TxnType.COMPACTION)
            self.both("compaction_started", entry.compaction_id, self.txns, highest)
            return
        table, place = TableName(entry.database, entry.table), (entry.table, entry.partition)
        update = LockComponent(LockType.EXCL_WRITE, table.database, *place, WriteOperation.UPDATE)
        self.open_txn(TxnType.REBALANCE_COMPACTION)
        write_id = self.both("allocate_write_id", self.txns, table)
        self._asked(self.both("lock", self.txns, [update], "ann", "host1", "q"))
        if isinstance(write_id, int):
            self.both("compaction_started", entry.compaction_id, self.txns, write_id)

    @rule(backs=st.lists(st.integers(-1, 3), max_size=3))
    def abort_compactions(self, backs):
        self.both("abort_compactions", [self.compactions - back for back in backs])

    @rule(back=st.integers(0, 3), txn_back=ids, highest=st.integers(1, 4))
    def start(self, back, txn_back, highest):
        self.both("compaction_started", self.compactions - back, self.txn(txn_back), highest)

    @rule(back=st.integers(0, 3), verb=st.sampled_from(["mark_compacted", "mark_cleaned"]))
    def advance(self, back, verb):
        self.both(verb, self.compactions - back)

    @rule(back=st.integers(0, 3), verb=st.sampled_from(["mark_refused", "mark_failed"]))
    def give_up(self, back, verb):
        self.both(verb, self.compactions - back, f"reason {back}")

    @rule(seconds=st.sampled_from([1, 6, 25]))
    def pass_time(self, seconds):
        self.now_ms += seconds * 1000

    @rule(
        name=st.sampled_from(["Cleaner", "Initiator"]),
        owner=st.sampled_from(["one", "two"]),
        lease_s=st.sampled_from([0.5, 5, 20]),
    )
    def take_mutex(self, name, owner, lease_s):
        self.both("take_mutex", name, owner, lease_s)

    @rule(name=st.sampled_from(["Cleaner", "Initiator"]), owner=st.sampled_from(["one", "two"]))
    def release_mutex(self, name, owner):
        self.both("release_mutex", name, owner)

    @rule(verb=st.sampled_from(["time_out_txns", "resolve_deadlocks", "trim"]))
    def keep_house(self, verb):
        self.both(verb)

    @rule(table=tables, backs=st.lists(ids, max_size=3))
    def forget(self, table, backs):
        """As if there were no files."""
        self.both("forget_aborted", table, [self.txn(back) for back in backs])

    @rule(table=tables)
    def create(self, table):
        column = Column("a", parse_type("int"))
        self.both("create_table", Table(table, (column,), f"/w/{table.table}"))

    @rule(
        database=st.sampled_from(["default", "Default", "nowhere"]),
        parameters=st.dictionaries(st.sampled_from(["a", "A", "b"]), st.sampled_from(["", "x'y"])),
    )
    def set_database_parameters(self, database, parameters):
        self.both("set_database_parameters", database, parameters)
        self.both("database", database)

    @rule(table=tables, highest=st.integers(1, 6))
    def seed(self, table, highest):
        self.both("seed_write_id", table, highest)

    @rule(beyond=st.integers(-1, 3))
    def seed_txns(self, beyond):
        self.both("seed_txn_id", self.txns + beyond)

    @rule(table=tables)
    def rename(self, table):
        new = next(t for t in TABLES if t != table)
        renamed = Table(new, (Column("a", parse_type("int")),), f"/w/{new.table}")
        if self.both("rename_table", table, renamed, []) is None:
            kept = {p: t for p, t in self.written.items() if p[0] == table}
            self.written = {(new, write_id): t for (_, write_id), t in kept.items()}

    @rule(table=tables, partition=st.sampled_from(["p=1", "p=2"]))
    def drop_partition(self, table, partition):
        self.both("drop_partitions", table, [PartitionName.parse(partition)])

    @rule(
        table=tables,
        partition=st.sampled_from(["p=1", "p=2"]),
        other=st.sampled_from(["p=1", "p=2"]),
        fresh=st.booleans(),
    )
    def rename_partition(self, table, partition, other, fresh):
        if fresh:
            place = Partition(PartitionName.parse(partition), f"/w/{partition}")
            self.both("add_partitions", table, [place])
        moved = Partition(PartitionName.parse(other), f"/w/{other}")
        self.both("rename_partition", table, PartitionName.parse(partition), moved)

    @rule(table=tables)
    def drop(self, table):
        if self.both("drop_table", table) is None:
            self.written = {place: t for place, t in self.written.items() if place[0] != table}

    @invariant()
    def show_the_same(self):
        for verb in (
            "show_txns",
            "show_locks",
            "show_compactions",
            "ready_to_clean",
            "oldest_needed",
            "aborted_writes",
            "changed_places",
        ):
            self.both(verb)
        self.both("tables", "default")
        for table in TABLES:
            self.both("committed_writes", table)
        for txns in (*self.snapshots, self.model.valid_txns()):
            self.both("valid_write_ids", TABLES, txns)

    @invariant()
    def committed_writes_are_seen_and_open_ones_hidden(self):
        lists = self.store.valid_write_ids(TABLES, self.store.valid_txns())
        opened = {t.txn_id for t in self.store.show_txns() if t.state is TxnState.OPEN}
        for (table, write_id), txn in self.written.items():
            if self.ended.get(txn) == "committed":
                assert lists[table].is_valid(write_id)
            elif txn in opened:
                assert not lists[table].is_valid(write_id)

    @invariant()
    def no_two_acquired_locks_meet(self):
        held = [k for k in self.store.show_locks() if k.state.name == "ACQUIRED"]
        for a in held:
            for b in held:
                assert a.txn_id == b.txn_id or not blocks(a, b)


class SqliteStores(Stores):
    def make_store(self):
        self.directory = tempfile.mkdtemp()
        path = str(Path(self.directory) / "store.db")
        return SqliteStore(path, warehouse="/w", policy=POLICY, clock_ms=lambda: self.now_ms)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.directory)


def examples(short, long):
    """How many there are in `make test`, and how many in `make thorough`."""
    long_form = pytest.param(long, id="long", marks=pytest.mark.thorough)
    return pytest.mark.parametrize("count", [pytest.param(short, id="short"), long_form])


def settings_of(max_examples):
    return settings(
        max_examples=max_examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@examples(25, 60)
def test_sqlite(count):
    run_state_machine_as_test(SqliteStores, settings=settings_of(count))


@examples(6, 15)
def test_postgres(postgres, count):
    """Fewer examples: each verb goes to a server and back several times."""

    class PostgresStores(Stores):
        def make_store(self):
            return PostgresStore(
                postgres.fresh(), warehouse="/w", policy=POLICY, clock_ms=lambda: self.now_ms
            )

    run_state_machine_as_test(PostgresStores, settings=settings_of(count))

"""What a verb does that is called twice, because its first answer was lost."""

import inspect
from dataclasses import dataclass, replace

import pytest

from acidsql.errors import (
    CompactionRefusedError,
    DatabaseExistsError,
    DatabaseNotFoundError,
    NoSuchTxnError,
    PartitionNotFoundError,
    TableExistsError,
    TableNotFoundError,
)
from acidsql.model.names import PartitionName, TableName
from acidsql.model.statistics import Basis, ColumnStatistics, Statistics
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.model.view import View
from acidsql.ports.catalog import Catalog, Database, Partition
from acidsql.txn.entities import CompactionType, LockComponent, LockType, TxnType, WriteOperation
from acidsql.txn.manager import TxnManager

T = TableName("default", "t")
UPDATE_T = [LockComponent(LockType.EXCLUSIVE, "default", "t", None, WriteOperation.UPDATE)]
INSERT_T = [LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT)]


@pytest.fixture
def played(store):
    """Two writers, of which the second waits, and three compactions in three states.

    Transactions: 1 holds lock 1, 2 waits with lock 2; 3 works on entry 2, 4 has done entry 1.
    """
    for _ in range(2):
        store.allocate_write_id(store.open_txn("ann", "host1"), T)
    store.lock(1, UPDATE_T, "ann", "host1")
    store.lock(2, INSERT_T, "ann", "host1")
    for partition in ("p=1", "p=2", "p=3"):
        store.compact(T, partition, CompactionType.MAJOR)
    store.next_compaction("w"), store.next_compaction("w")
    for txn in (3, 4):
        assert store.open_txn("ann", "host1", TxnType.COMPACTION) == txn
    store.compaction_started(2, 3, 1)
    store.compaction_started(1, 4, 1)
    return store


@dataclass(frozen=True)
class Call:
    verb: str
    arguments: tuple = ()
    before: tuple = ()


def state(store):
    txns = store.valid_txns()
    shown = (store.show_txns(), store.show_locks(), store.show_compactions())
    return str(txns), str(store.valid_write_ids([T], txns)[T]), shown


SAME = [
    Call("heartbeat", (1,)),
    Call("heartbeat_txn_range", (1, 9)),
    Call("commit_txn", (1,)),
    Call("abort_txn", (1, "why")),
    Call("valid_txns", (2,)),
    Call("show_txns"),
    Call("latest_txn_in_conflict", (2,)),
    Call("trim"),
    Call("allocate_write_id", (1, T)),
    Call("allocate_write_id", (3, T)),
    Call("allocate_write_ids", ([1], T)),
    Call("allocate_write_ids", ([3], T)),
    Call("seed_write_id", (T, 9)),
    Call("seed_txn_id", (9,)),
    Call("valid_write_ids", ([T], None)),
    Call("known_write_id", (1, T)),
    Call("writer_of", (T, 1)),
    Call("add_dynamic_partitions", (1, 1, T, ["p=1"], WriteOperation.UPDATE)),
    Call("check_lock", (1,)),
    Call("check_lock", (2,)),
    Call("await_lock", (1, 0.0)),
    Call("await_lock", (2, 0.0)),
    Call("unlock", (2,)),
    Call("resolve_deadlocks"),
    Call("show_locks"),
    Call("compaction_started", (2, 3, 1)),
    Call("mark_compacted", (1,)),
    Call("mark_refused", (2, "why")),
    Call("mark_failed", (2, "why")),
    Call("ready_to_clean"),
    Call("mark_cleaned", (1,), ("mark_compacted", 1)),
    Call("oldest_needed"),
    Call("show_compactions"),
    Call("aborted_writes"),
    Call("changed_places"),
    Call("committed_writes", (T,)),
    Call("forget_aborted", (T, [1]), ("abort_txn", 1, "why")),
    Call("take_mutex", ("Cleaner", "one", 30)),
    Call("take_mutex", ("Cleaner", "two", 30), ("take_mutex", "Cleaner", "one", 30)),
    Call("release_mutex", ("Cleaner", "one"), ("take_mutex", "Cleaner", "one", 30)),
]
"""Idempotent and read-only verbs: the answer is the same, and the store as it was."""

OTHERS = {
    "open_txn", "open_txns", "open_block", "open_locked", "abort_txns", "time_out_txns", "lock",
    "compact", "next_compaction", "abort_compactions", "close",
}  # fmt: skip
"""Those that a test below is about."""


def test_every_verb_is_here():
    verbs = {name for name, _ in inspect.getmembers(TxnManager, inspect.isfunction)}
    assert {v for v in verbs if not v.startswith("_")} == {c.verb for c in SAME} | OTHERS


@pytest.mark.parametrize("call", SAME, ids=lambda c: f"{c.verb}-{c.arguments[:1]}")
def test_a_repetition_changes_nothing(played, call):
    arguments = call.arguments
    if call.verb == "valid_write_ids":
        arguments = ([T], played.valid_txns(2))
    if call.before:
        verb, *rest = call.before
        getattr(played, verb)(*rest)
    first = getattr(played, call.verb)(*arguments)
    after = state(played)
    assert getattr(played, call.verb)(*arguments) == first
    assert state(played) == after


def test_a_txn_opened_again_times_out(played, clock):
    lost = [played.open_txn("ann", "host1"), *played.open_txns(2, "ann", "host1")]
    again = played.open_txns(2, "ann", "host1")
    clock.pass_s(200)
    played.heartbeat_txn_range(again[0], again[-1])
    played.heartbeat_txn_range(1, 4)
    clock.pass_s(200)
    assert played.time_out_txns() == lost
    assert played.time_out_txns() == []


def test_a_txn_opened_with_its_locks_again_waits_for_itself(played, clock):
    """So a store repeats it only when it has aborted what the first attempt left."""
    for txn in (1, 2):
        played.abort_txn(txn)
    asked = ("ann", "host1", TxnType.DEFAULT, [T], UPDATE_T)
    lost, again = played.open_locked(*asked), played.open_locked(*asked)
    assert (lost.txn_id, again.txn_id) == (5, 6)
    assert (lost.write_ids, again.write_ids) == ({T: 3}, {T: 4})
    assert (lost.response.state.name, again.response.state.name) == ("ACQUIRED", "WAITING")
    clock.pass_s(200)
    played.heartbeat(again.txn_id)
    clock.pass_s(200)
    assert lost.txn_id in played.time_out_txns()
    assert played.check_lock(again.response.lock_id).state.name == "ACQUIRED"


def test_aborting_again_has_nothing_to_tell(played):
    assert played.abort_txns([1, 2]) == [1, 2]
    after = state(played)
    assert played.abort_txns([1, 2]) == []
    assert state(played) == after


def test_a_lock_asked_for_again_does_not_wait_for_itself(played):
    played.abort_txn(2)
    again = played.lock(1, UPDATE_T, "ann", "host1")
    assert again.state.name == "ACQUIRED"
    played.commit_txn(1)
    assert played.show_locks() == []


def test_a_compaction_queued_again_is_refused(played):
    after = state(played)
    with pytest.raises(CompactionRefusedError):
        played.compact(T, "p=3", CompactionType.MAJOR)
    assert state(played) == after


def test_an_entry_taken_and_lost_is_given_back(played, clock):
    assert played.next_compaction("w").compaction_id == 3
    assert played.next_compaction("w") is None
    clock.pass_s(301)
    played.time_out_txns()
    assert played.next_compaction("w").compaction_id in (1, 2, 3)


def test_closing_again_is_silent(store):
    store.close()
    store.close()


# -- the catalog ----------------------------------------------------------------------------------

P1, P2 = (PartitionName.of({"p": value}) for value in ("1", "2"))
KEY = (Column("p", parse_type("string")),)
TABLE = Table(T, (Column("a", parse_type("int")),), "/warehouse/t", KEY)
ALTERED = Table(T, (Column("a", parse_type("bigint")),), "/warehouse/t", KEY)
NEW = Table(TableName("default", "new"), TABLE.columns, "/warehouse/new", KEY)
IN_P1 = Partition(P1, "/warehouse/t/p=1")

FOUND = Statistics(
    rows=1,
    columns={"a": ColumnStatistics(nulls=0, distinct=1, low="1", high="1")},
    basis=Basis(write_ids="1", definition="d"),
)

VIEW = View(TableName("default", "v"), TABLE.columns, "SELECT a FROM t", "SELECT a FROM default.t")
MADE = View(TableName("default", "w"), TABLE.columns, "SELECT 1", "SELECT 1")

TOLD = [
    (Call("create_database", (Database("sales", "/s"),)), DatabaseExistsError),
    (Call("drop_database", ("old",)), DatabaseNotFoundError),
    (Call("set_database_parameters", ("old", {"team": "a"})), None),
    (Call("create_table", (NEW,)), TableExistsError),
    (Call("drop_table", (T,)), TableNotFoundError),
    (Call("rename_table", (T, NEW, [])), TableNotFoundError),
    (Call("rename_partition", (T, P1, Partition(P2, "/warehouse/t/p=2"))), PartitionNotFoundError),
    (Call("alter_table", (ALTERED,)), None),
    (Call("create_view", (MADE,)), TableExistsError),
    (Call("alter_view", (replace(VIEW, expanded_text="SELECT 1"),)), None),
    (Call("rename_view", (VIEW.name, MADE.name)), TableNotFoundError),
    (Call("drop_view", (VIEW.name,)), TableNotFoundError),
    (Call("add_partitions", (T, [Partition(P2, "/warehouse/t/p=2"), IN_P1])), None),
    (Call("drop_partitions", (T, [P1])), None),
    (Call("forget_statistics", (T, [P1])), None),
    (Call("keep_statistics", (T, {None: FOUND, P1: FOUND})), None),
]
"""What changes the catalog, and what its repetition is told: nothing, if it is idempotent."""

READS = {
    "database", "databases", "table", "find_table", "tables", "partitions", "partition_names",
    "partitions_for", "places", "find_view", "views", "statistics",
}  # fmt: skip


def cataloged(store):
    tables = [store.table(TableName("default", name)) for name in store.tables("default")]
    databases = [store.database(name) for name in store.databases()]
    views = [store.find_view(TableName("default", name)) for name in store.views("default")]
    kept = [store.statistics(T, place) for place in (None, P1)] if store.find_table(T) else []
    return databases, tables, views, [store.partitions(table.name) for table in tables], kept


def test_every_verb_of_the_catalog_is_here():
    verbs = {name for name, _ in inspect.getmembers(Catalog, inspect.isfunction)}
    assert {v for v in verbs if not v.startswith("_")} == {c.verb for c, _ in TOLD} | READS


@pytest.mark.parametrize(("call", "told"), TOLD, ids=lambda c: getattr(c, "verb", None))
def test_a_repeated_definition_does_no_harm(store, call, told):
    store.create_database(Database("old", "/old"))
    store.create_table(TABLE)
    store.create_view(VIEW)
    store.add_partitions(T, [IN_P1])
    before = cataloged(store)
    getattr(store, call.verb)(*call.arguments)
    after = cataloged(store)
    assert (after == before) is (call.verb == "forget_statistics")
    if told is None:
        getattr(store, call.verb)(*call.arguments)
    else:
        with pytest.raises(told):
            getattr(store, call.verb)(*call.arguments)
    assert cataloged(store) == after


def test_a_repeated_commit_with_a_definition_is_told(store):
    store.create_table(TABLE)
    store.create_view(VIEW)
    txn = store.open_txn("ann", "host1")
    with store.committing(txn):
        store.add_partitions(T, [IN_P1])
    with pytest.raises(NoSuchTxnError) as caught, store.committing(txn):
        store.drop_partitions(T, [P1])
    assert caught.value.committed
    assert store.partitions(T) == [IN_P1]
    assert store.show_txns() == []

"""Databases, tables and partitions."""

from dataclasses import replace

import pytest

from acidsql.errors import (
    AnalysisError,
    DatabaseExistsError,
    DatabaseNotFoundError,
    PartitionExistsError,
    PartitionNotFoundError,
    TableExistsError,
    TableNotFoundError,
    TxnAbortedError,
    WriteConflictError,
)
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import PartitionName, TableName
from acidsql.model.predicate import Predicate
from acidsql.model.table import Bucketing, Column, Table, TableKind
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Database, Partition
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockType,
    TxnState,
    WriteOperation,
)

T = TableName("default", "t")
WHOLE = Table(
    T,
    (
        Column("id", parse_type("bigint"), "the key"),
        Column("price", parse_type("decimal(10,2)")),
        Column("notes", parse_type("map<string,array<struct<a:int,`b c`:char(3)>>>")),
    ),
    "/warehouse/t",
    (Column("d", parse_type("date"), "the day"), Column("k", parse_type("string"))),
    Bucketing(("id", "price"), 4, 2),
    {"transactional": "true", "x": "ü'\""},
    "a comment",
    "ann",
    1_700_000_000,
    constraints=(
        Constraint(ConstraintKind.NOT_NULL, "nn", ("id",), rely=True),
        Constraint(ConstraintKind.CHECK, "ck", ("id", "price"), "price > 0 OR id = 'ü'"),
        Constraint(ConstraintKind.DEFAULT, "dc", ("price",), "1.5", enabled=False),
        Constraint(
            ConstraintKind.FOREIGN_KEY, "fk", ("id", "price"), parent=TableName("s", "p"),
            parent_columns=("a, b", "c"), enabled=False,
        ),
    ),
)  # fmt: skip
BARE = Table(TableName("default", "bare"), (Column("a", parse_type("int")),), "/warehouse/bare")


def test_a_new_store_has_the_default_database(store):
    assert store.databases() == ["default"]
    assert store.database("DEFAULT") == Database("default", "/warehouse")
    assert store.tables("default") == []


def test_databases_come_and_go_in_any_case(store):
    store.create_database(Database("Sales", "/warehouse/sales.db", "ours", "ann"))
    assert store.databases() == ["default", "sales"]
    assert store.database("SALES") == Database("sales", "/warehouse/sales.db", "ours", "ann")
    with pytest.raises(DatabaseExistsError):
        store.create_database(Database("sales", "/elsewhere"))
    store.drop_database("sAles")
    with pytest.raises(DatabaseNotFoundError):
        store.drop_database("sales")
    with pytest.raises(DatabaseNotFoundError):
        store.database("sales")


def test_parameters_of_a_database_are_set_beside_the_others(store):
    given = {"no_auto_compaction": "true", "": "", "it's": "\u00e4 = \n"}
    store.create_database(Database("sales", "/s", parameters=given))
    assert store.database("SALES").parameters == given
    store.set_database_parameters("Sales", {"no_auto_compaction": "false", "b": "2"})
    assert store.database("sales").parameters == {**given, "no_auto_compaction": "false", "b": "2"}
    assert store.database("default").parameters == {}
    store.set_database_parameters("default", {"a": "1"})
    assert store.database("default").parameters == {"a": "1"}
    store.drop_database("sales")
    store.create_database(Database("sales", "/s"))
    assert store.database("sales").parameters == {}
    with pytest.raises(DatabaseNotFoundError):
        store.set_database_parameters("nowhere", {"a": "1"})


def test_databases_that_stay(store):
    store.create_database(Database("sales", "/s"))
    store.create_table(Table(TableName("sales", "orders"), BARE.columns, "/s/orders"))
    with pytest.raises(AnalysisError, match="database sales is not empty") as caught:
        store.drop_database("sales")
    assert caught.value.detail == "Its tables are orders."
    with pytest.raises(AnalysisError, match="default"):
        store.drop_database("default")
    assert store.databases() == ["default", "sales"]


@pytest.mark.parametrize("table", [WHOLE, BARE], ids=["whole", "bare"])
def test_a_table_comes_back_as_it_was(store, table):
    store.create_table(table)
    assert store.table(table.name) == table
    assert store.find_table(table.name) == table


def test_the_kind_is_told_by_the_parameters(store):
    store.create_table(WHOLE)
    store.create_table(BARE)
    assert store.table(T).kind is TableKind.FULL_ACID
    assert store.table(BARE.name).kind is TableKind.PLAIN


def test_names_of_tables_are_matched_in_lower_case(store):
    store.create_table(BARE)
    assert store.table(TableName("DEFAULT", "Bare")) == BARE
    assert store.partitions(TableName("DEFAULT", "Bare")) == []
    assert store.partition_names(TableName("DEFAULT", "Bare")) == []
    store.drop_table(TableName("Default", "BARE"))
    assert store.tables("default") == []


def test_tables_are_listed_sorted(store):
    store.create_table(WHOLE)
    store.create_table(BARE)
    assert store.tables("Default") == ["bare", "t"]
    with pytest.raises(DatabaseNotFoundError):
        store.tables("nowhere")


def test_errors_of_tables(store):
    store.create_table(BARE)
    with pytest.raises(TableExistsError, match=r"default\.bare"):
        store.create_table(BARE)
    with pytest.raises(DatabaseNotFoundError):
        store.create_table(Table(TableName("nowhere", "t"), BARE.columns, "/t"))
    assert store.find_table(T) is None
    for verb in (store.table, store.drop_table, store.partitions, store.partition_names):
        with pytest.raises(TableNotFoundError, match=r"default\.t"):
            verb(T)
    with pytest.raises(TableNotFoundError):
        store.add_partitions(T, [])


def test_partitions_are_added_once_and_listed_by_name(store):
    store.create_table(WHOLE)
    names = [
        PartitionName.of({"d": "2026-01-02", "k": None}),
        PartitionName.of({"d": "2026-01-01", "k": "a/b=c"}),
    ]
    partitions = [Partition(name, f"/warehouse/t/{name}") for name in names]
    store.add_partitions(T, partitions)
    store.add_partitions(T, [Partition(names[0], "/elsewhere")])
    assert store.partitions(T) == [partitions[1], partitions[0]]
    assert store.partition_names(T) == [names[1], names[0]]


def test_partitions_that_may_hold_what_is_asked_for(store):
    store.create_table(WHOLE)
    names = [PartitionName.of({"d": f"2026-01-0{n}", "k": k}) for n, k in enumerate(["a", None], 1)]
    store.add_partitions(T, [Partition(name, f"/p/{name}") for name in names])

    def found(*predicates):
        return [p.name for p in store.partitions_for(WHOLE, predicates)]

    assert found() == names
    assert found(Predicate("d", ">", ("2026-01-01",))) == names[1:]
    assert found(Predicate("k", "in", ("a", "b")), Predicate("id", "=", ("7",))) == names[:1]
    assert found(Predicate("d", "=", ("2026-01-01",)), Predicate("k", "=", ("b",))) == []


def write(store):
    txn = store.open_txn("ann", "host1")
    write_id = store.allocate_write_id(txn, T)
    component = LockComponent(LockType.SHARED_WRITE, "default", "t", None, WriteOperation.UPDATE)
    store.lock(txn, [component], "ann", "host1")
    return txn, write_id


def test_a_table_created_again_starts_anew(store):
    store.create_table(WHOLE)
    store.add_partitions(T, [Partition(PartitionName.of({"d": "1", "k": "2"}), "/p")])
    txn, _ = write(store)
    store.commit_txn(txn)
    aborted, _ = write(store)
    store.abort_txn(aborted)
    store.compact(T, None, CompactionType.MAJOR)
    store.drop_table(T)
    store.create_table(WHOLE)
    assert store.partitions(T) == []
    assert store.show_compactions() == []
    lists = store.valid_write_ids([T], store.valid_txns())
    assert str(lists[T]) == "default.t:0:9223372036854775807::"
    _, write_id = write(store)
    assert write_id == 1


def test_a_dropped_table_leaves_no_conflicts(store):
    store.create_table(WHOLE)
    slow, _ = write(store)
    fast, _ = write(store)
    store.commit_txn(fast)
    store.drop_table(T)
    store.create_table(WHOLE)
    assert store.allocate_write_id(slow, T) == 1
    again = LockComponent(LockType.SHARED_WRITE, "default", "t", None, WriteOperation.UPDATE)
    store.lock(slow, [again], "ann", "host1")
    store.commit_txn(slow)
    assert store.show_txns() == []


def test_other_tables_keep_their_write_ids(store):
    store.create_table(WHOLE)
    store.create_table(BARE)
    txn = store.open_txn("ann", "host1")
    store.allocate_write_id(txn, BARE.name)
    store.drop_table(T)
    assert store.allocate_write_id(store.open_txn("ann", "host1"), BARE.name) == 2


NEW = TableName("default", "new")
P = [PartitionName.of({"d": "2026-01-01", "k": k}) for k in ("a/b", None)]
PLACES = [Partition(name, f"/warehouse/t/{name}") for name in P]


def seen(store, table=T):
    return str(store.valid_write_ids([table], store.valid_txns())[table])


def test_an_altered_table_keeps_name_partitions_and_write_ids(store):
    store.create_table(WHOLE)
    store.add_partitions(T, PLACES)
    txn, _ = write(store)
    store.commit_txn(txn)
    altered = replace(
        WHOLE,
        columns=(*WHOLE.columns, Column("more", parse_type("int"))),
        bucketing=None,
        parameters={"y": "2"},
        location="/elsewhere",
        comment=None,
    )
    store.alter_table(altered)
    assert store.table(T) == altered
    assert store.partitions(T) == sorted(PLACES, key=lambda p: str(p.name))
    assert seen(store) == "default.t:1:9223372036854775807::"
    with pytest.raises(TableNotFoundError):
        store.alter_table(BARE)


def test_transaction_tables_follow_a_renamed_table(store):
    store.create_table(WHOLE)
    store.add_partitions(T, PLACES)
    done, _ = write(store)
    slow, _ = write(store)
    aborted, _ = write(store)
    store.commit_txn(done)
    store.abort_txn(aborted)
    number = store.compact(T, "p=1", CompactionType.MAJOR)
    stray = store.open_txn("ann", "host1")
    store.allocate_write_id(stray, NEW)
    moved = [Partition(p.name, f"/warehouse/new/{p.name}") for p in PLACES]
    renamed = replace(WHOLE, name=NEW, location="/warehouse/new")
    store.rename_table(T, renamed, moved)
    assert store.find_table(T) is None
    assert store.table(NEW) == renamed
    assert store.partitions(NEW) == sorted(moved, key=lambda p: str(p.name))
    assert seen(store, NEW) == "default.new:3:2:2:3"
    assert seen(store) == "default.t:0:9223372036854775807::"
    assert [(c.compaction_id, c.table) for c in store.show_compactions()] == [(number, "new")]
    fast = store.open_txn("ann", "host1")
    change = LockComponent(LockType.SHARED_WRITE, "default", "new", None, WriteOperation.UPDATE)
    store.lock(fast, [change], "ann", "host1")
    store.commit_txn(fast)
    assert store.latest_txn_in_conflict(slow).txn_id == fast


def test_a_table_is_not_renamed_over_another(store):
    store.create_table(WHOLE)
    store.create_table(BARE)
    with pytest.raises(TableExistsError):
        store.rename_table(T, replace(WHOLE, name=BARE.name), [])
    with pytest.raises(DatabaseNotFoundError):
        store.rename_table(T, replace(WHOLE, name=TableName("nowhere", "t")), [])
    with pytest.raises(TableNotFoundError):
        store.rename_table(NEW, replace(WHOLE, name=NEW), [])
    assert store.tables("default") == ["bare", "t"]
    assert store.table(T) == WHOLE


def test_dropped_partitions_are_forgotten(store):
    store.create_table(WHOLE)
    store.add_partitions(T, PLACES)
    for name in P:
        store.compact(T, str(name), CompactionType.MAJOR)
    store.drop_partitions(T, [P[0]])
    store.drop_partitions(T, [P[0]])
    assert store.partitions(T) == [PLACES[1]]
    assert [c.partition for c in store.show_compactions()] == [str(P[1])]


def test_a_renamed_partition_moves_with_its_transaction_rows(store):
    store.create_table(WHOLE)
    store.add_partitions(T, PLACES)
    store.compact(T, str(P[0]), CompactionType.MAJOR)
    other = Partition(PartitionName.of({"d": "2026-01-02", "k": "x"}), "/warehouse/t/x")
    with pytest.raises(PartitionNotFoundError, match=r"no partition d=2026-01-02/k=x"):
        store.rename_partition(T, other.name, other)
    with pytest.raises(PartitionExistsError):
        store.rename_partition(T, P[0], PLACES[1])
    store.rename_partition(T, P[0], other)
    assert store.partitions(T) == [PLACES[1], other]
    assert [c.partition for c in store.show_compactions()] == [str(other.name)]


def test_a_partition_may_keep_its_name_in_another_directory(store):
    store.create_table(WHOLE)
    store.add_partitions(T, PLACES)
    store.compact(T, str(P[0]), CompactionType.MAJOR)
    moved = Partition(P[0], "/elsewhere/x")
    for _ in range(2):
        store.rename_partition(T, P[0], moved)
        assert set(store.partitions(T)) == {moved, PLACES[1]}
    assert [c.partition for c in store.show_compactions()] == [str(P[0])]


OTHER = Partition(PartitionName.of({"d": "2026-01-02", "k": "x"}), "/warehouse/t/x")


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.drop_partitions(T, [P[0]]),
        lambda store: store.rename_partition(T, P[0], OTHER),
    ],
    ids=["drop", "rename"],
)
def test_who_waits_for_a_partition_writes_into_the_one_that_comes(store, change):
    """What an open transaction may write there is not forgotten with what was there before."""
    store.create_table(WHOLE)
    store.add_partitions(T, PLACES)
    waiting = store.open_txn("ann", "host1")
    place = ("default", "t", str(P[0]))
    mine = LockComponent(LockType.SHARED_WRITE, *place, WriteOperation.UPDATE)
    store.lock(waiting, [mine], "ann", "host1")
    change(store)
    store.add_partitions(T, [PLACES[0]])
    fast = store.open_txn("bob", "host1")
    store.lock(fast, [mine], "bob", "host1")
    write_id = store.allocate_write_id(fast, T)
    store.add_dynamic_partitions(fast, write_id, T, [str(P[0])], WriteOperation.UPDATE)
    store.commit_txn(fast)
    assert store.latest_txn_in_conflict(waiting).txn_id == fast


def drop_and_fail(store, txn):
    with store.committing(txn):
        store.drop_partitions(T, P)
        store.drop_table(T)
        raise ZeroDivisionError


def test_catalog_and_commit_are_one_step(store):
    txn, _ = write(store)
    with store.committing(txn):
        store.create_table(WHOLE)
        store.add_partitions(T, PLACES)
    assert seen(store) == "default.t:1:9223372036854775807::"
    store.commit_txn(txn)
    failed, _ = write(store)
    with pytest.raises(ZeroDivisionError):
        drop_and_fail(store, failed)
    assert len(store.partitions(T)) == 2
    assert [t.txn_id for t in store.show_txns()] == [failed]
    store.abort_txn(failed)
    with pytest.raises(TxnAbortedError), store.committing(failed):
        store.drop_table(T)
    assert store.table(T) == WHOLE


def test_write_ids_of_directories_that_were_there_are_not_given_again(store):
    store.create_table(WHOLE)
    store.seed_write_id(T, 7)
    store.seed_write_id(T, 5)
    assert seen(store) == "default.t:7:9223372036854775807::"
    txn, write_id = write(store)
    assert write_id == 8
    assert seen(store) == "default.t:8:8:8:"
    store.abort_txn(txn)
    assert seen(store) == "default.t:8:9223372036854775807::8"


def test_txn_ids_of_compactors_elsewhere_are_passed_over(store):
    store.seed_txn_id(20)
    store.seed_txn_id(3)
    assert store.open_txn("ann", "host1") == 21
    assert str(store.valid_txns()).split(":")[0] == "21"
    assert [t.txn_id for t in store.show_txns()] == [21]


def alter_and_lose(store, txn):
    with store.committing(txn):
        store.alter_table(replace(WHOLE, comment="changed"))


def test_a_conflict_undoes_the_definition_and_aborts(store):
    store.create_table(WHOLE)
    txns = []
    change = LockComponent(LockType.SHARED_WRITE, "default", "t", None, WriteOperation.UPDATE)
    for _ in range(2):
        txns.append(store.open_txn("ann", "host1"))
        store.lock(txns[-1], [change], "ann", "host1")
    store.commit_txn(txns[0])
    with pytest.raises(WriteConflictError):
        alter_and_lose(store, txns[1])
    assert store.table(T) == WHOLE
    assert [(t.txn_id, t.state) for t in store.show_txns()] == [(txns[1], TxnState.ABORTED)]

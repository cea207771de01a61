"""Databases, tables and partitions."""

import pytest

from acidsql.catalog import Database, Partition
from acidsql.errors import (
    AnalysisError,
    DatabaseExistsError,
    DatabaseNotFoundError,
    TableExistsError,
    TableNotFoundError,
)
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Bucketing, Column, Table, TableKind
from acidsql.model.types import parse_type
from acidsql.txn.entities import CompactionType, LockComponent, LockType, WriteOperation

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
)
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


def test_databases_that_stay(store):
    store.create_database(Database("sales", "/s"))
    store.create_table(Table(TableName("sales", "orders"), BARE.columns, "/s/orders"))
    with pytest.raises(AnalysisError, match="database sales is not empty") as caught:
        store.drop_database("sales")
    assert caught.value.detail == "It has the tables orders."
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
    for verb in (store.table, store.drop_table, store.partitions):
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

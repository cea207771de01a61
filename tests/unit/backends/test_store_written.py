"""What a store knows of the directories that committed writes have left."""

import pytest

from acidsql.errors import TxnAbortedError, WriteConflictError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Partition
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockType,
    Reached,
    TxnType,
    WriteOperation,
    Written,
)

T = TableName("default", "t")
OTHER = TableName("default", "other")
INSERT, UPDATE = WriteOperation.INSERT, WriteOperation.UPDATE


def begin(store, operation=INSERT, partition=None, *, dynamic=False, table=T):
    lock = LockComponent(
        LockType.SHARED_READ, "default", table.table, partition, operation, dynamic=dynamic
    )
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [table], [lock])
    return opened.txn_id, opened.write_ids[table]


def write(store, partition=None, table=T):
    txn, write_id = begin(store, partition=partition, table=table)
    written = Written(write_id, table, partition)
    store.commit_txn(txn, (), [written])
    return written


def made(name):
    column, key = (Column(c, parse_type("string")) for c in "ap")
    return Table(name, (column,), f"/w/{name.table}", (key,))


def test_what_a_commit_says_is_known(store):
    first, second, other = write(store), write(store, "p=1"), write(store, table=OTHER)
    assert store.committed_writes(T) == {first, second}
    assert store.committed_writes(OTHER) == {other}


def test_a_snapshot_knows_those_into_the_table_itself_that_it_sees(store):
    open_txn, _ = begin(store)
    first, _ = write(store), write(store, "p=1")
    txns = store.valid_txns()
    second = write(store)
    assert store.valid_write_ids([T, OTHER], txns)[T].written == {first.write_id}
    now = store.valid_write_ids([T, OTHER], store.valid_txns())
    assert now[T].written == {first.write_id, second.write_id}
    assert now[OTHER].written == frozenset()
    store.abort_txn(open_txn)
    store.trim()
    assert store.valid_write_ids([T], store.valid_txns())[T].written == {second.write_id}


def test_what_a_dynamic_write_reached_is_known(store):
    txn, write_id = begin(store, UPDATE, dynamic=True)
    written = [Written(write_id, T, p) for p in ("p=1", "p=2")]
    store.commit_txn(txn, [Reached(write_id, T, ["p=1", "p=2"], UPDATE)], written)
    assert store.committed_writes(T) == set(written)


def test_what_a_commit_does_not_say_is_not_known(store):
    """So it is with an INSERT of no rows, and with the commits of earlier releases."""
    store.commit_txn(begin(store)[0])
    txn, write_id = begin(store)
    store.commit_txn(txn, (), [Written(write_id + 1, T, None), Written(write_id, T, "p=1")])
    assert store.committed_writes(T) == frozenset()


def test_what_is_not_committed_is_not_known(store):
    (lost, lost_id), (winner, winner_id) = (begin(store, UPDATE, "p=1") for _ in range(2))
    aborted, aborted_id = begin(store)
    store.abort_txn(aborted)
    with pytest.raises(TxnAbortedError):
        store.commit_txn(aborted, (), [Written(aborted_id, T, None)])
    assert store.committed_writes(T) == frozenset()
    store.commit_txn(winner, (), [Written(winner_id, T, "p=1")])
    with pytest.raises(WriteConflictError):
        store.commit_txn(lost, (), [Written(lost_id, T, "p=1")])
    assert store.committed_writes(T) == {Written(winner_id, T, "p=1")}


def test_a_commit_with_definitions_says_it_too(store):
    store.create_table(made(T))
    txn, write_id = begin(store, dynamic=True)
    written = Written(write_id, T, "p=1")
    with store.committing(txn, [Reached(write_id, T, ["p=1"], INSERT)], [written]):
        store.add_partitions(T, [Partition(PartitionName.parse("p=1"), "/w/t/p=1")])
    assert store.committed_writes(T) == {written}


def test_it_goes_with_the_cleaning_and_stays_for_later_writes(store):
    first = write(store)
    compaction_id = store.compact(T, None, CompactionType.MAJOR)
    store.next_compaction("w")
    worker = store.open_txn("ann", "host1", TxnType.COMPACTION)
    store.compaction_started(compaction_id, worker, first.write_id)
    store.mark_compacted(compaction_id)
    later = write(store)
    assert store.committed_writes(T) == {first, later}
    store.mark_cleaned(compaction_id)
    assert store.committed_writes(T) == {later}


def test_a_trim_keeps_the_last_of_each_place(store):
    write(store)
    second, third = write(store), write(store, "p=1")
    store.commit_txn(begin(store)[0])
    store.trim()
    assert store.committed_writes(T) == {second, third}


def test_it_follows_names(store):
    store.create_table(made(T))
    one, two = (PartitionName.parse(p) for p in ("p=1", "p=2"))
    store.add_partitions(T, [Partition(one, "/w/t/p=1")])
    write_id = write(store, "p=1").write_id
    store.rename_partition(T, one, Partition(two, "/w/t/p=2"))
    assert store.committed_writes(T) == {Written(write_id, T, "p=2")}
    store.rename_table(T, made(OTHER), [Partition(two, "/w/other/p=2")])
    assert store.committed_writes(T) == frozenset()
    assert store.committed_writes(OTHER) == {Written(write_id, OTHER, "p=2")}
    store.drop_partitions(OTHER, [two])
    assert store.committed_writes(OTHER) == frozenset()
    write(store, "p=2", OTHER)
    store.drop_table(OTHER)
    assert store.committed_writes(OTHER) == frozenset()


def test_a_second_commit_says_nothing_more(store):
    txn, write_id = begin(store, dynamic=True)
    store.commit_txn(txn, [Reached(write_id, T, ["p=1"], INSERT)])
    store.commit_txn(txn, [], [Written(write_id, T, "p=1")])
    assert store.committed_writes(T) == frozenset()

"""Write ids: allocation and the snapshots made from them."""

import pytest

from acidsql.errors import NoSuchTxnError, TxnAbortedError, TxnError
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, LockType, TxnType, WriteOperation

T, U = TableName("default", "t"), TableName("sales", "t")


def begin(store, type=TxnType.DEFAULT):
    return store.open_txn("ann", "host1", type)


def seen(store, txn=None, table=T):
    return str(store.valid_write_ids([table], store.valid_txns(txn))[table])


def test_each_table_counts_from_one_and_a_txn_has_one_id_per_table(store):
    first, second = begin(store), begin(store)
    assert store.allocate_write_id(first, T) == 1
    assert store.allocate_write_id(second, T) == 2
    assert store.allocate_write_id(second, U) == 1
    assert store.allocate_write_id(first, T) == 1
    assert store.allocate_write_id(first, U) == 2


def test_the_ids_of_a_batch_are_consecutive_and_in_its_order(store):
    lone = begin(store)
    first, second, third = store.open_txns(3, "ann", "host1")
    store.allocate_write_id(lone, T)
    assert store.allocate_write_ids([second, first, third], T) == [2, 3, 4]
    assert store.allocate_write_ids([first, second, third], T) == [3, 2, 4]
    assert store.allocate_write_id(begin(store), T) == 5


def test_a_batch_takes_the_ids_that_its_txns_have(store):
    first, second = begin(store), begin(store)
    store.allocate_write_id(second, T)
    assert store.allocate_write_ids([first, second], T) == [2, 1]


def test_a_batch_with_an_ended_txn_gets_no_ids(store):
    first, second = begin(store), begin(store)
    store.abort_txn(second)
    with pytest.raises(TxnAbortedError):
        store.allocate_write_ids([first, second], T)
    assert store.allocate_write_id(begin(store), T) == 1


def test_ids_are_in_the_order_of_allocation_not_of_txns(store):
    early, late = begin(store), begin(store)
    assert store.allocate_write_id(late, T) == 1
    assert store.allocate_write_id(early, T) == 2


def test_an_aborted_txn_leaves_a_hole(store):
    txn = begin(store)
    store.allocate_write_id(txn, T)
    store.abort_txn(txn)
    assert store.allocate_write_id(begin(store), T) == 2


def test_a_write_id_tells_its_txn(store):
    first, second = begin(store), store.open_txn("bob", "host2")
    write_ids = [store.allocate_write_id(txn, T) for txn in (second, first)]
    store.commit_txn(second)
    found = [store.writer_of(T, write_id) for write_id in write_ids]
    assert [(t.txn_id, t.user, t.host) for t in found] == [
        (second, "bob", "host2"),
        (first, "ann", "host1"),
    ]
    assert store.writer_of(T, WriteId(3)) is None
    assert store.writer_of(U, write_ids[0]) is None


def test_to_ask_for_a_write_id_gives_out_none(store):
    first, second = begin(store), begin(store)
    assert store.known_write_id(first, T) is None
    write_id = store.allocate_write_id(second, T)
    assert (store.known_write_id(second, T), store.known_write_id(second, U)) == (write_id, None)
    assert store.known_write_id(first, T) is None
    assert store.allocate_write_id(first, T) == write_id + 1


def test_only_open_txns_that_may_write_get_ids(store):
    ended = begin(store)
    store.abort_txn(ended)
    with pytest.raises(TxnAbortedError):
        store.allocate_write_id(ended, T)
    with pytest.raises(NoSuchTxnError):
        store.allocate_write_id(TxnId(8), T)
    with pytest.raises(TxnError, match=r"Write ID allocation failed on default\.t"):
        store.allocate_write_id(begin(store, TxnType.READ_ONLY), T)
    assert store.allocate_write_id(begin(store), T) == 1


def test_a_table_without_writes(store):
    assert seen(store) == "default.t:0:9223372036854775807::"


def test_own_writes_are_seen_others_only_when_committed_before(store):
    own, other, aborted = begin(store), begin(store), begin(store)
    for txn in (own, other, aborted):
        store.allocate_write_id(txn, T)
    store.abort_txn(aborted)
    assert seen(store, own) == "default.t:1:9223372036854775807::"
    assert seen(store, other) == "default.t:2:1:1:"
    assert seen(store) == "default.t:3:1:1,2:3"
    store.commit_txn(other)
    assert seen(store, own) == "default.t:1:9223372036854775807::"
    assert seen(store) == "default.t:3:1:1:3"


def test_later_txns_below_the_watermark_are_open_for_us(store):
    early, late = begin(store), begin(store)
    store.allocate_write_id(late, T)
    store.allocate_write_id(early, T)
    store.commit_txn(late)
    assert seen(store, early) == "default.t:2:1:1:"


def test_a_snapshot_does_not_move_with_later_commits(store):
    writer = begin(store)
    store.allocate_write_id(writer, T)
    txns = store.valid_txns(begin(store))
    store.commit_txn(writer)
    assert not store.valid_write_ids([T], txns)[T].is_valid(WriteId(1))


def test_every_asked_table_is_answered(store):
    store.allocate_write_id(begin(store), U)
    lists = store.valid_write_ids([T, U], store.valid_txns())
    assert {str(k): str(v) for k, v in lists.items()} == {
        "default.t": "default.t:0:9223372036854775807::",
        "sales.t": "sales.t:1:1:1:",
    }


def test_dynamic_partitions_need_an_open_txn(store):
    txn = begin(store)
    write_id = store.allocate_write_id(txn, T)
    store.abort_txn(txn)
    with pytest.raises(TxnAbortedError):
        store.add_dynamic_partitions(txn, write_id, T, ["p=1"], WriteOperation.INSERT)


def test_an_aborted_dynamic_write_stays_hidden_until_its_partitions_are_cleaned(store, clock):
    txn = begin(store)
    write_id = store.allocate_write_id(txn, T)
    component = LockComponent(
        LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT, dynamic=True
    )
    store.lock(txn, [component], "ann", "host1")
    store.add_dynamic_partitions(txn, write_id, T, ["p=1"], WriteOperation.INSERT)
    store.abort_txn(txn)
    clock.pass_s(10_000)
    store.trim()
    assert seen(store) == "default.t:1:9223372036854775807::1"

"""Transactions: open, heartbeat, commit, abort, time out, trim."""

import pytest

from acidsql.errors import (
    NoSuchTxnError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    TxnError,
    WriteConflictError,
)
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.conflict import Winner
from acidsql.txn.entities import (
    LockComponent,
    LockType,
    TxnState,
    TxnType,
    WriteOperation,
)
from acidsql.txn.policy import TxnPolicy

T = TableName("default", "t")


def begin(store, type=TxnType.DEFAULT):
    return store.open_txn("ann", "host1", type)


def change(store, txn_id, operation=WriteOperation.UPDATE, table="t", partition=None):
    """Allocate and lock as a writer does; SHARED_WRITE leaves conflicts to the commit."""
    store.allocate_write_id(txn_id, TableName("default", table))
    component = LockComponent(LockType.SHARED_WRITE, "default", table, partition, operation)
    store.lock(txn_id, [component], "ann", "host1")


def test_ids_are_consecutive_from_one(store):
    assert [begin(store) for _ in range(3)] == [1, 2, 3]


def test_an_opened_txn_is_shown(store, clock):
    begin(store, TxnType.COMPACTION)
    (txn,) = store.show_txns()
    assert (txn.txn_id, txn.state, txn.type) == (1, TxnState.OPEN, TxnType.COMPACTION)
    assert (txn.user, txn.host, txn.meta_info) == ("ann", "host1", "")
    assert txn.started_ms == txn.last_heartbeat_ms == clock.now_ms


def test_the_limit_of_open_txns_counts_open_ones_only(make_store):
    store = make_store(TxnPolicy(max_open_txns=2))
    first = begin(store)
    begin(store)
    with pytest.raises(TooManyOpenTxnsError, match=r"hive\.max\.open\.txns"):
        begin(store)
    store.abort_txn(first)
    assert begin(store) == 3


def test_a_batch_has_consecutive_ids_and_one_beginning(store):
    begin(store)
    assert store.open_txns(3, "ann", "host1") == [2, 3, 4]
    assert store.open_txns(2, "ann", "host1", TxnType.READ_ONLY) == [5, 6]
    assert begin(store) == 7
    assert [t.type for t in store.show_txns()][3:6] == [
        TxnType.DEFAULT,
        TxnType.READ_ONLY,
        TxnType.READ_ONLY,
    ]
    assert str(store.valid_txns(TxnId(3))) == "3:1:1,2:"


def test_a_batch_is_bounded(make_store):
    store = make_store(TxnPolicy(max_open_batch=3, max_open_txns=5))
    assert store.open_txns(100, "ann", "host1") == [1, 2, 3]
    with pytest.raises(TooManyOpenTxnsError):
        store.open_txns(3, "ann", "host1")
    assert store.open_txns(2, "ann", "host1") == [4, 5]
    for count in (0, -1):
        with pytest.raises(TxnError, match=f"Invalid input for number of txns: {count}"):
            store.open_txns(count, "ann", "host1")


def test_a_thousand_at_once(store):
    assert store.open_txns(5000, "ann", "host1") == list(range(1, 1001))
    assert len(store.valid_txns().open) == 1000
    assert store.heartbeat_txn_range(TxnId(1), TxnId(1000)).nosuch == frozenset()
    assert len(store.abort_txns(range(1, 1001))) == 1000


def test_heartbeat_of_a_range(store, clock):
    for _ in range(4):
        begin(store)
    store.commit_txn(TxnId(2))
    store.abort_txn(TxnId(3))
    clock.pass_s(200)
    answer = store.heartbeat_txn_range(TxnId(1), TxnId(5))
    assert (answer.aborted, answer.nosuch) == ({3}, {2, 5})
    clock.pass_s(200)
    assert store.time_out_txns() == []
    assert store.heartbeat_txn_range(TxnId(2), TxnId(1)).nosuch == frozenset()
    clock.pass_s(200)
    assert store.time_out_txns() == [1, 4]


def test_aborting_several(store):
    for _ in range(4):
        begin(store)
    store.commit_txn(TxnId(2))
    store.abort_txn(TxnId(3), "first")
    change(store, TxnId(4))
    assert store.abort_txns([TxnId(i) for i in (4, 9, 2, 3, 4)], "all") == [4]
    assert store.show_locks() == []
    shown = {t.txn_id: (t.state, t.meta_info) for t in store.show_txns()}
    assert shown == {
        1: (TxnState.OPEN, ""),
        3: (TxnState.ABORTED, "first"),
        4: (TxnState.ABORTED, "all"),
    }
    assert store.abort_txns([], "none") == []


def test_heartbeat_renews(store, clock):
    txn = begin(store)
    clock.pass_s(10)
    store.heartbeat(txn)
    assert store.show_txns()[0].last_heartbeat_ms == clock.now_ms
    assert store.show_txns()[0].started_ms == clock.now_ms - 10_000


def test_commit_again_after_a_lost_answer_is_silent(store):
    txn = begin(store)
    change(store, txn)
    store.commit_txn(txn)
    store.commit_txn(txn)
    assert store.show_txns() == []
    assert store.valid_txns().is_valid(txn)


def test_abort_again_is_silent_and_keeps_the_first_reason(store):
    txn = begin(store)
    store.abort_txn(txn, "first")
    store.abort_txn(txn, "second")
    (shown,) = store.show_txns()
    assert (shown.state, shown.meta_info) == (TxnState.ABORTED, "first")


@pytest.mark.parametrize("verb", ["heartbeat", "commit_txn", "latest_txn_in_conflict"])
def test_an_aborted_txn_is_told_why(store, verb):
    txn = begin(store)
    store.abort_txn(txn, "asked for")
    with pytest.raises(TxnAbortedError, match="txnid:1 already aborted") as caught:
        getattr(store, verb)(txn)
    assert caught.value.code == 10263
    assert caught.value.detail == "Reason: asked for."


@pytest.mark.parametrize("verb", ["heartbeat", "abort_txn", "latest_txn_in_conflict"])
def test_a_committed_txn_cannot_go_on(store, verb):
    txn = begin(store)
    store.commit_txn(txn)
    with pytest.raises(NoSuchTxnError, match="txnid:1 is already committed"):
        getattr(store, verb)(txn)


@pytest.mark.parametrize("verb", ["heartbeat", "commit_txn", "abort_txn"])
@pytest.mark.parametrize("txn_id", [0, 7])
def test_an_unknown_txn_is_refused(store, verb, txn_id):
    with pytest.raises(NoSuchTxnError, match=f"No such transaction txnid:{txn_id}") as caught:
        getattr(store, verb)(TxnId(txn_id))
    assert caught.value.code == 10262


# -- snapshots --------------------------------------------------------------------------------


def test_the_list_of_now(store):
    for _ in range(5):
        begin(store)
    store.abort_txn(TxnId(2))
    store.commit_txn(TxnId(4))
    assert str(store.valid_txns()) == "5:1:1,3,5:2"


def test_the_list_of_a_txn_ends_at_its_own_id_and_leaves_it_out(store):
    for _ in range(5):
        begin(store)
    store.abort_txn(TxnId(1))
    assert str(store.valid_txns(TxnId(3))) == "3:2:2:1"


def test_a_reader_that_sees_a_commit_sees_the_commits_before_it(store):
    """The later id commits first, both after the reader has opened."""
    early, reader = begin(store), begin(store, TxnType.READ_ONLY)
    late = begin(store)
    store.commit_txn(late)
    assert str(store.valid_txns(reader, writes=False)) == "3:1:1:"
    store.commit_txn(early)
    assert str(store.valid_txns(reader, writes=False)) == "3:9223372036854775807::"
    assert str(store.valid_txns(reader)) == "2:9223372036854775807::"


def test_a_block_is_opened_with_the_list_of_that_moment(store):
    early, ended, aborted = begin(store), begin(store), begin(store)
    begin(store, TxnType.READ_ONLY)
    store.commit_txn(ended)
    store.abort_txn(aborted)
    txn, seen = store.open_block("ann", "host1")
    assert (txn, str(seen)) == (5, "5:1:1:3")
    assert [t.txn_id for t in store.show_txns()] == [1, 3, 4, 5]
    reader, of_reader = store.open_block("ann", "host1", TxnType.READ_ONLY)
    assert (reader, str(of_reader)) == (6, "6:1:1,5:3")
    store.commit_txn(early)
    # A repetition, after a lost answer, opens another one.
    again, now = store.open_block("ann", "host1")
    assert (again, str(now)) == (7, "7:5:5:3")
    assert store.show_txns()[-1].type is TxnType.DEFAULT


def test_a_transaction_that_is_opened_with_its_locks_has_the_list_of_that_moment(store):
    early, aborted = begin(store), begin(store)
    store.abort_txn(aborted)
    lock = LockComponent(LockType.SHARED_WRITE, "default", "t", None, WriteOperation.INSERT)
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], [lock], "one")
    assert (opened.txn_id, str(opened.valid_txns)) == (3, "3:1:1:2")
    heir = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], [lock], "two", TxnId(3))
    assert (heir.txn_id, str(heir.valid_txns)) == (4, "4:1:1:2,3")
    store.commit_txn(early)
    assert store.valid_txns(TxnId(4)).is_valid(early)


def test_the_list_of_an_empty_store(store):
    assert str(store.valid_txns()) == "0:9223372036854775807::"


def test_read_only_txns_are_not_listed(store):
    begin(store, TxnType.READ_ONLY)
    begin(store, TxnType.COMPACTION)
    begin(store)
    assert str(store.valid_txns()) == "3:2:2,3:"
    assert [t.txn_id for t in store.show_txns()] == [1, 2, 3]


# -- write conflicts --------------------------------------------------------------------------


def test_the_first_committer_wins_and_the_loser_is_aborted(store):
    first, second = begin(store), store.open_txn("bob", "host2")
    change(store, first)
    change(store, second, WriteOperation.DELETE)
    store.commit_txn(second)
    with pytest.raises(WriteConflictError) as caught:
        store.commit_txn(first)
    error = caught.value
    assert error.message == (
        "Aborting [txnid:1,2] due to a write conflict on default/t committed by [txnid:2,2] u/d"
    )
    assert (error.table, error.partition) == ("default.t", None)
    assert (error.txn_id, error.other_txn_id) == (1, 2)
    assert (error.other_user, error.other_host) == ("bob", "host2")
    (lost,) = store.show_txns()
    assert (lost.txn_id, lost.state) == (1, TxnState.ABORTED)
    assert store.show_locks() == []
    with pytest.raises(TxnAbortedError):
        store.commit_txn(first)


@pytest.mark.parametrize(
    ("own", "other", "conflict"),
    [
        (own, other, own != "i" and other != "i")
        for own in ("i", "u", "d")
        for other in ("i", "u", "d")
    ],
)
def test_which_operations_conflict(store, own, other, conflict):
    slow, fast = begin(store), begin(store)
    change(store, slow, WriteOperation(own))
    change(store, fast, WriteOperation(other))
    store.commit_txn(fast)
    if conflict:
        with pytest.raises(WriteConflictError):
            store.commit_txn(slow)
    else:
        store.commit_txn(slow)
        assert store.show_txns() == []


def test_txns_one_after_the_other_do_not_conflict(store):
    for _ in range(3):
        txn = begin(store)
        change(store, txn)
        store.commit_txn(txn)
    assert store.show_txns() == []


def test_a_txn_opened_after_the_other_one_but_before_its_commit_conflicts(store):
    old = begin(store)
    change(store, old)
    young = begin(store)
    store.commit_txn(old)
    change(store, young)
    with pytest.raises(WriteConflictError, match=r"\[txnid:2,2\].*\[txnid:1,2\]"):
        store.commit_txn(young)


@pytest.mark.parametrize(
    ("table", "partition"), [("other", None), ("t", "p=2"), ("t", None)], ids=str
)
def test_other_tables_and_partitions_do_not_conflict(store, table, partition):
    slow, fast = begin(store), begin(store)
    change(store, slow, partition="p=1")
    change(store, fast, table=table, partition=partition)
    store.commit_txn(fast)
    store.commit_txn(slow)
    assert store.show_txns() == []


def test_dynamic_partitions_are_what_conflicts(store):
    slow, fast = begin(store), begin(store)
    for txn, reached in ((slow, ["p=1", "p=2"]), (fast, ["p=2", "p=3"])):
        write_id = store.allocate_write_id(txn, T)
        everything = LockComponent(
            LockType.SHARED_WRITE, "default", "t", None, WriteOperation.UPDATE, dynamic=True
        )
        store.lock(txn, [everything], "ann", "host1")
        store.add_dynamic_partitions(txn, write_id, T, reached, WriteOperation.UPDATE)
        store.add_dynamic_partitions(txn, write_id, T, reached, WriteOperation.UPDATE)
    store.commit_txn(fast)
    with pytest.raises(WriteConflictError, match="default/t/p=2") as caught:
        store.commit_txn(slow)
    assert caught.value.partition == "p=2"


def test_a_compaction_never_conflicts(store):
    compactor, writer = begin(store, TxnType.COMPACTION), begin(store)
    change(store, compactor)
    change(store, writer)
    store.commit_txn(writer)
    store.commit_txn(compactor)
    assert store.show_txns() == []


def test_a_plain_table_has_no_write_set(store):
    slow, fast = begin(store), begin(store)
    for txn in (slow, fast):
        plain = LockComponent(
            LockType.SHARED_READ, "default", "t", None, WriteOperation.UPDATE, transactional=False
        )
        store.lock(txn, [plain], "ann", "host1")
    store.commit_txn(fast)
    store.commit_txn(slow)
    assert store.show_txns() == []


def test_latest_txn_in_conflict(store):
    waiting = begin(store)
    change(store, waiting)
    assert store.latest_txn_in_conflict(waiting) is None
    for partition in (None, "p=1"):
        winner = store.open_txn("bob", "host2")
        change(store, winner, partition=partition)
        store.commit_txn(winner)
        found = Winner(winner, T, partition, "bob", "host2")
        assert store.latest_txn_in_conflict(waiting) == found
    inserter = begin(store)
    change(store, inserter, WriteOperation.INSERT)
    store.commit_txn(inserter)
    assert store.latest_txn_in_conflict(waiting) == found


def test_latest_txn_in_conflict_of_one_partition(store):
    waiting, other = begin(store), begin(store)
    change(store, waiting, partition="p=1")
    change(store, other, partition="p=2")
    store.commit_txn(other)
    assert store.latest_txn_in_conflict(waiting) is None


# -- time-outs and trimming -------------------------------------------------------------------


def test_only_txns_without_a_heartbeat_time_out(store, clock):
    silent, alive = begin(store), begin(store, TxnType.READ_ONLY)
    clock.pass_s(200)
    store.heartbeat(alive)
    clock.pass_s(100)
    assert store.time_out_txns() == []
    clock.pass_s(0.001)
    assert store.time_out_txns() == [silent]
    assert store.time_out_txns() == []
    with pytest.raises(TxnAbortedError) as caught:
        store.commit_txn(silent)
    assert caught.value.detail == "Reason: heartbeat time-out."
    store.commit_txn(alive)


def test_a_time_out_frees_the_locks(store, clock):
    silent = begin(store)
    exclusive = [LockComponent(LockType.EXCLUSIVE, "default", "t")]
    store.lock(silent, exclusive, "ann", "host1")
    clock.pass_s(301)
    waiter = begin(store)
    asked = store.lock(waiter, exclusive, "bob", "host2")
    assert asked.state.name == "WAITING"
    store.time_out_txns()
    assert store.check_lock(asked.lock_id).state.name == "ACQUIRED"


def test_trim_remembers_how_txns_ended_for_a_while(store, clock):
    committed, aborted = begin(store), begin(store)
    store.commit_txn(committed)
    store.abort_txn(aborted)
    clock.pass_s(600)
    store.trim()
    store.commit_txn(committed)
    with pytest.raises(TxnAbortedError):
        store.heartbeat(aborted)
    clock.pass_s(0.001)
    store.trim()
    for txn in (committed, aborted):
        with pytest.raises(NoSuchTxnError):
            store.heartbeat(txn)
    assert begin(store) == 3


def test_trim_keeps_aborted_txns_that_may_have_left_files(store, clock):
    txn = begin(store)
    change(store, txn, WriteOperation.INSERT)
    store.abort_txn(txn)
    clock.pass_s(10_000)
    store.trim()
    assert str(store.valid_txns()) == "1:9223372036854775807::1"
    ids = store.valid_write_ids([T], store.valid_txns())
    assert str(ids[T]) == "default.t:1:9223372036854775807::1"


@pytest.mark.parametrize("slow_first", [True, False])
def test_trim_keeps_the_write_sets_that_open_txns_may_lose_to(store, slow_first):
    first, second = begin(store), begin(store)
    slow, fast = (first, second) if slow_first else (second, first)
    change(store, slow)
    change(store, fast)
    store.commit_txn(fast)
    store.trim()
    with pytest.raises(WriteConflictError):
        store.commit_txn(slow)


def test_trim_never_hides_a_committed_write(store, clock):
    """Write ids are not in txn order: the early txn here has the later write id."""
    early, late = begin(store), begin(store)
    change(store, late, WriteOperation.INSERT)
    assert store.allocate_write_id(early, T) == 2
    store.abort_txn(late)
    store.commit_txn(early)
    clock.pass_s(10_000)
    store.trim()
    seen = store.valid_write_ids([T], store.valid_txns(begin(store)))[T]
    assert str(seen) == "default.t:2:9223372036854775807::1"
    assert seen.is_valid(WriteId(2))


def test_trim_does_not_change_what_an_open_txn_sees(store, clock):
    writer = begin(store)
    store.allocate_write_id(writer, T)
    reader = begin(store)
    txns = store.valid_txns(reader)
    before = store.valid_write_ids([T], txns)
    store.commit_txn(writer)
    clock.pass_s(1000)
    store.trim()
    assert store.valid_write_ids([T], txns) == before
    assert not before[T].is_valid(WriteId(1))


def test_who_opens_is_alive_at_that_moment(store):
    store.open_txns(3, "ann", "host1")
    assert all(t.started_ms == t.last_heartbeat_ms for t in store.show_txns())

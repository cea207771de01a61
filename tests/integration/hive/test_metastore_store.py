"""The verbs of the transaction manager, asked of real metastores: Hive 4.0.1's and Hive 3.1.3's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.errors import (
    AcidSqlError,
    CompactionRefusedError,
    NoSuchLockError,
    NoSuchTxnError,
    StorageError,
    TxnAbortedError,
    TxnError,
    WriteConflictError,
)
from acidsql.model.ids import LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.conflict import Winner
from acidsql.txn.entities import (
    CompactionState,
    CompactionType,
    LockComponent,
    LockState,
    LockType,
    TxnState,
    TxnType,
    WriteOperation,
)
from acidsql.txn.transaction import OpenTxn
from tests.integration.hive.process import Hive
from tests.integration.hive.proxy import Proxy

pytestmark = pytest.mark.hive

NOBODY = TxnId(10**9)
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def store(hive: Hive) -> Iterator[MetastoreStore]:
    store = MetastoreStore(hive.metastore_url, user="ann")
    yield store
    store.close()


@pytest.fixture
def table() -> TableName:
    """A table of the test's own. There is none of that name: transactions do not ask for it."""
    return TableName("default", f"verbs{next(_numbers)}")


@pytest.fixture
def partitioned(hive: Hive, table: TableName) -> TableName:
    """One that there is."""
    hive.run(
        f"CREATE TABLE {table} (a int) PARTITIONED BY (d string) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    return table


@pytest.fixture
def txns(store: MetastoreStore) -> Iterator[list[TxnId]]:
    """Transactions that are ended after the test."""
    opened = [store.open_txn("ann", "here") for _ in range(3)]
    yield opened
    for txn_id in opened:
        with suppress(AcidSqlError):
            store.abort_txn(txn_id)


def component(
    table: TableName,
    type: LockType = LockType.SHARED_WRITE,
    operation: WriteOperation = WriteOperation.UPDATE,
    *,
    partition: str | None = None,
    dynamic: bool = False,
) -> LockComponent:
    return LockComponent(type, table.database, table.table, partition, operation, dynamic=dynamic)


def write(store: MetastoreStore, txn_id: TxnId, table: TableName, partition: str) -> None:
    """What a statement does that updates a row of a partition, but for the files."""
    write_id = store.allocate_write_id(txn_id, table)
    response = store.lock(txn_id, [component(table, dynamic=True)], "ann", "here")
    assert response.state is LockState.ACQUIRED
    store.add_dynamic_partitions(txn_id, write_id, table, [partition], WriteOperation.UPDATE)


# -- transactions and snapshots


def test_the_life_of_transactions(store: MetastoreStore, table: TableName) -> None:
    mark = store.valid_txns().high_watermark
    one, two, three = store.open_txns(3, "ann", "here")
    assert mark < one < two < three
    shown = {t.txn_id: t for t in store.show_txns()}
    assert (shown[two].state, shown[two].user, shown[two].host) == (TxnState.OPEN, "ann", "here")
    assert 0 < shown[two].started_ms <= shown[two].last_heartbeat_ms
    ids = {t: store.allocate_write_id(t, table) for t in (two, one, three)}
    assert ids == {two: 1, one: 2, three: 3}
    assert store.allocate_write_id(two, table) == 1
    store.commit_txn(one)
    store.abort_txn(three, "changed my mind")

    now = store.valid_txns()
    assert (two in now.open, three in now.aborted, now.is_valid(one)) == (True, True, True)
    own = store.valid_txns(two)
    assert (own.high_watermark, two in own.open) == (two, False)
    seen = store.valid_write_ids([table], now)[table]
    assert [seen.is_valid(WriteId(i)) for i in (1, 2, 3)] == [False, True, False]
    assert (seen.open, seen.aborted) == ({1}, {3})
    # It does not see what has begun after it, but what has begun before and ended since.
    assert store.valid_write_ids([table], own)[table].is_valid(WriteId(2))
    store.abort_txn(two)
    assert {t.txn_id: t.state for t in store.show_txns()}[two] is TxnState.ABORTED


def test_what_has_ended(store: MetastoreStore, hive: Hive, table: TableName) -> None:
    committed, aborted = store.open_txns(2, "ann", "here")
    write(store, committed, table, "d=1")
    store.commit_txn(committed)
    store.abort_txn(aborted)
    store.abort_txn(aborted)
    for txn_id, kind in ((committed, NoSuchTxnError), (aborted, TxnAbortedError),
                         (NOBODY, NoSuchTxnError)):  # fmt: skip
        with pytest.raises(kind):
            store.heartbeat(txn_id)
        if (txn_id, hive.version) != (committed, 4):  # which grants it, to nobody's use
            with pytest.raises(kind):
                store.lock(txn_id, [component(table)], "ann", "here")
        with pytest.raises(kind):
            store.add_dynamic_partitions(txn_id, WriteId(1), table, ["d=1"], WriteOperation.INSERT)
    for txn_id, kind in ((aborted, TxnAbortedError), (NOBODY, NoSuchTxnError)):
        with pytest.raises(kind):
            store.commit_txn(txn_id)
    with pytest.raises(NoSuchTxnError) as caught:
        store.abort_txn(committed)
    assert caught.value.committed
    ended = store.heartbeat_txn_range(committed, aborted)
    assert (ended.aborted, ended.nosuch) == ({aborted}, {committed})
    assert store.abort_txns([committed, aborted]) == []
    with pytest.raises(TxnAbortedError):
        store.allocate_write_id(aborted, table)


def test_read_only_transactions(store: MetastoreStore, hive: Hive, table: TableName) -> None:
    reader = store.open_txn("ann", "here", TxnType.READ_ONLY)
    # Hive 3.1 does not know the type.
    assert (reader in store.valid_txns().open) == (hive.version == 3)
    if hive.version == 4:
        with pytest.raises(StorageError, match="allocate_table_write_ids"):
            store.allocate_write_id(reader, table)
    store.commit_txn(reader)


# -- locks

SR, SW, XW, EX = (
    LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE,
)  # fmt: skip
BESIDE = {
    4: {(SR, SR), (SR, SW), (SR, XW), (SW, SR), (SW, SW), (XW, SR)},
    # EXCL_WRITE is asked for as SHARED_WRITE, beside which there is no other.
    3: {(SR, SR), (SR, SW), (SR, XW), (SW, SR), (XW, SR)},
}


@pytest.mark.parametrize("asked", LockType)
@pytest.mark.parametrize("held", LockType)
def test_which_locks_go_together(
    store: MetastoreStore,
    hive: Hive,
    table: TableName,
    txns: list[TxnId],
    held: LockType,
    asked: LockType,
) -> None:
    holder, other, _ = txns
    first = store.lock(holder, [component(table, held)], "ann", "here", "query 1")
    assert first.state is LockState.ACQUIRED
    second = store.lock(other, [component(table, asked)], "bob", "there")
    assert (second.state is LockState.ACQUIRED) == ((asked, held) in BESIDE[hive.version])
    if second.state is LockState.WAITING:
        assert f"lockid:{first.lock_id} of txnid:{holder} (ann@here)" in (second.blocked_by or "")
        assert store.check_lock(second.lock_id).state is LockState.WAITING
        store.commit_txn(holder)
        assert store.check_lock(second.lock_id).state is LockState.ACQUIRED


def test_which_places_meet(store: MetastoreStore, table: TableName, txns: list[TxnId]) -> None:
    whole_database = LockComponent(EX, table.database)
    places = {
        "table": component(table, EX),
        "one partition": component(table, EX, partition="d=1"),
        "another": component(table, EX, partition="d=2"),
    }
    met = set()
    for (held, first), (asked, second) in itertools.product(places.items(), repeat=2):
        one, two = store.open_txns(2, "ann", "here")
        assert store.lock(one, [first], "ann", "here").state is LockState.ACQUIRED
        if store.lock(two, [second], "ann", "here").state is LockState.WAITING:
            met.add((held, asked))
        store.abort_txns([one, two])
    assert met == {
        pair for pair in itertools.product(places, repeat=2)
        if pair not in {("one partition", "another"), ("another", "one partition")}
    }  # fmt: skip
    holder, other, _ = txns
    store.lock(holder, [places["another"]], "ann", "here")
    assert store.lock(other, [whole_database], "ann", "here").state is LockState.WAITING


def test_one_request_is_granted_as_a_whole_and_nobody_overtakes(
    store: MetastoreStore, table: TableName, txns: list[TxnId]
) -> None:
    reader, writer, late = txns
    other = TableName(table.database, f"{table.table}_other")
    store.lock(reader, [component(table, SR)], "ann", "here")
    both = [component(table, EX), component(other, EX)]
    waiting = store.lock(writer, both, "ann", "here")
    assert waiting.state is LockState.WAITING
    behind = store.lock(late, [component(table, SR)], "ann", "here")
    assert behind.state is LockState.WAITING
    shown = [x for x in store.show_locks() if x.txn_id in txns]
    assert [(x.txn_id, x.internal_id, x.state) for x in shown] == [
        (reader, 1, LockState.ACQUIRED),
        (writer, 1, LockState.WAITING),
        (writer, 2, LockState.WAITING),
        (late, 1, LockState.WAITING),
    ]
    assert [x.blocked_by_lock_id for x in shown][1] == shown[0].lock_id
    store.unlock(waiting.lock_id)
    store.unlock(waiting.lock_id)
    assert store.check_lock(behind.lock_id).state is LockState.ACQUIRED
    with pytest.raises(TxnError, match="not permitted"):
        store.unlock(behind.lock_id)


def test_locks_go_with_their_transaction(
    store: MetastoreStore, table: TableName, txns: list[TxnId]
) -> None:
    lock_id = store.lock(txns[0], [component(table, EX)], "ann", "here").lock_id
    store.abort_txn(txns[0])
    with pytest.raises(NoSuchLockError):
        store.check_lock(lock_id)
    with pytest.raises(NoSuchLockError):
        store.check_lock(LockId(10**9))


# -- who comes second


def test_the_second_writer_of_a_partition_loses(
    store: MetastoreStore, hive: Hive, table: TableName, txns: list[TxnId]
) -> None:
    one, two, three = txns
    write(store, one, table, "d=1")
    if hive.version == 4:
        write(store, two, table, "d=1")
        write(store, three, table, "d=2")
    store.commit_txn(one)
    if hive.version == 3:
        # Only now may they, as their locks would have waited.
        write(store, two, table, "d=1")
        store.abort_txn(store.open_txn("ann", "here"))
    else:
        assert store.latest_txn_in_conflict(two) == Winner(one)
        store.commit_txn(three)
    with pytest.raises(WriteConflictError) as caught:
        store.commit_txn(two)
    error = caught.value
    assert (error.table, error.partition) == (str(table), "d=1")
    assert (error.txn_id, error.other_txn_id) == (two, one)
    with pytest.raises(TxnAbortedError):
        store.heartbeat(two)


def test_who_waited_learns_who_won(
    store: MetastoreStore, hive: Hive, table: TableName, txns: list[TxnId]
) -> None:
    one, two, three = txns
    change = [component(table, XW, partition="d=1")]
    for txn_id in (one, two):
        store.allocate_write_id(txn_id, table)
    store.lock(one, change, "ann", "here")
    waiting = store.lock(two, change, "ann", "here")
    assert store.latest_txn_in_conflict(two) is None
    store.commit_txn(one)
    assert store.check_lock(waiting.lock_id).state is LockState.ACQUIRED
    assert store.latest_txn_in_conflict(two) == Winner(one)
    store.abort_txn(two)
    # An end that changes nothing is no reason to begin anew.
    store.lock(three, change, "ann", "here")
    four = store.open_txn("ann", "here")
    waiting = store.lock(four, change, "ann", "here")
    store.abort_txn(three)
    assert store.check_lock(waiting.lock_id).state is LockState.ACQUIRED
    assert store.latest_txn_in_conflict(four) is None
    store.abort_txn(four)


# -- compactions


def test_the_queue(store: MetastoreStore, hive: Hive, partitioned: TableName) -> None:
    table = partitioned
    hive.run(f"ALTER TABLE {table} ADD PARTITION (d = '1')")
    number = store.compact(table, "d=1", CompactionType.MAJOR, host="here")
    with pytest.raises(CompactionRefusedError, match=f"id={number}"):
        store.compact(table, "d=1", CompactionType.MINOR, host="here")
    entry = store.show_compactions()[0]
    assert (entry.compaction_id, entry.database, entry.table, entry.partition) == (
        number, "default", table.table, "d=1",
    )  # fmt: skip
    assert (entry.type, entry.state) == (CompactionType.MAJOR, CompactionState.INITIATED)
    taken = store.next_compaction("ours")
    if hive.version == 3:
        assert taken is None
        hive.work()
        return
    assert taken is not None
    assert (taken.compaction_id, taken.worker_id) == (number, "ours")
    assert store.next_compaction("ours") is None
    store.mark_refused(number, "nothing to do")
    entry = store.show_compactions()[0]
    assert (entry.state, entry.error_message) == (CompactionState.REFUSED, "nothing to do")


def test_a_compaction_of_ours(store: MetastoreStore, hive: Hive, partitioned: TableName) -> None:
    if hive.version == 3:
        return
    table = partitioned
    hive.run(f"INSERT INTO {table} VALUES (1, '1')")
    numbers = []
    for _ in range(2):
        numbers.append(store.compact(table, "d=1", CompactionType.MAJOR, host="here"))
        assert store.next_compaction("ours") is not None
        txn_id = store.open_txn("ann", "here", TxnType.COMPACTION)
        store.compaction_started(numbers[-1], txn_id, WriteId(1))
        if len(numbers) == 1:
            store.mark_failed(numbers[-1], "no room")
            store.abort_txn(txn_id)
    store.mark_compacted(numbers[1])
    store.commit_txn(txn_id)
    done, failed = (
        next(c for c in store.show_compactions() if c.compaction_id == number)
        for number in reversed(numbers)
    )
    assert (failed.state, failed.error_message) == (CompactionState.FAILED, "no room")
    assert done.state is CompactionState.READY_FOR_CLEANING
    assert done.txn_id == txn_id
    assert done.commit_ms


# -- ids that are passed over


def test_write_ids_begin_later(store: MetastoreStore, table: TableName) -> None:
    store.seed_write_id(table, WriteId(5))
    store.seed_write_id(table, WriteId(3))
    txn_id = store.open_txn("ann", "here")
    assert store.allocate_write_id(txn_id, table) == 6
    seen = store.valid_write_ids([table], store.valid_txns(txn_id))[table]
    assert [seen.is_valid(WriteId(i)) for i in (1, 5, 6)] == [True, True, True]
    store.seed_write_id(table, WriteId(8))
    other = store.open_txn("ann", "here")
    assert store.allocate_write_id(other, table) == 9
    store.abort_txns([txn_id, other])


def test_transactions_begin_later(store: MetastoreStore) -> None:
    highest = TxnId(store.valid_txns().high_watermark + 20)
    store.seed_txn_id(highest)
    txn_id = store.open_txn("ann", "here")
    assert txn_id > highest
    store.abort_txn(txn_id)


# -- what breaks


@pytest.fixture
def proxied(hive: Hive) -> Iterator[tuple[Proxy, MetastoreStore]]:
    assert hive.metastore_port is not None
    proxy = Proxy(hive.metastore_port)
    # The first server of the two is not there.
    store = MetastoreStore(f"thrift://127.0.0.1:1,127.0.0.1:{proxy.port}", user="ann")
    yield proxy, store
    store.close()
    proxy.close()


@pytest.mark.parametrize("writes", [True, False], ids=["writes", "empty"])
def test_a_lost_answer_to_a_commit(
    proxied: tuple[Proxy, MetastoreStore], table: TableName, writes: bool
) -> None:
    proxy, store = proxied
    txn = OpenTxn(store, user="ann", host="here")
    if writes:
        write(store, txn.txn_id, table, "d=1")
    proxy.loses = True
    txn.commit()
    assert not proxy.loses
    assert store.valid_txns().is_valid(txn.txn_id)


def test_lost_answers_of_other_verbs(
    proxied: tuple[Proxy, MetastoreStore], table: TableName
) -> None:
    proxy, store = proxied
    before = store.valid_txns().open
    proxy.loses = True
    txn_id = store.open_txn("ann", "here")
    # The one that nobody knows of would keep Hive from cleaning up until it is timed out.
    [orphan] = store.valid_txns().open - before - {txn_id}
    store.abort_txn(orphan)
    proxy.loses = True
    write_id = store.allocate_write_id(txn_id, table)
    assert write_id == store.allocate_write_id(txn_id, table) == 1
    proxy.loses = True
    lock = store.lock(txn_id, [component(table, EX)], "ann", "here")
    assert lock.state is LockState.ACQUIRED
    proxy.loses = True
    store.heartbeat(txn_id)
    proxy.loses = True
    with pytest.raises(StorageError, match="did not answer to compact2"):
        store.compact(table, None, CompactionType.MAJOR)
    proxy.loses = True
    store.abort_txn(txn_id)
    assert txn_id in store.valid_txns().aborted


def test_settings_of_the_metastore(store: MetastoreStore) -> None:
    assert store.setting("hive.txn.timeout") == "300s"
    assert store.setting("javax.jdo.option.ConnectionURL") == ""

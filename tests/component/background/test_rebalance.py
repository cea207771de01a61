"""A rebalance from its statement to its cleaning, alone and beside other transactions."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from acidsql.errors import WriteConflictError
from acidsql.model.ids import WriteId
from acidsql.txn.entities import TxnType
from acidsql.txn.policy import TxnPolicy
from tests.component.background.rebalance_sessions import Place, T

pytestmark = pytest.mark.sqlite

ACID = "TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def place(tmp_path: Path):
    with Place(tmp_path) as made:
        made.session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
        yield made


def test_the_rows_move_into_new_files(place):
    for number in range(5):
        place.session.execute(f"INSERT INTO t VALUES ({number}, 'a'), ({number + 10}, 'b')")
    place.update(3, "new")
    place.delete(14)
    rows = place.rows()
    result = place.session.execute(
        "ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 3 BUCKETS AND WAIT ORDER BY k DESC"
    )
    assert result.message == (
        "Compaction enqueued with id 1\n"
        "Compaction with id 1 finished with status: ready for cleaning"
    )
    assert place.rows() == rows
    assert [k for _, (k, _) in sorted(place.row_ids().items())] == [13, 12, 11, 10, 4, 3, 2, 1, 0]
    assert place.session.run_cleaner() == 1
    assert place.directories() == ["base_0000008"]
    assert place.rows() == rows
    assert place.session.execute("CHECK TABLE t").fetchall() == []
    place.update(3, "newer")
    assert dict(place.rows())[3] == "newer"
    [entry] = place.store.show_compactions()
    assert (entry.state.word, entry.highest_write_id) == ("succeeded", 8)


def test_the_column_to_sort_by_was_renamed_meanwhile(place):
    place.session.execute("INSERT INTO t VALUES (1, 'b'), (2, 'a')")
    place.session.execute("ALTER TABLE t COMPACT 'rebalance' ORDER BY v")
    place.session.execute("ALTER TABLE t RENAME COLUMN v TO w")
    before = place.row_ids()
    assert place.session.run_worker() == 0
    [entry] = place.store.show_compactions()
    reason = 'the rebalance is to sort by "v", which is no column of default.t'
    assert (entry.state.word, entry.error_message) == ("failed", reason)
    assert place.row_ids() == before


def test_a_reader_that_began_before_reads_the_old_files(place):
    place.session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    with Place(place.root) as other:
        other.session.execute("BEGIN")
        before = other.row_ids()
        place.rebalance()
        assert place.session.run_cleaner() == 0
        assert other.row_ids() == before
        waits = place.session.execute("SHOW COMPACTIONS").fetchall()[0][-1]
        assert waits.startswith("transaction ")
        assert "by ann@host1, open for " in waits
        other.session.execute("COMMIT")
    assert place.session.run_cleaner() == 1
    assert place.row_ids() != before
    assert place.session.execute("SHOW COMPACTIONS").fetchall()[0][-1] == " --- "


def test_a_cleaning_waits_for_who_began_beside_an_older_reader(place):
    place.session.execute("INSERT INTO t VALUES (1, 'a')")
    with Place(place.root) as older, Place(place.root) as younger:
        older.session.execute("BEGIN")
        place.rebalance()
        younger.session.execute("BEGIN")
        older.session.execute("COMMIT")
        assert place.session.run_cleaner() == 0
        waits = place.session.execute("SHOW COMPACTIONS").fetchall()[0][-1]
        assert waits.endswith(" s, which began beside an older one")
        younger.session.execute("COMMIT")
    assert place.session.run_cleaner() == 1


@pytest.mark.parametrize("change", ["update", "delete"])
def test_a_change_on_a_snapshot_from_before_is_refused(place, change):
    """Its row ids may be those of other rows by now, or of none."""
    place.session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    with Place(place.root) as other:
        other.session.execute("BEGIN")
        other.rows()
        place.rebalance()
        rows = place.rows()
        act = partial(other.update, 2, "lost") if change == "update" else partial(other.delete, 2)
        with pytest.raises(WriteConflictError):
            act()
    assert place.rows() == rows


def test_a_change_that_waits_for_the_rebalance_begins_anew(place, monkeypatch):
    place.session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    started = threading.Event()
    real = place.engine.rebalance
    with Place(place.root) as other:
        changing = threading.Thread(target=other.update, args=(2, "kept"))

        def beside(*args):
            changing.start()
            started.set()
            while not any(lock.state.name == "WAITING" for lock in other.store.show_locks()):
                changing.join(0.01)
            real(*args)

        monkeypatch.setattr(place.engine, "rebalance", beside)
        place.rebalance()
        changing.join()
        assert place.rows() == [(1, "a"), (2, "kept")]
    assert place.session.execute("CHECK TABLE t").fetchall() == []


def test_an_insert_beside_it_stays(place, monkeypatch):
    place.session.execute("INSERT INTO t VALUES (1, 'a')")
    real = place.engine.rebalance
    with Place(place.root) as other:

        def beside(*args):
            other.session.execute("INSERT INTO t VALUES (2, 'b')")
            real(*args)

        monkeypatch.setattr(place.engine, "rebalance", beside)
        place.rebalance()
    assert place.rows() == [(1, "a"), (2, "b")]
    place.session.run_cleaner()
    assert place.rows() == [(1, "a"), (2, "b")]


def test_a_higher_write_id_of_an_older_transaction_is_not_read(place, monkeypatch):
    """The snapshot sees it, but the base does not hide it: its rows would be there twice."""
    place.session.execute("INSERT INTO t VALUES (1, 'a')")
    real = place.store.valid_txns
    with Place(place.root) as other:
        other.session.execute("BEGIN")

        def after_the_write_id(*args):
            monkeypatch.setattr(place.store, "valid_txns", real)
            other.session.execute("INSERT INTO t VALUES (2, 'b')")
            other.session.execute("COMMIT")
            return real(*args)

        monkeypatch.setattr(place.store, "valid_txns", after_the_write_id)
        place.rebalance()
    assert place.directories() == [
        "base_0000002", "delta_0000001_0000001_0000", "delta_0000003_0000003_0000",
    ]  # fmt: skip
    assert place.rows() == [(1, "a"), (2, "b")]


def test_it_waits_for_a_write_that_is_open(tmp_path):
    """A base of a higher write id would hide that write. Our lock is free meanwhile."""
    with Place(tmp_path) as place, Place(tmp_path) as other:
        place.session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
        place.session.execute("INSERT INTO t VALUES (1, 'a')")
        other.session.execute("BEGIN")
        other.session.execute("INSERT INTO t VALUES (2, 'b')")
        slept = []

        def sleep(seconds):
            slept.append(seconds)
            if len(slept) == 2:
                # The lock is free, although a worker waits to rebalance.
                other.update(1, "changed")
                other.session.execute("COMMIT")

        place.sleep = sleep
        place.rebalance()
        assert len(slept) == 2
        assert place.rows() == [(1, "changed"), (2, "b")]
        assert place.store.show_compactions()[0].state.word == "ready for cleaning"


@pytest.mark.parametrize("ended", ["committed", "aborted"])
def test_a_lower_write_id_of_a_later_transaction(place, monkeypatch, ended):
    """As over a Hive Metastore, where others come between opening and the write id."""
    for key in (1, 2):
        place.session.execute(f"INSERT INTO t VALUES ({key}, 'a')")
    real, asked = place.store.valid_write_ids, []

    def snapshots(tables, txns):
        """The second one is that of the rebalance: it does not know what became of id 1."""
        found = real(tables, txns)
        asked.append(txns)
        if len(asked) == 2:
            return {T: replace(found[T], open=frozenset({WriteId(1)}))}
        if len(asked) == 1 and ended == "aborted":
            return {T: replace(found[T], aborted=frozenset({WriteId(1)}))}
        return found

    slept = []
    place.sleep = slept.append
    monkeypatch.setattr(place.store, "valid_write_ids", snapshots)
    place.rebalance()
    monkeypatch.undo()
    assert len(slept) == 1
    assert place.rows() == [(1, "a"), (2, "a")]


def test_it_does_not_wait_for_ever(tmp_path):
    with Place(tmp_path, TxnPolicy(lock_retries=2)) as place, Place(tmp_path) as other:
        place.session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
        other.session.execute("BEGIN")
        other.session.execute("INSERT INTO t VALUES (2, 'b')")
        place.sleep = lambda _: None
        place.session.execute("ALTER TABLE t COMPACT 'rebalance'")
        assert place.session.run_worker() == 0
        [entry] = place.store.show_compactions()
        assert entry.state.word == "failed"
        assert "could not begin in time: write id 1 of default.t is open" in entry.error_message
        other.session.execute("COMMIT")
        assert place.rows() == [(2, "b")]


def test_what_a_killed_rebalance_has_published_does_not_count(place, monkeypatch):
    """The base has its name, but its write id is never committed."""
    place.session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    ids = place.row_ids()
    monkeypatch.setattr(place.store, "mark_compacted", lambda _: 1 / 0)
    place.rebalance()
    monkeypatch.undo()
    assert "base_0000002" in place.directories()
    assert place.row_ids() == ids
    place.update(2, "c")
    assert place.rows() == [(1, "a"), (2, "c")]
    assert place.store.show_compactions()[0].state.word == "failed"
    place.session.execute("ALTER TABLE t COMPACT 'rebalance' AND WAIT")
    assert place.rows() == [(1, "a"), (2, "c")]


def test_a_base_that_is_lost_is_noticed(place):
    place.session.execute("INSERT INTO t VALUES (1, 'a')")
    place.rebalance()
    shutil.rmtree(place.root / "w" / "t" / "base_0000002")
    found = place.session.execute("CHECK TABLE t").fetchall()
    assert [row[2] for row in found] == ["missing write"]


def test_bucketed_tables_are_refused_as_in_hive(place):
    place.session.execute(
        f"CREATE TABLE b (k int, v string) CLUSTERED BY (k) INTO 2 BUCKETS {ACID}"
    )
    result = place.session.execute("ALTER TABLE b COMPACT 'rebalance' AND WAIT")
    assert result.message.endswith(
        "status: refused\nCannot execute rebalancing compaction on bucketed tables."
    )


def test_in_insert_only_tables_it_is_a_major_compaction(place):
    place.session.execute(
        "CREATE TABLE i (k int, v string) TBLPROPERTIES ('transactional' = 'true',"
        " 'transactional_properties' = 'insert_only')"
    )
    for number in (1, 2):
        place.session.execute(f"INSERT INTO i VALUES ({number}, 'a')")
    place.session.execute("ALTER TABLE i COMPACT 'rebalance' AND WAIT")
    assert "base_0000002" in place.directories("i")


def test_its_transaction_has_a_type_of_its_own(place, monkeypatch):
    place.session.execute("INSERT INTO t VALUES (1, 'a')")
    seen = []
    real = place.engine.rebalance

    def beside(*args):
        seen.append([(t.type, t.state.name) for t in place.store.show_txns()])
        seen.append([(lock.type.name, lock.state.name) for lock in place.store.show_locks()])
        real(*args)

    monkeypatch.setattr(place.engine, "rebalance", beside)
    place.rebalance()
    assert seen == [[(TxnType.REBALANCE_COMPACTION, "OPEN")], [("EXCL_WRITE", "ACQUIRED")]]


def test_one_partition(place):
    place.session.execute(f"CREATE TABLE p (k int, v string) PARTITIONED BY (d int) {ACID}")
    for day in (1, 1, 2):
        place.session.execute(f"INSERT INTO p PARTITION (d = {day}) VALUES ({day}, 'a')")
    place.session.execute("ALTER TABLE p PARTITION (d = 1) COMPACT 'rebalance' AND WAIT")
    place.session.run_cleaner()
    assert place.directories("p/d=1") == ["base_0000004"]
    assert place.directories("p/d=2") == ["delta_0000003_0000003_0000"]
    assert len(place.session.execute("SELECT * FROM p").fetchall()) == 3


def test_a_rebalance_of_all_partitions(place):
    place.session.execute(f"CREATE TABLE p (k int, v string) PARTITIONED BY (d int) {ACID}")
    for day in (1, 2):
        place.session.execute(f"INSERT INTO p PARTITION (d = {day}) VALUES ({day}, 'a')")
    message = place.session.execute("ALTER TABLE p COMPACT 'rebalance' AND WAIT").message
    assert message.count("ready for cleaning") == 2
    assert place.directories("p/d=1") == ["base_0000003", "delta_0000001_0000001_0000"]

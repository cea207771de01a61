"""What is told of a compaction that a statement asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.backends.memory import MemoryStore
from acidsql.definitions.compaction_request import WAIT_S, outcome, wait_for_compaction
from acidsql.errors import AnalysisError
from acidsql.model.ids import CompactionId
from acidsql.model.names import TableName
from acidsql.txn.entities import CompactionType
from acidsql.txn.policy import TxnPolicy

TABLE = TableName("default", "t")


def queued() -> tuple[MemoryStore, CompactionId]:
    store = MemoryStore(lambda: 0, TxnPolicy(), "/warehouse")
    return store, store.compact(TABLE, None, CompactionType.MAJOR)


def test_a_compaction_that_another_worker_carries_out() -> None:
    store, number = queued()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            assert store.next_compaction("theirs") is not None
        if len(slept) == 3:
            store.mark_refused(number, "nothing to do")

    wait_for_compaction(number, store, sleep)
    assert slept == [2, 4, 8]
    (entry,) = store.show_compactions()
    message = "\n".join(outcome(number, entry, finished=True))
    assert message == (
        "Compaction enqueued with id 1\n"
        "Compaction with id 1 finished with status: refused\n"
        "nothing to do"
    )


def test_a_compaction_that_nobody_carries_out() -> None:
    store, number = queued()
    slept: list[float] = []
    wait_for_compaction(number, store, slept.append)
    assert sum(slept) == WAIT_S
    (entry,) = store.show_compactions()
    message = "\n".join(outcome(number, entry, finished=True))
    assert message == "Compaction enqueued with id 1\nCompaction with id 1 is still initiated"


def test_a_compaction_that_is_gone() -> None:
    store, number = queued()
    wait_for_compaction(CompactionId(number + 1), store, lambda _: 1 / 0)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[acidsql.Session]:
    """A table of three partitions, of which one has deltas enough."""
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session.execute(
            "CREATE TABLE p (id int) PARTITIONED BY (d int, h int) TBLPROPERTIES"
            " ('transactional' = 'true', 'compactorthreshold.hive.compactor.delta.num.threshold' ="
            " '1')"
        )
        for day, hour in ((1, 1), (1, 1), (1, 2), (2, 1)):
            session.execute(f"INSERT INTO p VALUES (0, {day}, {hour})")
        yield session


def lines(session: acidsql.Session, sql: str) -> list[str]:
    message = session.execute(sql).message
    assert message is not None
    return message.splitlines()


NOT_ENOUGH = "Not enough deltas to initiate compaction for table=p partition="


def test_each_partition_is_looked_at(session: acidsql.Session) -> None:
    """Without a base the initiator asks for a major compaction, whatever the statement says."""
    assert lines(session, "ALTER TABLE p COMPACT 'minor'") == [
        f"{NOT_ENOUGH}d=1/h=2",
        f"{NOT_ENOUGH}d=2/h=1",
        "Compaction enqueued with id 1",
    ]
    [entry] = session._store.show_compactions()
    assert (entry.partition, entry.type, entry.initiator) == (
        "d=1/h=1", CompactionType.MAJOR, "manual",
    )  # fmt: skip
    assert lines(session, "ALTER TABLE p COMPACT 'major' AND WAIT")[0] == (
        "Compaction request for default.p partition(d=1/h=1) is refused, details: Compaction is"
        " already scheduled with state='initiated' and id=1"
    )


def test_thresholds_of_the_request_count(session: acidsql.Session) -> None:
    found = lines(
        session,
        "ALTER TABLE p COMPACT 'minor' WITH OVERWRITE TBLPROPERTIES"
        " ('compactorthreshold.hive.compactor.delta.num.threshold' = '0')",
    )
    assert found == [f"Compaction enqueued with id {n}" for n in (1, 2, 3)]


def test_waiting_tells_of_each(session: acidsql.Session) -> None:
    found = lines(session, "ALTER TABLE p COMPACT 'rebalance' AND WAIT")
    assert found[1::2] == [
        f"Compaction with id {n} finished with status: ready for cleaning" for n in (1, 2, 3)
    ]


def test_a_table_without_partitions(session: acidsql.Session) -> None:
    session.execute("CREATE TABLE e (id int) PARTITIONED BY (d int) TBLPROPERTIES"
                    " ('transactional' = 'true')")  # fmt: skip
    assert lines(session, "ALTER TABLE e COMPACT 'major' AND WAIT") == ["OK"]


def test_part_of_a_partition_is_enough_if_one_fits(session: acidsql.Session) -> None:
    session.execute("ALTER TABLE p PARTITION (h = 2) COMPACT 'major'")
    assert session._store.show_compactions()[0].partition == "d=1/h=2"
    for clause, code in (("d = 1", 10284), ("d = 9", 10214)):
        with pytest.raises(AnalysisError) as caught:
            session.execute(f"ALTER TABLE p PARTITION ({clause}) COMPACT 'major'")
        assert (caught.value.code, caught.value.line, caught.value.column) == (code, 1, 13)


def test_the_pool_default_is_none(session: acidsql.Session) -> None:
    session.execute("ALTER TABLE p SET TBLPROPERTIES ('hive.compactor.worker.pool' = 'own')")
    session.execute("ALTER TABLE p PARTITION (h = 2) COMPACT 'major'")
    session.execute("ALTER TABLE p PARTITION (d = 2) COMPACT 'major' POOL 'Default'")
    pools = [c.options.pool for c in session._store.show_compactions()]
    assert pools == [None, "own"]

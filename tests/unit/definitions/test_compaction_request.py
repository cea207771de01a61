"""What is told of a compaction that a statement asked for."""

from __future__ import annotations

from acidsql.backends.memory import MemoryStore
from acidsql.definitions.compaction_request import WAIT_S, outcome, wait_for_compaction
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

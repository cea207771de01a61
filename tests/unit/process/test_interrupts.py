"""Ctrl-C that waits, as real signals."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.process.interrupts import uninterrupted
from acidsql.txn.entities import LockComponent, LockType, Opened, TxnState, WriteOperation
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import TxnOpener


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """PySpark, if it runs in this process, has put its own handler in the place of Python's."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("times", "insisting", "reached"),
    [(1, False, 1), (3, False, 3), (1, True, 1), (2, True, 1)],
)
def test_an_interrupt_waits(times: int, insisting: bool, reached: int) -> None:
    steps = []

    def block() -> None:
        with uninterrupted(unless_repeated=insisting):
            for step in range(times):
                signal.raise_signal(signal.SIGINT)
                steps.append(step)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert len(steps) == reached


class Interrupted(MemoryStore):
    """A store whose answers come just after Ctrl-C."""

    def open_locked(self, *arguments: object, **options: object) -> Opened:
        opened = super().open_locked(*arguments, **options)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGINT)
        return opened


def test_no_transaction_stays_behind_that_nobody_knows_of() -> None:
    store = Interrupted(lambda: 0, TxnPolicy(), "/warehouse")
    component = LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.UPDATE)
    opener = TxnOpener(store, "ann", "here", TxnPolicy())
    with pytest.raises(KeyboardInterrupt):
        opener(components=[component])
    assert [info.state for info in store.show_txns()] == [TxnState.ABORTED]
    assert store.show_locks() == []

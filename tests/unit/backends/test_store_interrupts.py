"""Ctrl-C at every line of a verb: the verb is done or undone, and the store goes on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from acidsql.backends.postgres import PostgresStore
from acidsql.backends.relational.store import RelationalStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.model.ids import TxnId
from acidsql.txn.entities import LockComponent, LockState, LockType, WriteOperation
from acidsql.txn.policy import TxnPolicy

UPDATE = LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """PySpark, if it runs in this process, has put its own handler in the place of Python's."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@contextmanager
def at_line(number: int, act: Callable[[], None]) -> Iterator[list[int]]:
    """Act before a line, or as a function returns, counted over all that runs in a block.

    Gives a list with the lines so far.
    """
    lines = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        lines[0] += 1
        if lines[0] == number:
            act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=pytest.mark.sqlite),
        pytest.param("postgres", marks=pytest.mark.postgres),
    ]
)
def stores(
    request: pytest.FixtureRequest, tmp_path: Any
) -> Iterator[tuple[RelationalStore, RelationalStore]]:
    """Two clients of one store."""
    if request.param == "sqlite":
        path, policy = str(tmp_path / "store.db"), TxnPolicy()
        pair = [SqliteStore(path, policy=policy, busy_timeout_s=0.5) for _ in range(2)]
    else:
        url = request.getfixturevalue("postgres").fresh()
        pair = [PostgresStore(url, lock_timeout_s=0.5) for _ in range(2)]
    yield pair[0], pair[1]
    for store in pair:
        store.close()


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def lock(store: RelationalStore, txn_id: TxnId) -> None:
    store.lock(txn_id, [UPDATE], "ann", "here", "test")


def test_ctrl_c_leaves_a_store_that_answers(
    stores: tuple[RelationalStore, RelationalStore],
) -> None:
    store, other = stores
    # A verb takes milliseconds over a socket.
    step = 1 if isinstance(store, SqliteStore) else 7
    number = 0
    interrupted = True
    while interrupted:
        number += step
        txn_id = store.open_txn("ann", "here")
        with suppress(KeyboardInterrupt), at_line(number, interrupt) as lines:
            lock(store, txn_id)
        interrupted = lines[0] >= number
        # What follows sees the verb's whole effect or none, and keeps nobody waiting.
        states = [row.state for row in store.show_locks()]
        assert states in ([], [LockState.ACQUIRED])
        assert [row.state for row in other.show_locks()] == states
        other.abort_txn(txn_id, "the end")
        assert other.show_locks() == store.show_locks() == []
    assert number > 100

"""Sessions on a store in memory, whose clock is moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.session.session import Session
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine
from tests.unit.backends.conftest import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> MemoryStore:
    return MemoryStore(clock, TxnPolicy(), str(tmp_path / "w"))


@pytest.fixture
def open_session(tmp_path: Path, store: MemoryStore) -> Iterator[Callable[..., Session]]:
    """Sessions that share the store, each with an engine of its own."""
    opened: list[Session] = []

    def open_one(engine: PythonEngine | None = None, **options: object) -> Session:
        session = Session(
            store=store, engine=engine or PythonEngine(LocalStorage(), None, {}),
            storage=LocalStorage(), policy=TxnPolicy(), warehouse=str(tmp_path / "w"),
            user="ann", host="host1", heartbeats=Heartbeats(1), **options,
        )  # fmt: skip
        opened.append(session)
        return session

    yield open_one
    for session in opened:
        session.close()

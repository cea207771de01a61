"""All stores, driven by the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore
from acidsql.txn.policy import TxnPolicy

Store = MemoryStore | SqliteStore | PostgresStore


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now_ms: int = 1_000_000

    def __call__(self) -> int:
        return self.now_ms

    def pass_s(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(
    params=[
        "memory",
        pytest.param("sqlite", marks=pytest.mark.sqlite),
        pytest.param("postgres", marks=pytest.mark.postgres),
    ]
)
def make_store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> Iterator[Callable[[TxnPolicy], Store]]:
    opened: list[Store] = []

    def make(policy: TxnPolicy) -> Store:
        store: Store
        match request.param:
            case "memory":
                store = MemoryStore(clock, policy, "/warehouse")
            case "sqlite":
                path = str(tmp_path / "store.db")
                store = SqliteStore(path, warehouse="/warehouse", policy=policy, clock_ms=clock)
            case _:
                url = request.getfixturevalue("postgres").fresh()
                store = PostgresStore(url, warehouse="/warehouse", policy=policy, clock_ms=clock)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: Callable[[TxnPolicy], Store]) -> Store:
    return make_store(TxnPolicy())

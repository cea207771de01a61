"""Who waits, who wins, who aborts: every spec on every transaction manager.

A step is carried out by its session's own thread. It waits if the store has a waiting lock of that
session that an earlier lock blocks; nothing here depends on how long anything takes.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.backends.memory.store import MemoryStore
from acidsql.backends.storage.locations import storage_for
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import AcidSqlError
from acidsql.ports.store import Store
from acidsql.session.session import Session
from acidsql.settings import Settings
from acidsql.txn.deadlock import deadlocked
from acidsql.txn.entities import LockState
from acidsql.txn.locks import first_blocker
from acidsql.txn.policy import TxnPolicy
from tests.isolation.spec import Permutation, Spec, read_spec, rewrite

SPECS = [read_spec(path) for path in sorted(Path(__file__).parent.glob("specs/*.spec"))]
REWRITE = "ACIDSQL_REWRITE_GOLDENS" in os.environ
LOOK_S = 0.02
BACKENDS = ("memory", "sqlite", "postgres")
IMPATIENT = {"hive.lock.sleep.between.retries": "100ms", "hive.lock.numretries": "100000"}

MakeStore = Callable[[Path], Store]


def cases() -> Iterator[Any]:
    """Every permutation on every store; the stores take turns in what is not `thorough`.

    A longer permutation is that on each.
    """
    numbers = itertools.count()
    for spec in SPECS:
        for permutation in spec.permutations:
            number = next(numbers)
            turn = (number + number // 3) % len(BACKENDS)  # each third one has each store, too
            for backend in BACKENDS:
                is_short = backend == BACKENDS[turn] and not permutation.is_longer
                marks = () if is_short else (pytest.mark.thorough,)
                name = f"{spec.path.stem}:{permutation.line}-{backend}"
                yield pytest.param(spec, permutation, backend, id=name, marks=marks)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("spec", "permutation", "backend"), list(cases()))
def test_permutation(
    spec: Spec,
    permutation: Permutation,
    backend: str,
    warehouse: Path,
    spark: Any,
    request: pytest.FixtureRequest,
) -> None:
    url = request.getfixturevalue("postgres").fresh() if backend == "postgres" else None
    memory = MemoryStore(_now_ms, _policy(spec), str(warehouse)) if backend == "memory" else None
    with Stage(spec, warehouse, spark, url, memory) as stage:
        happened = tuple(stage.play(permutation))
    if REWRITE:
        now = read_spec(spec.path).permutations[spec.permutations.index(permutation)]
        rewrite(spec.path, {now.line: happened})
    else:
        assert happened == permutation.expected


class Stage:
    """The sessions of a spec over one warehouse and one store."""

    def __init__(
        self, spec: Spec, warehouse: Path, spark: Any, url: str | None, memory: MemoryStore | None
    ) -> None:
        self.spec = spec
        self.warehouse = warehouse
        self.spark = spark
        self.url = url
        self.memory = memory
        self.exits = ExitStack()
        self.sessions: dict[str, Session] = {}
        self.threads: dict[str, ThreadPoolExecutor] = {}
        self.waiting: dict[str, Future[str]] = {}
        self.store: Store

    def __enter__(self) -> Stage:
        for name in {step.session: None for step in self.spec.steps.values()}:
            self.sessions[name] = self.exits.enter_context(self._session(name))
            self.threads[name] = self.exits.enter_context(ThreadPoolExecutor(1))
        observer = self.exits.enter_context(self._session("observer"))
        self.store = observer._store
        for _ in observer.execute_script(self.spec.setup):
            pass
        return self

    def __exit__(self, *error: object) -> None:
        # Whoever waits still, because a test failed, is not waited for.
        for lock in self.store.show_locks():
            self.store.abort_txn(lock.txn_id, "the test is over")
        self.exits.close()

    def _session(self, user: str) -> Session:
        config = {**IMPATIENT, **self.spec.config}
        if self.memory is None:
            return acidsql.connect(
                str(self.warehouse), metastore=self.url, spark=self.spark, user=user, config=config
            )
        storage = storage_for(str(self.warehouse))
        return Session(
            store=self.memory, engine=SparkEngine(storage, self.spark, {}), storage=storage,
            policy=_policy(self.spec), warehouse=str(self.warehouse), user=user, host="here",
        )  # fmt: skip

    def play(self, permutation: Permutation) -> Iterator[str]:
        """One line per step as it ends or begins to wait, in an order that is always the same."""
        for name in permutation.steps:
            step = self.spec.steps[name]
            assert step.session not in self.waiting, f"{step.session} waits still"
            self.waiting[step.session] = self.threads[step.session].submit(self._run, name)
            yield from self._settle(name)
        assert not self.waiting, f"{sorted(self.waiting)} wait for ever"

    def _settle(self, newest: str) -> Iterator[str]:
        """Wait until every step has ended or is blocked."""
        owner = self.spec.steps[newest].session
        ended: dict[str, str] = {}
        while busy := [s for s in self.waiting if not self._is_blocked(s)]:
            done, _ = wait([self.waiting[s] for s in busy], LOOK_S, "FIRST_COMPLETED")
            for session in busy:
                if self.waiting[session] in done:
                    ended[session] = self.waiting.pop(session).result()
        if owner in ended:
            yield ended.pop(owner)
        else:
            yield f"{owner} {newest}: waits"
        yield from (ended[session] for session in sorted(ended))

    def _is_blocked(self, session: str) -> bool:
        if self.waiting[session].done():
            return False
        locks = self.store.show_locks()
        own = [x for x in locks if x.user == session]
        # A SELECT in a block tries a lock in a younger transaction, too, and never waits for it.
        oldest = min((x.txn_id for x in own), default=None)
        request = [x for x in own if x.txn_id == oldest and x.state is LockState.WAITING]
        return bool(request) and first_blocker(request, locks) is not None and not deadlocked(locks)

    def _run(self, name: str) -> str:
        step = self.spec.steps[name]
        session = self.sessions[step.session]
        try:
            result = session.execute(step.sql)
            rows = sorted(result.fetchall()) if result.columns else None
        except AcidSqlError as error:
            first = _without_numbers(error.message)
            return f"{step.session} {name}: {type(error).__name__}: {first}"
        if rows is None:
            return f"{step.session} {name}: ok"
        return f"{step.session} {name}: {' '.join(map(str, rows)) or 'no rows'}"


def _without_numbers(text: str) -> str:
    """Ids of transactions and write ids may differ between stores."""
    return re.sub(r"(txnid:|transaction |lockid:)\d+(,\d+)?", r"\1N", text)


def _policy(spec: Spec) -> TxnPolicy:
    return Settings.of(".", config={**IMPATIENT, **spec.config}).policy


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

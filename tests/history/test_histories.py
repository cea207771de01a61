"""Histories of real processes, of which some are killed or stopped on the way."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.sqlite.store import SqliteStore
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.txn.entities import TxnState
from tests.checks import check_table
from tests.history.anomalies import Anomaly, Finding, find_anomalies
from tests.history.client import CREATE, TABLES, Client, World, run
from tests.history.history import Journal, Outcome, Transaction, transactions
from tests.history.planted import BlindStore, HastyStore, StaleStore
from tests.postgres import Postgres
from tests.processes import PROCESSES

SOAK_STEPS = int(os.environ.get("ACIDSQL_SOAK_STEPS", "0"))
EXPECTED = {
    "WriteConflictError", "TxnAbortedError", "DeadlockError", "NoSuchTxnError", "LockTimeoutError",
}  # fmt: skip
"""What a client may meet beside others that all go on."""
LEFT_BEHIND = frozenset({ProblemKind.LEFT_BEHIND})
STOPPED = {"MissingFileError", "CommitStateUnknownError", "NoSuchLockError"}
"""What it may meet if it was stopped for longer than its transactions live."""


class Play:
    """Clients at work on one world, and what is done to them."""

    def __init__(self, world: World, journals: Path, seed: int) -> None:
        self.world, self.journals = world, journals
        self.random = random.Random(seed)
        self.names = iter(range(1 + 100 * seed, 1_000_000))
        self.alive: list[Any] = []
        self.killed: list[Any] = []
        Path(world.warehouse).mkdir(exist_ok=True)
        journals.mkdir(exist_ok=True)

    def create(self) -> None:
        with replace(self.world, spark=False).session("creator") as session:
            for statement in CREATE:
                session.execute(statement)

    def start(self, clients: int, count: int) -> None:
        for _ in range(clients):
            name = next(self.names)
            path = self.journals / f"{name}.json"
            path.touch()
            process = PROCESSES.Process(target=run, args=(self.world, str(path), name, count))
            process.journal = path
            process.start()
            self.alive.append(process)

    def wait(self) -> None:
        for process in self.alive:
            process.join()
            assert process.exitcode == 0, "a client has failed: its error is above"

    def trouble(self, kinds: Sequence[Callable[[Any], None]], times: int) -> None:
        """Do something to one that is at work, again and again."""
        for _ in range(times):
            working = [p for p in self.alive if p.is_alive()]
            if working:
                self.random.choice(kinds)(self.one_at_work(working))
            time.sleep(self.random.uniform(0.0, 0.3))

    def one_at_work(self, processes: Sequence[Any]) -> Any:
        """One that has begun with its transactions."""
        process = self.random.choice(processes)
        while process.is_alive() and not process.journal.stat().st_size:
            time.sleep(0.002)
        return process

    def kill(self, process: Any) -> None:
        process.kill()
        process.join()
        self.alive.remove(process)
        if process.exitcode == -signal.SIGKILL:
            self.killed.append(process)
        self.start(1, 15)

    def stop(self, process: Any) -> None:
        """For longer than a transaction lives without a sign of life."""
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.5 * self.world.timeout_s)
        os.kill(process.pid, signal.SIGCONT)

    def settle(self) -> None:
        """Read everything at last, and once more after all was compacted and cleaned."""
        journal = Journal(str(self.journals / "settler.json"))
        # No Spark is needed for it, whoever has written.
        world = replace(self.world, spark=False)
        with world.session("settler") as session, closing(journal):
            while any(t.state is TxnState.OPEN for t in session._store.show_txns()):
                session.run_housekeeper()
                time.sleep(0.05)
            client = Client(session, journal, next(self.names))
            client.read_all()
            before = self.rows(session._store, LEFT_BEHIND)
            session.run_worker()  # what killed ones had asked for
            for place in ["a", *(f"b PARTITION (p = {p})" for p in range(3))]:
                session.execute(f"ALTER TABLE {place} COMPACT 'major'")
            session.run_worker()
            session.run_cleaner()
            assert self.rows(session._store) == before
            client.read_all()

    @staticmethod
    def rows(store: Any, but: frozenset[ProblemKind] = frozenset()) -> list[Any]:
        """Of all tables, if nothing is wrong with them."""
        return [sorted(check_table(store, TableName("default", table), but)) for table in TABLES]

    def lines(self) -> Iterator[list[str]]:
        for path in sorted(self.journals.iterdir()):
            yield [line for line in path.read_text().splitlines() if line]

    def history(self) -> list[Transaction]:
        return [txn for lines in self.lines() for txn in transactions(lines)]

    def errors(self) -> set[str]:
        notes = (Journal.read(line) for lines in self.lines() for line in lines)
        return {note[1] for note in notes if note[0] == "error"}


def check(play: Play, *, more: set[str] = frozenset()) -> None:
    """The history is without an anomaly, and long enough to have had some."""
    history = play.history()
    assert find_anomalies(history) == []
    committed = [t for t in history if t.outcome is Outcome.COMMITTED]
    assert len(committed) > len(history) / 4
    assert play.errors() <= EXPECTED | more


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """In memory, if the machine has such a place: who is only killed loses nothing there."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as path:
        yield Path(path)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def server(request: pytest.FixtureRequest) -> Postgres | None:
    return request.getfixturevalue("postgres") if request.param == "postgres" else None


@pytest.fixture
def url(server: Postgres | None) -> str | None:
    return server and server.fresh()


LONG = pytest.mark.thorough


@pytest.mark.parametrize("write_xlock", [False, pytest.param(True, marks=LONG)])
def test_processes_that_are_killed_and_stopped(
    directory: Path, server: Postgres | None, url: str | None, write_xlock: bool
) -> None:
    world = World(str(directory / "w"), url, write_xlock, timeout_s=1.0)
    play = Play(world, directory / "journals", seed=1)
    play.create()
    play.start(3, 15 + SOAK_STEPS)
    kinds = [play.kill, play.kill, play.stop]
    if server is not None:
        kinds += [lambda _: server.disconnect()] * 2
    play.trouble([play.kill], 1)
    play.trouble(kinds, 4 + SOAK_STEPS // 4)
    play.wait()
    play.settle()
    assert play.killed
    check(play, more=STOPPED)


@pytest.mark.parametrize("write_xlock", [True, pytest.param(False, marks=LONG)])
def test_processes_that_live(directory: Path, url: str | None, write_xlock: bool) -> None:
    play = Play(World(str(directory / "w"), url, write_xlock), directory / "journals", seed=2)
    play.create()
    play.start(3, 12 + SOAK_STEPS)
    play.wait()
    play.settle()
    check(play)


def test_a_process_with_spark_beside_another(directory: Path, spark: Any) -> None:
    """This process has one, and is a client, too."""
    world = World(str(directory / "w"), write_xlock=False)
    play = Play(world, directory / "journals", seed=3)
    play.create()
    play.start(1, 30)
    run(replace(world, spark=True), str(play.journals / "here.json"), next(play.names), 3)
    play.wait()
    play.settle()
    check(play)


@LONG
def test_processes_with_spark(directory: Path) -> None:
    """Each has a Spark of its own: what they share is the warehouse."""
    world = World(str(directory / "w"), write_xlock=False, spark=True)
    play = Play(world, directory / "journals", seed=3)
    play.create()
    play.start(2, 3 + SOAK_STEPS // 4)
    play.wait()
    play.settle()
    check(play)


@pytest.mark.parametrize(
    ("store", "anomalies"),
    [
        (BlindStore, {Anomaly.LOST_UPDATE, Anomaly.READ_SKEW}),
        (StaleStore, {Anomaly.STALE_READ}),
        (HastyStore, {Anomaly.ABORTED_READ, Anomaly.INTERMEDIATE_READ, Anomaly.READ_SKEW}),
    ],
)
def test_a_planted_mistake_is_found(
    directory: Path, store: type[SqliteStore], anomalies: set[Anomaly]
) -> None:
    found: list[Finding] = []
    for seed in range(3, 23):
        world = World(str(directory / f"w{seed}"), write_xlock=False, store=store)
        play = Play(world, directory / f"journals{seed}", seed)
        play.create()
        play.start(2, 12)
        for process in play.alive:
            # The mistake may be the end of a client, too.
            process.join()
        found = find_anomalies(play.history())
        if anomalies & {finding.anomaly for finding in found}:
            return
    raise AssertionError(f"20 histories without any of {anomalies}: {found}")

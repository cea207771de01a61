"""The processes of a soak, and what is done to them."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acidsql.cli.main import main
from acidsql.model.names import TableName
from tests.checks import check_table
from tests.processes import PROCESSES
from tests.soak.journal import ERROR, Follower, state_of
from tests.soak.measures import compact_all, excesses, work_of_one
from tests.soak.reader import READ, read
from tests.soak.world import SERVICE, TABLES, TIMEOUT_S, World
from tests.soak.writer import Streamer, Writer, write

WAIT_S = 120
"""Longer than anything takes that ends at all."""
WRITERS, SERVICES = 2, 2
_PAUSES_S = (0.0, 0.5)
"""The least and the longest pause between two troubles."""


@dataclass
class Actor:
    """One process, and how to start the one that takes its place."""

    name: str
    start: Callable[[int], Any]
    process: Any = None
    stopped_until_s: float | None = None
    number: int = 0

    def begin(self) -> None:
        self.number += 1
        self.process = self.start(self.number)

    @property
    def is_alive(self) -> bool:
        return bool(self.process is not None and self.process.is_alive())

    def signal(self, number: int) -> None:
        # A process that has ended meanwhile needs none.
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)


def _guarded(failure: Path, what: Callable[..., object], *args: object) -> None:
    """Do what a process is for; its failure goes to a file, for the one that waits."""
    try:
        what(*args)
    except BaseException:
        failure.write_text(traceback.format_exc())
        sys.exit(1)


def _serve(log: Path, arguments: Sequence[str]) -> None:
    """`acidsql service`, with its output in a file."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    main(["service", *arguments])


class Play:
    """Writers, readers and services on one world, round after round."""

    def __init__(self, world: World, directory: Path, seed: int, ops: int, troubles: int) -> None:
        self.world, self.directory = world, directory
        self.seed, self.ops, self.troubles = seed, ops, troubles
        self.random = random.Random(seed)
        self.did: Counter[str] = Counter()
        self.rounds = 0
        self.stop_reading = directory / "stop"
        self.journals = [directory / f"w{n}.jsonl" for n in range(1, WRITERS + 2)]
        for path in self.journals:
            path.touch()
        self.writers = [self._writer(n) for n in range(1, WRITERS + 2)]
        self.reader = Actor("reader", self._read)
        self.services = [self._service(n) for n in range(SERVICES)]
        Path(world.warehouse).mkdir()
        world.create()
        for service in self.services:
            service.begin()

    # -- actors ------------------------------------------------------------------------------------

    def _start(self, name: str, what: Callable[..., object], *args: object) -> Any:
        failure = self.directory / f"{name}.failed"
        process = PROCESSES.Process(target=_guarded, args=(failure, what, *args))
        process.start()
        return process

    def _writer(self, number: int) -> Actor:
        path, streams = self.journals[number - 1], number > WRITERS

        def start(at: int) -> Any:
            seed = f"{self.seed} {number} {at}"
            return self._start(
                f"w{number}.{at}", write, self.world, path, number, seed, self.ops, streams
            )

        return Actor("streamer" if streams else "writer", start)

    def _read(self, at: int) -> Any:
        path = self.directory / "reader.jsonl"
        return self._start(f"r{at}", read, self.world, self.journals, path, self.stop_reading)

    def _service(self, number: int) -> Actor:
        where = ["--warehouse", self.world.warehouse, "--log-format", "json"]
        if self.world.url is not None:
            where += ["--metastore", self.world.url]
        log = self.directory / f"service{number}.log"
        return Actor(
            "service",
            lambda at: self._start(f"service{number}.{at}", _serve, log, [*where, *SERVICE]),
        )

    # -- a round -----------------------------------------------------------------------------------

    def round(self) -> None:
        """Everybody at work, with trouble; then all must become quiet, and be right."""
        self.rounds += 1
        with self._as_writer(1 + self.rounds % WRITERS) as writer:
            writer.drop()
        self.stop_reading.unlink(missing_ok=True)
        for actor in (*self.writers, self.reader):
            actor.begin()
        for number in range(self.troubles):
            self._trouble(self.services if number == 0 else self._actors)
            self._go_on(time.monotonic())
            time.sleep(self.random.uniform(*_PAUSES_S))
        self._end()
        self._settle()
        self._check()

    @contextmanager
    def _as_writer(self, number: int) -> Iterator[Writer]:
        """The writer of that number, in this process: its own must have ended."""
        kind = Streamer if number > WRITERS else Writer
        with (
            self.world.session(f"w{number}") as session,
            closing(kind(session, self.journals[number - 1], number, "")) as writer,
        ):
            yield writer

    @property
    def _actors(self) -> list[Actor]:
        return [*self.writers, self.reader, *self.services]

    def _trouble(self, actors: Sequence[Actor]) -> None:
        """Stop or kill one of the actors; of services alone, kill one."""
        actor = self.random.choice(actors)
        if not actor.is_alive or actor.stopped_until_s is not None:
            return
        if actors is not self.services and self.random.random() < 0.25:
            self.did[f"{actor.name} stopped"] += 1
            actor.signal(signal.SIGSTOP)
            actor.stopped_until_s = time.monotonic() + self.random.uniform(0, 1.5) * TIMEOUT_S
            return
        actor.signal(signal.SIGKILL)
        actor.process.join()
        if actor.process.exitcode == -signal.SIGKILL:
            self.did[f"{actor.name} killed"] += 1
        else:
            self._require_ended(actor)
        actor.begin()

    def _go_on(self, now_s: float) -> None:
        """Wake those that were stopped for long enough."""
        for actor in self._actors:
            if actor.stopped_until_s is not None and actor.stopped_until_s <= now_s:
                actor.stopped_until_s = None
                actor.signal(signal.SIGCONT)

    def _end(self) -> None:
        """Wait for writers and readers."""
        ends_s = time.monotonic() + WAIT_S
        while any(w.is_alive for w in self.writers):
            self._go_on(time.monotonic())
            assert time.monotonic() < ends_s, "a writer does not end"
            time.sleep(0.02)
        self._go_on(float("inf"))
        self.stop_reading.touch()
        for actor in (*self.writers, self.reader):
            actor.process.join(WAIT_S)
            self._require_ended(actor)

    def _require_ended(self, actor: Actor) -> None:
        texts = [path.read_text() for path in self.directory.glob("*.failed")]
        assert actor.process.exitcode == 0, (actor.name, *texts)

    # -- when it is over ---------------------------------------------------------------------------

    def _settle(self) -> None:
        """Wait until the services have left no more than may be there."""
        ends_s = time.monotonic() + WAIT_S
        with self.world.session("settler") as session:
            while (found := excesses(self.world)) or (asked := session.run_initiator()):
                assert all(s.is_alive for s in self.services), "a service has ended by itself"
                assert time.monotonic() < ends_s, found or asked
                time.sleep(0.05)

    def _check(self) -> None:
        """The rows are those of the journals, and nothing is wrong with the tables."""
        with self.world.session("checker") as session:
            store: Any = session._store
            tables = {t: check_table(store, TableName("default", t)) for t in TABLES}
            for table in TABLES:
                assert session.execute(f"CHECK TABLE {table}").fetchall() == []
        followers = self.followers()
        for follower in followers:
            assert follower.pending is None
            assert state_of(tables, follower.number) == follower.state
        expected = sum(
            len(values) for f in followers for keys in f.state.values() for values in keys.values()
        )
        assert sum(map(len, tables.values())) == expected, "rows of nobody"

    def work(self) -> Counter[str]:
        """The work of one round on tables that have rows and were compacted as far as they can be.

        So what is compared is the same at any time, but for what should not be there.
        """
        for number in range(1, WRITERS + 2):
            with self._as_writer(number) as writer:
                writer.fill()
        self._settle()
        with self.world.session("meter") as session:
            compact_all(session)
        self._settle()
        return work_of_one(self.world)

    # -- what was seen -----------------------------------------------------------------------------

    def followers(self) -> list[Follower]:
        """The journals of all writers, read to their ends."""
        found = [Follower(path, n) for n, path in enumerate(self.journals, 1)]
        for follower in found:
            follower.states()
        return found

    def errors(self) -> Counter[str]:
        """The names of the errors that writers and readers met."""
        notes = [json.loads(line) for line in self._reader_lines()]
        met = [note[1] for note in notes if note[0] == ERROR]
        return Counter([*met, *(kind for f in self.followers() for kind, _ in f.errors)])

    def _reader_lines(self) -> list[bytes]:
        return (self.directory / "reader.jsonl").read_bytes().splitlines()

    def reads(self) -> int:
        """How many reads were compared."""
        return sum(json.loads(line)[0] == READ for line in self._reader_lines())

    def events(self) -> list[dict[str, Any]]:
        """What the services have told."""
        lines = [
            line
            for path in sorted(self.directory.glob("service*.log"))
            for line in path.read_text().splitlines()
        ]
        found = []
        for line in lines:
            # A service that was killed may have left half a line.
            with suppress(json.JSONDecodeError):
                found.append(json.loads(line))
        return found

    def close(self) -> None:
        for actor in self._actors:
            if actor.process is not None:
                actor.process.kill()
                actor.process.join()

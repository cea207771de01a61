"""The service: initiator, workers, cleaner and housekeeper beside each other."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from acidsql.background.events import Action, Event, Tell, log_event
from acidsql.background.rounds import Rounds
from acidsql.process.supervisor import Supervisor
from acidsql.service.mutex import ServiceMutex
from acidsql.service.part import Part, PartStatus
from acidsql.service.timetable import ServiceTimes, Timetable
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.manager import TxnManager

INITIATOR, CLEANER, HOUSEKEEPER = "Initiator", "Cleaner", "HouseKeeper"
"""The names of the mutexes: the keys of Hive's AUX_TABLE."""


@dataclass
class Listeners:
    """Those to whom the events of a service are told: the log, and whoever counts."""

    told: list[Tell] = field(default_factory=lambda: [log_event])

    def __call__(self, event: Event) -> None:
        """Tell the event to all of them."""
        for tell in self.told:
            tell(event)


class Service:
    """Rounds of background work, until it is stopped. A context manager: its end stops and waits.

    Several services may work on one store, in one process or many. Initiator, cleaner and
    housekeeper run in the one that holds their mutex; each worker takes what no other has taken.
    With ``pool`` the workers carry out the compactions of that pool, else those of no pool.
    """

    def __init__(
        self,
        rounds: Rounds,
        heartbeats: Heartbeats,
        times: ServiceTimes | None = None,
        *,
        workers: int = 1,
        pool: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.listeners = Listeners()
        rounds = rounds.telling(self.listeners)
        times = times or ServiceTimes()
        self.txns: TxnManager = rounds.scope.txns
        self.supervisor: Supervisor = rounds.scope.supervisor
        owner = f"{rounds.host}-{os.getpid()}-{uuid.uuid4().hex[:12]}"

        def part(
            name: str,
            work: Callable[[], object],
            timetable: Timetable,
            mutex: str,
            then: Callable[[], object] = lambda: None,
        ) -> Part:
            held = ServiceMutex(
                self.txns,
                heartbeats,
                mutex,
                owner,
                timetable.interval_s,
                times.lease_s,
                clock=clock,
            )
            return Part(name, work, timetable, self.supervisor, mutex=held, then=then, clock=clock)

        workers_found: list[Part] = []

        def wake_workers() -> None:
            for worker in workers_found:
                worker.hasten()

        initiator = part(
            "initiator", rounds.initiate, Timetable(0, times.check_s), INITIATOR, wake_workers
        )
        cleaner = part("cleaner", rounds.clean, Timetable(0, times.clean_s), CLEANER)
        reaping = Timetable(times.reap_start_s, times.reap_s)
        housekeeper = part("housekeeper", rounds.keep_house, reaping, HOUSEKEEPER)
        for _ in range(workers):
            workers_found.append(self._worker(rounds, times, pool, cleaner.hasten, clock))
        self.parts: tuple[Part, ...] = (housekeeper, initiator, *workers_found, cleaner)
        self._started = False

    def _worker(
        self,
        rounds: Rounds,
        times: ServiceTimes,
        pool: str | None,
        then: Callable[[], object],
        clock: Callable[[], float],
    ) -> Part:
        def work() -> int:
            return rounds.work(pool, lambda: worker.is_stopping)

        worker = Part(
            "worker", work, Timetable(0, times.work_s), self.supervisor,
            limit_s=times.work_limit_s, then=then, clock=clock,
        )  # fmt: skip
        return worker

    @property
    def _names(self) -> str:
        return ",".join(part.name for part in self.parts)

    @property
    def statuses(self) -> list[PartStatus]:
        """How each part fares. Workers have one name."""
        return [part.status for part in self.parts]

    def start(self) -> None:
        """Begin. ExecutionError if the system can start no more threads: nothing runs then."""
        self.tell(Event(Action.STARTED, parts=self._names))
        self._started = True
        try:
            for part in self.parts:
                part.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Begin no further round. Idempotent."""
        for part in self.parts:
            part.stop()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until the rounds that run have ended; whether all have in time."""
        ends_s = None if timeout_s is None else time.monotonic() + timeout_s
        ended = True
        for part in self.parts:
            left_s = None if ends_s is None else max(0.0, ends_s - time.monotonic())
            ended = part.join(left_s) and ended
        if ended and self._started:
            self._started = False
            self.tell(Event(Action.STOPPED, parts=self._names))
        return ended

    def tell(self, event: Event) -> None:
        """Tell an event. A listener that fails is reported, and nothing else fails."""
        self.supervisor.attempt("log", lambda: self.listeners(event), None)

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()

"""The four kinds of parts: which work each does, how often, and under which mutex."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable

from acidsql.background.rounds import Rounds
from acidsql.service.mutex import ServiceMutex
from acidsql.service.part import Part
from acidsql.service.timetable import ServiceTimes, Timetable
from acidsql.txn.heartbeats import Heartbeats

INITIATOR, CLEANER, HOUSEKEEPER = "Initiator", "Cleaner", "HouseKeeper"
"""The names of the mutexes: the keys of Hive's AUX_TABLE."""


def owner_of_mutexes(host: str) -> str:
    """A name that no other owner of mutexes has."""
    return f"{host}-{os.getpid()}-{uuid.uuid4().hex[:12]}"


def _nothing() -> None:
    pass


class Parts:
    """Makes the parts of one service. ``then`` follows a round that has done something."""

    def __init__(
        self,
        rounds: Rounds,
        heartbeats: Heartbeats,
        times: ServiceTimes,
        clock: Callable[[], float],
    ) -> None:
        self._rounds, self._times = rounds, times
        self._heartbeats, self._clock = heartbeats, clock
        self._owner = owner_of_mutexes(rounds.host)

    def initiator(self, then: Callable[[], object]) -> Part:
        """Asks for compactions."""
        timetable = Timetable(0, self._times.check_s)
        return self._single("initiator", self._rounds.initiate, timetable, INITIATOR, then)

    def worker(self, pool: str | None, then: Callable[[], object]) -> Part:
        """Carries compactions of a pool out. There may be many at a time, so it has no mutex."""

        def work() -> int:
            return self._rounds.work(pool, lambda: worker.is_stopping)

        worker = Part(
            "worker", work, Timetable(0, self._times.work_s), self._rounds.scope.supervisor,
            limit_s=self._times.work_limit_s, then=then, clock=self._clock,
        )  # fmt: skip
        return worker

    def cleaner(self) -> Part:
        """Removes what no reader can need."""
        timetable = Timetable(0, self._times.clean_s)
        return self._single("cleaner", self._rounds.clean, timetable, CLEANER)

    def housekeeper(self) -> Part:
        """Times out and trims."""
        timetable = Timetable(self._times.reap_start_s, self._times.reap_s)
        return self._single("housekeeper", self._rounds.keep_house, timetable, HOUSEKEEPER)

    def _single(
        self,
        name: str,
        work: Callable[[], object],
        timetable: Timetable,
        mutex: str,
        then: Callable[[], object] = _nothing,
    ) -> Part:
        held = ServiceMutex(
            self._rounds.scope.txns, self._heartbeats, mutex, self._owner,
            timetable.interval_s, self._times.lease_s, clock=self._clock,
        )  # fmt: skip
        supervisor = self._rounds.scope.supervisor
        return Part(name, work, timetable, supervisor, mutex=held, then=then, clock=self._clock)

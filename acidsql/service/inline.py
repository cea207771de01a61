"""The service inside of a session: rounds in a thread of its own, after the session's commits."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable

from acidsql.background.rounds import Rounds
from acidsql.service.mutex import ServiceMutex
from acidsql.service.part import Part
from acidsql.service.service import CLEANER, HOUSEKEEPER, INITIATOR
from acidsql.service.timetable import ServiceTimes, Timetable
from acidsql.txn.heartbeats import Heartbeats

_log = logging.getLogger(__name__)

EVERY = 10
"""After how many commits of the session a round begins. Hive compacts more than ten deltas."""
CLOSE_S = 60.0
"""How long the end of a session waits for the compaction that runs."""
_NAME = "inline service"


class InlineService:
    """One thread, which begins with the first write, does the rounds one after the other.

    A round comes after each ``EVERY`` commits, and when nothing was written for
    hive.compactor.check.interval. No statement waits for it. Where another session or service holds
    a mutex, the round leaves that part out.
    """

    def __init__(
        self,
        rounds: Rounds,
        heartbeats: Heartbeats,
        times: ServiceTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rounds = rounds
        self._times = times or ServiceTimes()
        self._supervisor = rounds.scope.supervisor
        self._heartbeats, self._clock = heartbeats, clock
        self._owner = f"{rounds.host}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._reaping = Timetable(self._times.reap_start_s, self._times.reap_s)
        self._guard = threading.Lock()
        self._commits = 0
        self._started = False
        self._part = Part(
            _NAME, self._round, Timetable(self._times.check_s, self._times.check_s),
            self._supervisor, clock=clock,
        )  # fmt: skip

    def committed(self) -> None:
        """The session has committed a write."""
        with self._guard:
            self._commits += 1
            is_due = self._commits % EVERY == 0
            starts, self._started = not self._started, True
        if starts:
            # A system without room for a thread must not fail the statement: it has committed.
            self._supervisor.attempt(_NAME, self._part.start, None)
        if is_due:
            self._part.hasten()

    def stop(self) -> None:
        """Begin no further compaction. Does not wait. Idempotent."""
        self._part.stop()

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Stop, and wait for the compaction that runs, at most ``timeout_s`` seconds."""
        self.stop()
        if not self._part.join(timeout_s):
            # Its transaction gets no more heartbeats, and another worker takes it up.
            _log.warning("a compaction was still running after %g s, and is given up", timeout_s)

    def _round(self) -> None:
        self._held("initiator", INITIATOR, self._rounds.initiate)
        self._supervisor.attempt("worker", lambda: self._rounds.work(until=self._is_stopping), None)
        if self._part.is_stopping:
            return
        self._held("cleaner", CLEANER, self._rounds.clean)
        if self._reaping.is_due(self._clock()):
            self._held("housekeeper", HOUSEKEEPER, self._rounds.keep_house)

    def _is_stopping(self) -> bool:
        return self._part.is_stopping

    def _held(self, name: str, mutex: str, work: Callable[[], object]) -> None:
        """One part of the round, unless another service does it."""
        held = ServiceMutex(
            self._rounds.scope.txns, self._heartbeats, mutex, self._owner, 0,
            self._times.lease_s, keep=False,
            clock=self._clock,
        )  # fmt: skip

        def attempt() -> None:
            with held.for_round() as has_it:
                if has_it:
                    work()

        self._supervisor.attempt(name, attempt, None)

"""One part of a service: a kind of work in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum

from acidsql.process.supervisor import Supervisor, start_thread
from acidsql.service.mutex import ServiceMutex
from acidsql.service.timetable import Timetable

GRACE_S = 60.0
"""How much later than its timetable a round may end before the part counts as late."""
LIMIT_S = 3600.0
"""How long one round may take, except that of a worker."""


class Condition(Enum):
    """How a part fares."""

    OK = "ok"
    LATE = "late"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class PartStatus:
    """How a part fares. ``last_success`` is in seconds since the epoch, None before the first."""

    name: str
    condition: Condition
    last_success: float | None
    seconds_since_success: float
    rounds: int
    is_working: bool


class Part:
    """Rounds of one kind of work.

    A round that fails is reported to the ``supervisor``, and the next one comes. A round in which
    another service holds the ``mutex`` does nothing, and has succeeded. A part is *late* or
    *failing* if its last success is longer ago than its timetable allows, twice over, and
    ``GRACE_S`` more. That does not count while a round runs that has not exceeded ``limit_s``.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], object],
        timetable: Timetable,
        supervisor: Supervisor,
        *,
        mutex: ServiceMutex | None = None,
        limit_s: float = LIMIT_S,
        then: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``then`` is called after a round that has returned something true."""
        self.name = name
        self._work, self._then, self._mutex = work, then, mutex
        self._timetable, self._supervisor, self._limit_s = timetable, supervisor, limit_s
        self._clock, self._now = clock, now
        self._wake = threading.Condition()
        self._stopping = self._hastened = False
        self._thread: threading.Thread | None = None
        self._began_s: float | None = None
        self._succeeded_s = clock() + timetable.start_s
        """Before the first success: when the first round is due."""
        self._last_success: float | None = None
        self._last_failed = False
        self._rounds = 0

    # -- its thread --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin. ExecutionError if the system can start no more threads."""
        self._thread = start_thread(self.name, self._run)

    def hasten(self) -> None:
        """Have the next round begin now, or at once after the one that runs."""
        with self._wake:
            self._hastened = True
            self._wake.notify()

    def stop(self) -> None:
        """Begin no further round. Idempotent."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    @property
    def is_stopping(self) -> bool:
        """Whether no further round may begin."""
        return self._stopping

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until the thread has ended; whether it has."""
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._is_due():
            self.run_round()
        if self._mutex is not None:
            self._supervisor.attempt(self.name, self._mutex.release, None)

    def _is_due(self) -> bool:
        """Wait until the next round is due. False if the part is to stop."""
        with self._wake:
            while not self._stopping:
                now_s = self._clock()
                if self._hastened:
                    self._hastened = False
                    self._timetable.hasten(now_s)
                if self._timetable.is_due(now_s):
                    return True
                self._wake.wait(self._timetable.next_s(now_s) - now_s)
            return False

    # -- its rounds --------------------------------------------------------------------------------

    def run_round(self) -> None:
        """One round, now."""
        self._began_s = self._clock()
        failed = object()
        try:
            found = self._supervisor.attempt(self.name, self._round, failed)
        finally:
            self._began_s = None
        self._rounds += 1
        self._last_failed = found is failed
        if found is not failed:
            self._succeeded_s, self._last_success = self._clock(), self._now()
            if found:
                self._then()

    def _round(self) -> object:
        held: AbstractContextManager[bool] = nullcontext(enter_result=True)
        if self._mutex is not None:
            held = self._mutex.for_round()
        with held as has_it:
            return self._work() if has_it else None

    @property
    def status(self) -> PartStatus:
        """How the part fares now."""
        now_s, began_s = self._clock(), self._began_s
        since_s = now_s - self._succeeded_s
        in_time = since_s <= 2 * self._timetable.interval_s + GRACE_S
        if began_s is not None:
            # A part that fails again and again is not excused by its next try.
            in_time = in_time or (now_s - began_s <= self._limit_s and not self._last_failed)
        condition = Condition.OK
        if not in_time:
            condition = Condition.FAILING if self._last_failed else Condition.LATE
        return PartStatus(
            self.name,
            condition,
            self._last_success,
            max(0.0, since_s),
            self._rounds,
            began_s is not None,
        )

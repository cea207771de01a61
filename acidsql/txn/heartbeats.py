"""The heartbeats of many transactions, sent by a few threads."""

from __future__ import annotations

import heapq
import itertools
import os
import random
import threading
import time
import weakref
from collections.abc import Callable

from acidsql.process.supervisor import Supervisor, no_thread, start_thread


class Heartbeat:
    """One transaction's heartbeat, until it is stopped or its ``beat`` returns False."""

    def __init__(self, beat: Callable[[], bool], interval_s: float) -> None:
        self.interval_s = interval_s
        self._beat: Callable[[], bool] | None = beat
        self._guard = threading.Lock()

    @property
    def stopped(self) -> bool:
        """Whether no further beat will come."""
        return self._beat is None

    def beat(self) -> None:
        """Beat once."""
        with self._guard:
            if self._beat is not None and not self._beat():
                self._beat = None

    def stop(self) -> None:
        """No beat begins after this returns, and none is under way. Idempotent."""
        with self._guard:
            # The heartbeat stays in the queue until it would be due. It keeps nothing alive there.
            self._beat = None


class Heartbeats:
    """Up to ``size`` threads (hive.txn.heartbeat.threadpool.size), as long as there is work.

    The first beat of a transaction comes after a random part of its interval, as in Hive. So
    transactions that begin together do not beat together. If a beat raises an exception, the
    ``supervisor`` logs and counts it, and the next beat comes after the interval. ``clock`` is in
    seconds. ``chance`` returns a random number between two numbers.
    """

    def __init__(
        self,
        size: int = 5,
        supervisor: Supervisor | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.supervisor = supervisor or Supervisor()
        self._size = size
        self._clock, self._chance = clock, chance
        self._numbers = itertools.count()
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._due: list[tuple[float, int, Heartbeat]] = []
        self._wake = threading.Condition()
        self._threads = 0
        self._looks: list[float] = []
        """When each of the waiting threads will look at the next heartbeat, unless it is woken."""

    def start(self, beat: Callable[[], bool], interval_s: float) -> Heartbeat:
        """Begin to beat: ``beat`` is called from another thread until it returns False.

        ExecutionError if no thread runs and none can be started.
        """
        heartbeat = Heartbeat(beat, interval_s)
        self._schedule(heartbeat, self._chance(0.25, 1.0) * interval_s)
        if not self._threads:
            heartbeat.stop()
            raise no_thread(_NAME)
        return heartbeat

    def _schedule(self, heartbeat: Heartbeat, wait_s: float) -> None:
        if self._pid != os.getpid():
            # A forked child has neither the threads of its parent nor the parent's transactions.
            self._reset()
        with self._wake:
            entry = (self._clock() + wait_s, next(self._numbers), heartbeat)
            heapq.heappush(self._due, entry)
            self._have_next_awaited()

    def _have_next_awaited(self) -> None:
        """Have a thread look at the next heartbeat by the time that it is due.

        A thread that will look in time is not woken. Most transactions end before their first beat,
        and switching to another thread with each of them costs a tenth of a transaction.
        """
        if not self._due:
            return
        if not self._looks and self._threads < self._size:
            self._add_thread()
        elif self._looks and min(self._looks) > self._due[0][0]:
            self._wake.notify()

    def _add_thread(self) -> None:
        """Start one more thread. If that fails, the threads that run do without it."""
        self.supervisor.attempt(_NAME, self._start_thread, None)

    def _start_thread(self) -> None:
        with self._wake:
            start_thread(_NAME, self._run)
            # The new thread cannot end before it is counted: that takes the lock.
            self._threads += 1

    def _run(self) -> None:
        try:
            while self.supervisor.attempt(_NAME, self._round, otherwise=True):
                pass
        except BaseException:
            with self._wake:
                self._threads -= 1
                # The exception that ends this thread must not end the other heartbeats.
                self._have_next_awaited()
            raise

    def _round(self) -> bool:
        """Wait for the next heartbeat and beat. False, which ends the thread, if there is none."""
        heartbeat = self._next()
        if heartbeat is None:
            return False
        try:
            heartbeat.beat()
        finally:
            if not heartbeat.stopped:
                self._schedule(heartbeat, heartbeat.interval_s)
        return True

    def _next(self) -> Heartbeat | None:
        """Take the next heartbeat when it is due. None if there is none.

        After None this thread is counted no longer, and must end.
        """
        in_time = True
        with self._wake:
            while True:
                while self._due and self._due[0][2].stopped:
                    heapq.heappop(self._due)
                if not self._due and not in_time:
                    self._threads -= 1
                    return None
                now = self._clock()
                look = min(self._due[0][0], now + _IDLE_S) if self._due else now + _IDLE_S
                if look <= now:
                    return self._take()
                self._looks.append(look)
                try:
                    in_time = self._wake.wait(look - now)
                finally:
                    self._looks.remove(look)

    def _take(self) -> Heartbeat:
        _, _, heartbeat = heapq.heappop(self._due)
        # This beat may take long, and the next heartbeat may be due before this one ends.
        self._have_next_awaited()
        return heartbeat


def while_held(beat: Callable[[], bool]) -> Callable[[], bool]:
    """The beat of an object, a bound method, that does not keep the object alive.

    It returns False once Python has collected the object: no caller can use it any more.
    """
    method = weakref.WeakMethod(beat)

    def beat_if_held() -> bool:
        found = method()
        return found is not None and found()

    return beat_if_held


_NAME = "heartbeat"
_IDLE_S = 1.0
"""The longest wait of a thread. It ends if there is no heartbeat then.

Stopping a heartbeat wakes no thread, so a longer wait would keep threads without work.
"""

HEARTBEATS = Heartbeats()
"""The threads for all transactions that are given no others."""

"""Signs of life of many from a few threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from acidsql.errors import ExecutionError
from acidsql.txn.heartbeats import Heartbeats

SOON_S = 0.001


class Counter:
    """Counts beats; somebody can wait for a number of them."""

    def __init__(self, last: int | None = None) -> None:
        self.count = 0
        self.last = last
        self.threads: set[int] = set()
        self.changed = threading.Condition()

    def beat(self) -> bool:
        with self.changed:
            self.count += 1
            self.threads.add(threading.get_ident())
            self.changed.notify_all()
        return self.count != self.last

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.count >= count, 30)


def test_many_share_a_few_threads() -> None:
    heartbeats = Heartbeats(2)
    counters = [Counter() for _ in range(20)]
    running = [heartbeats.start(c.beat, SOON_S) for c in counters]
    for counter in counters:
        counter.wait_for(3)
    for heartbeat in running:
        heartbeat.stop()
    assert len(set.union(*(c.threads for c in counters))) <= 2


def test_nothing_beats_after_its_stop() -> None:
    heartbeats = Heartbeats(1)
    first, other = Counter(), Counter()
    heartbeat = heartbeats.start(first.beat, SOON_S)
    others = heartbeats.start(other.beat, SOON_S)
    first.wait_for(2)
    heartbeat.stop()
    stopped_at = first.count
    other.wait_for(other.count + 5)
    others.stop()
    assert first.count == stopped_at
    assert heartbeat.stopped


def test_who_says_no_is_not_asked_again() -> None:
    heartbeats = Heartbeats(1)
    short, other = Counter(last=1), Counter()
    heartbeat = heartbeats.start(short.beat, SOON_S)
    others = heartbeats.start(other.beat, SOON_S)
    short.wait_for(1)
    other.wait_for(other.count + 5)
    others.stop()
    assert (short.count, heartbeat.stopped) == (1, True)


def test_stopping_waits_for_a_beat_that_is_under_way() -> None:
    heartbeats = Heartbeats(1)
    begun, go_on = threading.Event(), threading.Event()
    ended: list[str] = []

    def beat() -> bool:
        begun.set()
        go_on.wait(30)
        ended.append("beat")
        return True

    def stop() -> None:
        heartbeat.stop()
        ended.append("stopped")

    heartbeat = heartbeats.start(beat, SOON_S)
    assert begun.wait(30)
    stopper = _started(stop)
    go_on.set()
    stopper.join(30)
    # Another beat may have begun before it was stopped, but none after.
    assert ended[0] == "beat"
    assert ended[-1] == "stopped"
    assert heartbeat.stopped


def test_a_thread_is_made_again_when_all_have_ended() -> None:
    heartbeats = Heartbeats(1)
    first = Counter(last=1)
    heartbeats.start(first.beat, SOON_S)
    first.wait_for(1)
    second = Counter()
    heartbeat = heartbeats.start(second.beat, SOON_S)
    second.wait_for(2)
    heartbeat.stop()
    assert second.count >= 2


def test_short_transactions_wake_no_thread() -> None:
    """A thread that looks at the next heartbeat in time is left alone."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += threading.current_thread() is not threading.main_thread()
        return 0.0

    due = iter([5000, *range(2000, 1000, -1)])
    heartbeats = Heartbeats(1, clock=clock, chance=lambda _least, _most: float(next(due)))
    longest = heartbeats.start(Counter().beat, 1.0)
    for _ in range(1000):
        heartbeats.start(Counter().beat, 1.0).stop()
        # Here the other thread would look.
        time.sleep(0.0001)
    longest.stop()
    assert looks < 100


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


class Foreign(BaseException):
    """Descends from no Exception."""


class Failing(Counter):
    """Beats that raise."""

    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.error = error

    def beat(self) -> bool:
        super().beat()
        # A new one: each time that an exception is raised its trace grows.
        raise self.error


UNEXPECTED = [OSError, RuntimeError, MemoryError, Foreign]


@pytest.mark.parametrize("error", UNEXPECTED)
def test_beats_that_raise_come_again_and_keep_no_other_from_beating(
    error: type[BaseException],
) -> None:
    """More of them than there are threads."""
    heartbeats = Heartbeats(5)
    failing = [Failing(error) for _ in range(7)]
    # Less often: each failure is logged with its trace.
    running = [heartbeats.start(f.beat, 20 * SOON_S) for f in failing]
    for one in failing:
        one.wait_for(3)
    healthy = Counter()
    running.append(heartbeats.start(healthy.beat, SOON_S))
    healthy.wait_for(10)
    for heartbeat in running:
        heartbeat.stop()
    assert heartbeats.supervisor.failures["heartbeat"] >= 21


def test_a_beat_that_ends_its_thread_ends_no_other_beat() -> None:
    heartbeats = Heartbeats(2)
    ending, healthy = Failing(SystemExit), Counter()
    running = [heartbeats.start(c.beat, SOON_S) for c in (ending, healthy)]
    ending.wait_for(5)
    healthy.wait_for(healthy.count + 5)
    for heartbeat in running:
        heartbeat.stop()
    assert heartbeats.supervisor.failures == {}


def test_without_a_thread_there_is_no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeats = Heartbeats(2)
    counter, later = Counter(), Counter()

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(ExecutionError, match="no thread can be started for the heartbeat"):
            heartbeats.start(counter.beat, SOON_S)
    heartbeat = heartbeats.start(later.beat, SOON_S)
    later.wait_for(2)
    heartbeat.stop()
    assert counter.count == 0
    assert heartbeats.supervisor.failures == {"heartbeat": 1}


def test_a_second_thread_that_cannot_be_started_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heartbeats = Heartbeats(2)
    go_on = threading.Event()

    def beat() -> bool:
        return go_on.wait(30)

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    first = heartbeats.start(beat, SOON_S)
    second = Counter()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        other = heartbeats.start(second.beat, SOON_S)
        go_on.set()
        second.wait_for(3)
    first.stop()
    other.stop()


def test_the_first_beat_comes_after_a_random_part_of_the_interval() -> None:
    """On a clock that stands still: what is due at once beats, nothing else."""
    asked: list[tuple[float, float]] = []

    def chance(least: float, most: float) -> float:
        asked.append((least, most))
        return 0.0 if len(asked) == 1 else 0.5

    heartbeats = Heartbeats(1, clock=lambda: 1000.0, chance=chance)
    due, later = Counter(last=1), Counter()
    heartbeats.start(due.beat, 60)
    heartbeat = heartbeats.start(later.beat, 60)
    due.wait_for(1)
    heartbeat.stop()
    assert (later.count, asked) == (0, [(0.25, 1.0), (0.25, 1.0)])

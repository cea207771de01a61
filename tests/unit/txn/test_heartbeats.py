"""Signs of life of many from a few threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

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
    heartbeats.start(other.beat, SOON_S)
    first.wait_for(2)
    heartbeat.stop()
    stopped_at = first.count
    other.wait_for(other.count + 5)
    assert first.count == stopped_at
    assert heartbeat.stopped


def test_who_says_no_is_not_asked_again() -> None:
    heartbeats = Heartbeats(1)
    short, other = Counter(last=1), Counter()
    heartbeat = heartbeats.start(short.beat, SOON_S)
    heartbeats.start(other.beat, SOON_S)
    short.wait_for(1)
    other.wait_for(other.count + 5)
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


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread

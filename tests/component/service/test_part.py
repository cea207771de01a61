"""acidsql/service/part.py"""

from __future__ import annotations

import threading

import pytest

from acidsql.errors import StorageError
from acidsql.process.supervisor import Supervisor
from acidsql.service.part import GRACE_S, LIMIT_S, Condition, Part
from acidsql.service.timetable import Timetable


class Seconds:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


def part(work, clock, start_s=0.0, **options) -> Part:
    timetable = Timetable(start_s, 10)
    supervisor = Supervisor(lambda *_: None)
    return Part("cleaner", work, timetable, supervisor, clock=clock, now=lambda: 7.0, **options)


def test_a_part_is_late_when_its_round_does_not_come(clock):
    cleaner = part(lambda: 0, clock, start_s=100)
    assert cleaner.status.last_success is None
    clock.now_s += 100 + 20 + GRACE_S
    assert cleaner.status.condition is Condition.OK
    clock.now_s += 1
    assert cleaner.status.condition is Condition.LATE
    cleaner.run_round()
    assert (cleaner.status.condition, cleaner.status.last_success) == (Condition.OK, 7.0)


def test_one_failure_is_no_failing_part(clock):
    fails = [True]

    def work() -> int:
        if fails[0]:
            raise StorageError("disk full")
        return 0

    cleaner = part(work, clock)
    for _ in range(8):
        cleaner.run_round()
        assert cleaner.status.condition is Condition.OK
        clock.now_s += 10
    cleaner.run_round()
    clock.now_s += 1
    assert cleaner.status.condition is Condition.FAILING
    fails[0] = False
    cleaner.run_round()
    assert cleaner.status.condition is Condition.OK


def test_a_long_round_is_not_late_before_its_limit(clock):
    seen = []

    def work() -> int:
        clock.now_s += LIMIT_S
        seen.append((cleaner.status.condition, cleaner.status.is_working))
        clock.now_s += 1
        seen.append((cleaner.status.condition, cleaner.status.is_working))
        return 0

    cleaner = part(work, clock)
    cleaner.run_round()
    assert seen == [(Condition.OK, True), (Condition.LATE, True)]
    assert (cleaner.status.condition, cleaner.status.is_working) == (Condition.OK, False)


def test_what_follows_follows_only_rounds_that_did_something(clock):
    found, woken = [2, 0], []
    initiator = part(lambda: found.pop(0), clock, then=lambda: woken.append(len(found)))
    initiator.run_round()
    initiator.run_round()
    assert woken == [1]


def test_it_runs_when_hastened_and_stops():
    came = threading.Event()
    slow = Part("worker", came.set, Timetable(3600, 3600), Supervisor())
    slow.start()
    assert not came.is_set()
    slow.hasten()
    assert came.wait(60)
    slow.stop()
    assert slow.join(60)
    assert slow.is_stopping


def test_a_part_that_is_stopped_in_its_round_begins_no_other():
    began, go = threading.Event(), threading.Event()
    rounds = []

    def work() -> None:
        rounds.append(1)
        began.set()
        go.wait(60)

    quick = Part("worker", work, Timetable(0, 0.001), Supervisor())
    quick.start()
    assert began.wait(60)
    quick.stop()
    assert not quick.join(0)
    go.set()
    assert quick.join(60)
    assert len(rounds) == 1

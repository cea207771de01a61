"""acidsql/service/mutex.py: one service works at a time, and another takes over from the dead."""

from __future__ import annotations

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.service.mutex import ServiceMutex
from acidsql.txn.heartbeats import Heartbeats
from tests.unit.backends.conftest import Clock

LEASE_S = 60.0


@pytest.fixture
def mutex(store: MemoryStore, clock: Clock):
    def make(owner: str, interval_s: float = 5, *, keep: bool = True) -> ServiceMutex:
        def now_s() -> float:
            return clock.now_ms / 1000

        return ServiceMutex(
            store, Heartbeats(1), "Cleaner", owner, interval_s, LEASE_S, keep=keep, clock=now_s
        )

    return make


def works(mutex: ServiceMutex) -> bool:
    with mutex.for_round() as has_it:
        return has_it


def test_one_of_two_works_in_each_round(mutex, clock):
    one, two = mutex("one"), mutex("two")
    for _ in range(100):
        assert (works(one), works(two)) == (True, False)
        clock.pass_s(5)


def test_the_other_takes_over_when_the_first_is_dead(mutex, clock):
    one, two = mutex("one"), mutex("two")
    assert works(one)
    clock.pass_s(LEASE_S + 4)
    assert not works(two)
    clock.pass_s(1)
    assert works(two)
    assert not works(one)


def test_the_other_takes_over_at_once_from_one_that_stops(mutex):
    one, two = mutex("one"), mutex("two")
    assert works(one)
    one.release()
    one.release()
    assert (works(two), works(one)) == (True, False)


def test_it_is_kept_over_a_long_interval_without_being_renewed(mutex, clock):
    one, two = mutex("one", interval_s=300), mutex("two", interval_s=300)
    for _ in range(3):
        assert works(one)
        clock.pass_s(299)
        assert not works(two)
        clock.pass_s(1)


def test_it_is_given_back_after_each_round_if_it_is_not_kept(mutex):
    one, two = mutex("one", keep=False), mutex("two", keep=False)
    assert (works(one), works(two), works(one)) == (True, True, True)


def test_it_is_renewed_while_a_round_runs(mutex, clock):
    """Rounds longer than the lease: the heartbeat is called as its thread would call it."""
    one, two = mutex("one"), mutex("two")
    with one.for_round() as has_it:
        assert has_it
        for _ in range(5):
            clock.pass_s(LEASE_S / 3)
            assert one._renew()
            assert not works(two)
    assert works(one)


def test_whoever_stood_still_for_too_long_hears_of_the_other(mutex, clock, caplog):
    one, two = mutex("one"), mutex("two")
    with one.for_round():
        clock.pass_s(LEASE_S + 5)
        assert works(two)
        assert not one._renew()
    assert "another service has taken over the mutex Cleaner" in caplog.text
    one.release()
    assert (works(one), works(two)) == (False, True)

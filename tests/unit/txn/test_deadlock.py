"""Who gives way when transactions wait in a circle."""

from __future__ import annotations

import sys
from types import FrameType

import hypothesis.strategies as st
import pytest
from hypothesis import given

from acidsql.model.ids import LockId, TxnId
from acidsql.txn.deadlock import deadlocked
from acidsql.txn.entities import Lock, LockState, LockType
from acidsql.txn.locks import first_blocker, keeps_waiting

EXCLUSIVE, READ = LockType.EXCLUSIVE, LockType.SHARED_READ
ACQUIRED, WAITING = LockState.ACQUIRED, LockState.WAITING


def lock(
    lock_id: int,
    txn: int,
    table: str | None,
    kind: LockType,
    state: LockState,
    partition: str | None = None,
) -> Lock:
    who = ("user", "host", "agent")
    return Lock(LockId(lock_id), 1, TxnId(txn), "db", table, partition, state, kind, 0, None, *who)


def test_two_transactions_that_want_what_the_other_has() -> None:
    found = deadlocked([
        lock(1, 7, "a", EXCLUSIVE, ACQUIRED),
        lock(2, 5, "b", EXCLUSIVE, ACQUIRED),
        lock(3, 7, "b", READ, WAITING),
        lock(4, 5, "a", READ, WAITING),
    ])  # fmt: skip
    assert found == {7: "deadlock with txnid:5"}


def test_a_queue_is_no_circle() -> None:
    assert not deadlocked([
        lock(1, 7, "a", EXCLUSIVE, ACQUIRED),
        lock(2, 8, "a", EXCLUSIVE, WAITING),
        lock(3, 9, "a", EXCLUSIVE, WAITING),
    ])  # fmt: skip


def test_a_circle_through_one_who_only_waits() -> None:
    # 2 waits for the reader 1; 3 waits behind 2 in the queue for a, and 1 waits for what 3 has.
    found = deadlocked([
        lock(1, 1, "a", READ, ACQUIRED),
        lock(2, 3, "b", EXCLUSIVE, ACQUIRED),
        lock(3, 2, "a", EXCLUSIVE, WAITING),
        lock(4, 3, "a", READ, WAITING),
        lock(5, 1, "b", READ, WAITING),
    ])  # fmt: skip
    assert found == {3: "deadlock with txnid:1, txnid:2"}


def test_two_circles_lose_one_each() -> None:
    found = deadlocked([
        lock(1, 1, "a", EXCLUSIVE, ACQUIRED),
        lock(2, 2, "b", EXCLUSIVE, ACQUIRED),
        lock(3, 3, "c", EXCLUSIVE, ACQUIRED),
        lock(4, 4, "d", EXCLUSIVE, ACQUIRED),
        lock(5, 1, "b", READ, WAITING),
        lock(6, 2, "a", READ, WAITING),
        lock(7, 3, "d", READ, WAITING),
        lock(8, 4, "c", READ, WAITING),
    ])  # fmt: skip
    assert set(found) == {2, 4}


def test_a_stronger_lock_on_what_one_has_goes_before_those_who_wait_for_it() -> None:
    locks = [
        lock(1, 1, "a", READ, ACQUIRED),
        lock(2, 2, "a", EXCLUSIVE, WAITING),
        lock(3, 1, "a", LockType.EXCL_WRITE, WAITING),
        lock(4, 3, "a", READ, WAITING),
    ]
    assert not deadlocked(locks)
    assert first_blocker([locks[2]], locks) is None
    assert first_blocker([locks[3]], locks) == (locks[3], locks[1])


def test_two_who_both_want_more_are_a_circle() -> None:
    assert deadlocked([
        lock(1, 1, "a", READ, ACQUIRED),
        lock(2, 2, "a", READ, ACQUIRED),
        lock(3, 1, "a", EXCLUSIVE, WAITING),
        lock(4, 2, "a", EXCLUSIVE, WAITING),
    ]) == {2: "deadlock with txnid:1"}  # fmt: skip


PLACES = [("a", None), ("b", None), ("c", None), ("a", "p=1"), ("a", "p=2"), (None, None)]


@st.composite
def many_locks(draw: st.DrawFn) -> list[Lock]:
    numbers = range(1, draw(st.integers(2, 12)))
    return [
        lock(
            n,
            draw(st.integers(1, 5)),
            table,
            draw(st.sampled_from(LockType)),
            draw(st.sampled_from([ACQUIRED, WAITING])),
            partition,
        )
        for n in numbers
        for table, partition in [draw(st.sampled_from(PLACES))]
    ]


@given(many_locks())
def test_afterwards_somebody_can_always_go_on(locks: list[Lock]) -> None:
    victims = deadlocked(locks)
    assert victims.keys() <= {lock.txn_id for lock in locks if lock.state is WAITING}
    assert not stuck([lock for lock in locks if lock.txn_id not in victims])
    # Nobody gives way where everybody would have come on.
    assert bool(victims) == bool(stuck(locks))
    assert victims.keys() <= {lock.txn_id for lock in stuck(locks)}


def stuck(rest: list[Lock]) -> list[Lock]:
    """What is left when everybody who can go on has ended, one after the other."""
    while rest:
        free = {lock.txn_id for lock in rest} - {
            lock.txn_id
            for lock in rest
            for other in rest
            if lock.state is WAITING and keeps_waiting(other, lock, rest)
        }
        if not free:
            return rest
        rest = [lock for lock in rest if lock.txn_id not in free]
    return []


@given(many_locks())
def test_nobody_loses_without_a_circle(locks: list[Lock]) -> None:
    waiting_once = [
        lock for lock in locks if lock.state is ACQUIRED or lock.txn_id == locks[0].txn_id
    ]
    assert not deadlocked(waiting_once)


def calls_of(locks: list[Lock]) -> int:
    """How many functions a search calls."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        deadlocked(locks)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("in_partitions", [False, True])
def test_twice_as_many_who_wait_are_twice_the_work(in_partitions: bool) -> None:
    def queue(length: int) -> list[Lock]:
        held = lock(1, 1, "t", EXCLUSIVE, ACQUIRED)
        places = [f"p={number % 7}" if in_partitions else None for number in range(length)]
        waiting = [
            lock(number, number, "t", EXCLUSIVE, WAITING, place)
            for number, place in enumerate(places, 2)
        ]
        return [held, *waiting]

    assert calls_of(queue(800)) < 2.2 * calls_of(queue(400))


def test_twice_as_many_circles_are_twice_the_work() -> None:
    def pairs(count: int) -> list[Lock]:
        txns = range(2 * count)
        held = [lock(n, n, "t", EXCLUSIVE, ACQUIRED, f"p={n}") for n in txns]
        asked = [
            lock(2 * count + n, n, "t", EXCLUSIVE, WAITING, f"p={n ^ 1}")  # its neighbour's place
            for n in txns
        ]
        return [*held, *asked]

    assert deadlocked(pairs(3)).keys() == {1, 3, 5}
    assert calls_of(pairs(200)) < 2.2 * calls_of(pairs(100))

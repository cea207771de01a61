"""Named mutexes: one owner at a time, until its lease ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


def test_one_owner_has_a_mutex_until_it_is_released(store):
    assert store.take_mutex("Cleaner", "one", 30)
    assert not store.take_mutex("Cleaner", "two", 30)
    assert store.take_mutex("Initiator", "two", 30)
    store.release_mutex("Cleaner", "two")
    assert not store.take_mutex("Cleaner", "two", 30)
    store.release_mutex("Cleaner", "one")
    store.release_mutex("Cleaner", "one")
    assert store.take_mutex("Cleaner", "two", 30)


def test_a_lease_ends_by_the_clock_of_the_store_unless_it_is_renewed(store, clock):
    assert store.take_mutex("Cleaner", "one", 30)
    clock.pass_s(20)
    assert store.take_mutex("Cleaner", "one", 30)
    clock.pass_s(29)
    assert not store.take_mutex("Cleaner", "two", 30)
    clock.pass_s(1)
    assert store.take_mutex("Cleaner", "two", 30)
    assert not store.take_mutex("Cleaner", "one", 30)


def test_a_shorter_lease_counts_from_its_renewal(store, clock):
    assert store.take_mutex("Cleaner", "one", 30)
    assert store.take_mutex("Cleaner", "one", 5)
    clock.pass_s(5)
    assert store.take_mutex("Cleaner", "two", 30)


def test_one_of_many_gets_it(store):
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda n: store.take_mutex("Cleaner", f"owner {n}", 30), range(16)))
    assert got.count(True) == 1

"""The limit of open transactions."""

import pytest

from acidsql.backends.sqlite import SqliteStore
from acidsql.errors import TooManyOpenTxnsError
from acidsql.txn.open_count import OpenTxnCount
from acidsql.txn.policy import TxnPolicy


class Counted:
    """Counts how often it is asked for the number."""

    def __init__(self, number):
        self.number, self.times = number, 0

    def __call__(self):
        self.times += 1
        return self.number


class Clock:
    """Says what it was set to, in milliseconds."""

    def __init__(self):
        self.now_ms = 0

    def __call__(self):
        return self.now_ms


@pytest.fixture
def clock():
    return Clock()


def test_it_is_counted_once_in_an_interval(clock):
    count, found = OpenTxnCount(TxnPolicy(count_interval_s=2), clock), Counted(10)
    for clock.now_ms in (0, 1, 1999, 2000, 2001, 3999, 4000):
        count.require_room(1, found)
    assert found.times == 3


def test_a_clock_that_was_set_back(clock):
    count, found = OpenTxnCount(TxnPolicy(), clock), Counted(10)
    for clock.now_ms in (5000, 100):
        count.require_room(1, found)
    assert found.times == 2


def test_nobody_is_turned_away_for_an_old_count():
    count, found = OpenTxnCount(TxnPolicy(max_open_txns=3, count_interval_s=60)), Counted(0)
    count.require_room(3, found)
    count.require_room(3, found)  # those of before have ended
    found.number = 3
    with pytest.raises(TooManyOpenTxnsError):
        count.require_room(1, found)
    assert found.times == 3


def test_what_others_open_counts_after_the_interval(tmp_path):
    now_ms = 0
    policy = TxnPolicy(max_open_txns=2, count_interval_s=10)
    path = str(tmp_path / "store.db")
    ours, theirs = (SqliteStore(path, policy=policy, clock_ms=lambda: now_ms) for _ in range(2))
    ours.open_txn("ann", "host1")
    theirs.open_txn("bob", "host2")
    ours.open_txn("ann", "host1")  # a third one, as may be in Hive
    now_ms = 10_000
    with pytest.raises(TooManyOpenTxnsError, match="Maximum allowed number"):
        ours.open_txn("ann", "host1")
    ours.close()
    theirs.close()

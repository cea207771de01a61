"""Times and limits."""

from itertools import islice

import pytest

from acidsql.txn.policy import TxnPolicy, conflict_waits, lock_waits


def test_hives_defaults():
    policy = TxnPolicy()
    assert (policy.timeout_s, policy.heartbeat_s, policy.timeout_ms) == (300, 150, 300_000)
    assert (policy.max_open_txns, policy.lock_retries) == (100_000, 100)


def test_the_back_off_doubles_up_to_the_longest_pause():
    waits = list(lock_waits(TxnPolicy()))
    assert waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert waits[-1] == max(waits) == 60
    assert len(waits) == 100


def test_who_lost_a_conflict_waits_longer_each_time_and_not_as_long_as_others():
    tries = [list(islice(conflict_waits(), 12)) for _ in range(3)]
    bounds = [min(0.1 * 2**n, 10.0) for n in range(12)]
    for waits in tries:
        assert all(b / 2 <= w <= b for w, b in zip(waits, bounds, strict=True))
    assert len({tuple(waits) for waits in tries}) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"timeout_s": 0}, {"max_open_txns": 0}, {"max_open_batch": 0}, {"lock_retries": -1}],
    ids=str,
)
def test_unusable_policies(wrong):
    with pytest.raises(ValueError, match="not a usable transaction policy"):
        TxnPolicy(**wrong)

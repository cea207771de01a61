"""Times and limits of the transaction manager, and the back-off of lock waits."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.txn.entities import CompactionState

LONGEST_S = 100 * 366 * 86_400.0
"""A hundred years: the longest time that is counted with. Threads and stores know no endless one.
"""


@dataclass(frozen=True, slots=True)
class TxnPolicy:
    """Hive's settings, with Hive's defaults.

    ``timeout_s`` is hive.txn.timeout, ``max_open_txns`` hive.max.open.txns, ``max_open_batch``
    hive.txn.max.open.batch, ``count_interval_s`` hive.count.open.txns.interval, ``lock_retries``
    hive.lock.numretries and ``lock_sleep_s`` hive.lock.sleep.between.retries, the longest pause
    between two looks at a waiting lock. ``lock_start_s`` is fixed in Hive.

    ``xlock_iow`` (hive.txn.xlock.iow): INSERT OVERWRITE keeps readers out. ``write_xlock``
    (hive.txn.write.xlock): UPDATE, DELETE and MERGE wait for each other, instead of finding a
    conflict at the commit. If either is False, inserts wait for overwrites, and a read that would
    have to wait fails at once. ``strict_locking`` (hive.txn.strict.locking.mode): a write to a
    plain table keeps all other statements out. Sessions that share tables must agree on these
    three.

    ``delayed_cleanup`` (hive.compactor.delayed.cleanup.enabled) puts the cleaning after a
    compaction off until ``retention_s`` (hive.compactor.cleaner.retention.time.seconds) after its
    commit. ``worker_timeout_s`` (hive.compactor.worker.timeout) is how long one compaction may
    take, even if its worker gives heartbeats. A compaction that has been begun
    ``compaction_attempts`` times, and whose worker is gone again, has failed.

    ``kept_succeeded``, ``kept_failed`` and ``kept_attempted``
    (hive.compactor.history.retention.succeeded, .failed and .attempted) say how many compactions of
    each place the history keeps at least.

    ``pool_timeout_s`` is hive.compactor.worker.pool.timeout: after that time, a compaction of any
    pool may also be taken by workers without a pool.
    """

    timeout_s: float = 300.0
    max_open_txns: int = 100_000
    lock_retries: int = 100
    lock_start_s: float = 0.05
    lock_sleep_s: float = 60.0
    max_open_batch: int = 1000
    count_interval_s: float = 1.0
    xlock_iow: bool = True
    write_xlock: bool = True
    strict_locking: bool = True
    delayed_cleanup: bool = False
    retention_s: float = 300.0
    worker_timeout_s: float = 86_400.0
    pool_timeout_s: float = 12 * 3600.0
    compaction_attempts: int = 3
    kept_succeeded: int = 3
    kept_failed: int = 3
    kept_attempted: int = 2

    def __post_init__(self) -> None:
        counts = (self.max_open_txns, self.max_open_batch)
        kept = (self.kept_succeeded, self.kept_failed, self.kept_attempted)
        least = min(
            self.lock_retries, self.count_interval_s, self.retention_s, self.pool_timeout_s, *kept
        )
        if min(self.timeout_s, self.worker_timeout_s) <= 0 or min(counts) < 1 or least < 0:
            raise ValueError(f"not a usable transaction policy: {self}")

    @property
    def zero_wait_reads(self) -> bool:
        """Whether a read that meets an exclusive lock fails at once (Hive: zeroWaitReadEnabled)."""
        return not (self.xlock_iow and self.write_xlock)

    @property
    def timeout_ms(self) -> int:
        """``timeout_s`` in milliseconds, the unit of the stores."""
        return round(self.timeout_s * 1000)

    @property
    def pool_timeout_ms(self) -> int:
        """``pool_timeout_s`` in milliseconds."""
        return round(self.pool_timeout_s * 1000)

    @property
    def cleanup_delay_ms(self) -> int:
        """How long after its commit a compaction is not cleaned up after."""
        return round(self.retention_s * 1000) if self.delayed_cleanup else 0

    @property
    def worker_timeout_ms(self) -> int:
        """``worker_timeout_s`` in milliseconds."""
        return round(self.worker_timeout_s * 1000)

    @property
    def kept_compactions(self) -> Sequence[tuple[Sequence[CompactionState], int]]:
        """States that the history counts together, and how many of each place it keeps at least."""
        attempted = (CompactionState.REFUSED, CompactionState.DID_NOT_INITIATE)
        return (
            ((CompactionState.SUCCEEDED,), self.kept_succeeded),
            ((CompactionState.FAILED,), self.kept_failed),
            ((*attempted, CompactionState.ABORTED), self.kept_attempted),
        )

    @property
    def heartbeat_s(self) -> float:
        """The pause between two heartbeats: half the time-out, as in Hive's clients."""
        return self.timeout_s / 2

    @property
    def retention_ms(self) -> int:
        """How long the store remembers ended transactions at least.

        A client may have lost the answer to its commit, or slept through its time-out. It is told
        what happened, instead of "no such transaction".
        """
        return 2 * self.timeout_ms


DEFAULT_POLICY = TxnPolicy()
"""Hive's defaults."""


def lock_waits(policy: TxnPolicy) -> Iterator[float]:
    """The seconds to sleep before each further look at a waiting lock.

    They double before each sleep, so the first is twice ``lock_start_s`` (Hive DbLockManager).

    >>> list(lock_waits(TxnPolicy(lock_retries=4, lock_sleep_s=0.5)))
    [0.1, 0.2, 0.4, 0.5]
    """
    wait_s = policy.lock_start_s
    for _ in range(policy.lock_retries):
        wait_s = min(wait_s * 2, policy.lock_sleep_s)
        yield wait_s


def conflict_waits() -> Iterator[float]:
    """The seconds to wait before each further try of a statement that lost a conflict, endless.

    The longest wait doubles with each try, up to ten seconds. Each wait is random, at least half of
    the longest one, so that the losers of one conflict do not meet again.
    """
    wait_s = 0.1
    while True:
        yield random.uniform(wait_s / 2, wait_s)  # noqa: S311 - no secret depends on it
        wait_s = min(wait_s * 2, 10.0)

"""The limit of open transactions, without counting them each time."""

from __future__ import annotations

import time
from collections.abc import Callable

from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import require_room


class OpenTxnCount:
    """The number of open transactions: the last count, and those opened here since then.

    They are counted again after hive.count.open.txns.interval, and before a request is refused.
    Other processes may open more in between, and so exceed hive.max.open.txns, as in Hive.
    """

    def __init__(self, policy: TxnPolicy, clock_ms: Callable[[], int] | None = None) -> None:
        self._policy = policy
        self._clock_ms = clock_ms or _steady_ms
        self._open = 0
        self._counted_ms: int | None = None

    def require_room(self, wanted: int, count: Callable[[], int]) -> None:
        """TooManyOpenTxnsError if ``wanted`` more would exceed the limit. ``count`` counts anew."""
        limit, now_ms = self._policy.max_open_txns, self._clock_ms()
        if self._is_outdated(now_ms) or self._open + wanted > limit:
            self._open, self._counted_ms = count(), now_ms
        require_room(self._open, limit, wanted)
        self._open += wanted

    def _is_outdated(self, now_ms: int) -> bool:
        if self._counted_ms is None:
            return True
        return not 0 <= now_ms - self._counted_ms < self._policy.count_interval_s * 1000


def _steady_ms() -> int:
    """Milliseconds of this process. Only intervals matter, so the store's clock is not needed."""
    return time.monotonic_ns() // 1_000_000

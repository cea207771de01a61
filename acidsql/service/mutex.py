"""A named mutex of the store that one service holds, round after round, until it stops or dies."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.manager import TxnManager

_log = logging.getLogger(__name__)


class ServiceMutex:
    """One mutex for one owner.

    The lease reaches ``lease_s`` beyond the next round, and is renewed while a round runs. So one
    service does the work as long as it lives, and another one takes over when the lease has ended.
    With ``keep=False`` the mutex is given back after each round.
    """

    def __init__(
        self,
        txns: TxnManager,
        heartbeats: Heartbeats,
        name: str,
        owner: str,
        interval_s: float,
        lease_s: float,
        *,
        keep: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._txns, self._heartbeats = txns, heartbeats
        self._owner, self._keep, self._clock = owner, keep, clock
        self._interval_s, self._lease_s = interval_s, lease_s
        self._renew_at_s = self._clock()
        self._held = False

    @contextmanager
    def for_round(self) -> Iterator[bool]:
        """For a ``with`` block, whether this owner has the mutex."""
        # What the store granted lasts longer than this: the lease began after the clock was read.
        if not self._held or self._clock() >= self._renew_at_s:
            self._held = self._take()
        if not self._held:
            yield False
            return
        renewal = self._heartbeats.start(self._renew, self._lease_s / 3)
        try:
            yield True
        finally:
            renewal.stop()
            if not self._keep:
                self.release()

    def release(self) -> None:
        """Give the mutex back, if this owner has it. Idempotent."""
        if self._held:
            self._held = False
            self._txns.release_mutex(self.name, self._owner)

    def _take(self) -> bool:
        now_s = self._clock()
        until_s = self._interval_s + self._lease_s
        taken = self._txns.take_mutex(self.name, self._owner, until_s)
        # What is left by then reaches over one more round.
        self._renew_at_s = now_s + self._lease_s / 2
        return taken

    def _renew(self) -> bool:
        """Renew the lease; False, which ends the renewals, if another owner has the mutex."""
        self._held = self._take()
        if not self._held:
            # Only after this process, or its store, stood still for longer than the lease.
            _log.warning("another service has taken over the mutex %s", self.name)
        return self._held

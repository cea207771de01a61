"""The lock requests of one transaction: each is granted, waited for, or withdrawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from acidsql.errors import LockTimeoutError, NoSuchLockError
from acidsql.model.ids import TxnId
from acidsql.model.progress import Progress
from acidsql.txn.cleanup import failures_logged
from acidsql.txn.entities import LockComponent, LockResponse, LockState, LockType
from acidsql.txn.manager import TxnManager
from acidsql.txn.policy import TxnPolicy, lock_waits


class LockRequests:
    """Asks the store for locks of an open transaction.

    ``sent_on_open`` has the components of the request that was sent as the transaction was opened,
    and the store's answer. ``sleep`` replaces the waits, in tests.
    """

    def __init__(
        self,
        manager: TxnManager,
        txn_id: TxnId,
        *,
        user: str,
        host: str,
        agent_info: str,
        policy: TxnPolicy,
        progress: Progress,
        sleep: Callable[[float], None] | None = None,
        sent_on_open: tuple[Sequence[LockComponent], LockResponse] | None = None,
    ) -> None:
        self._manager, self._txn_id = manager, txn_id
        self._user, self._host, self._agent_info = user, host, agent_info
        self._policy = policy
        self._progress = progress
        self._sleep = sleep
        self._sent_on_open = sent_on_open

    def lock(
        self,
        components: Sequence[LockComponent],
        check: Callable[[], None],
        *,
        until_woken: bool = False,
    ) -> bool:
        """Wait until all components are granted.

        With ``until_woken`` the wait also ends when the store says that the request may be granted
        now. Then the answer is False, and the request keeps its place for an heir. Otherwise the
        answer is True.

        ``check`` is called after each wait, and raises if the transaction is lost. LockTimeoutError
        after the last look, DeadlockError if this transaction was aborted to end a deadlock. After
        any exception the request is withdrawn, so that it keeps no other transaction waiting.
        """
        if not components:
            return True
        response = self._ask(components)
        if response.state is LockState.ACQUIRED:
            return True
        try:
            if self._must_not_wait(components):
                raise _read_would_wait(response)
            with self._progress.during("waiting for a lock"):
                return self._wait(response, check, until_woken=until_woken)
        except BaseException:
            with failures_logged("withdrawing a lock", self._txn_id):
                self._manager.unlock(response.lock_id)
            raise

    def try_lock(self, components: Sequence[LockComponent]) -> bool:
        """Whether all components are granted at once. If not, the request is withdrawn."""
        if not components:
            return True
        response = self._ask(components)
        granted = response.state is LockState.ACQUIRED
        if not granted:
            self._manager.unlock(response.lock_id)
        return granted

    def _ask(self, components: Sequence[LockComponent]) -> LockResponse:
        if self._sent_on_open is not None and self._sent_on_open[0] is components:
            return self._sent_on_open[1]
        return self._manager.lock(
            self._txn_id, components, self._user, self._host, self._agent_info
        )

    def _must_not_wait(self, components: Sequence[LockComponent]) -> bool:
        reads = all(c.type is LockType.SHARED_READ for c in components)
        return reads and self._policy.zero_wait_reads

    def _wait(
        self, response: LockResponse, check: Callable[[], None], *, until_woken: bool
    ) -> bool:
        """Look at a request after each of Hive's pauses until it is granted; see `lock`."""
        for pause_s in lock_waits(self._policy):
            if not until_woken:
                response = self._pause(response, pause_s, check)
            if response.state is LockState.ACQUIRED:
                return True
            if until_woken and self._is_woken(response, pause_s, check):
                return False
            # The transaction that holds the lock may be dead, and there may be no service that
            # aborts it.
            self._manager.time_out_txns()
            self._manager.resolve_deadlocks()
            response = self._look(response)
        if response.state is not LockState.ACQUIRED:
            raise LockTimeoutError(
                f"lockid:{response.lock_id} was not granted in time",
                detail=f"It waits for {response.blocked_by}." if response.blocked_by else None,
                hint="SHOW LOCKS tells which transaction holds which lock.",
                code=10307,
            )
        return True

    def _pause(
        self, response: LockResponse, pause_s: float, check: Callable[[], None]
    ) -> LockResponse:
        """The state of a request after a pause, or as soon as it is granted.

        Each time the store says that the request may be granted now, the pause goes on with the
        rest of its time. So it takes no longer than with a store that says nothing.
        """
        until_s, left_s = time.monotonic() + pause_s, pause_s
        while response.state is not LockState.ACQUIRED and self._is_woken(response, left_s, check):
            response = self._look(response)
            left_s = max(until_s - time.monotonic(), 0.0)
        return response

    def _is_woken(
        self, response: LockResponse, timeout_s: float, check: Callable[[], None]
    ) -> bool:
        """Wait until the store says that the request may be granted. False if the time is up."""
        woken = False
        if self._sleep is not None:
            self._sleep(timeout_s)
        else:
            woken = self._manager.await_lock(response.lock_id, timeout_s)
        check()
        return woken

    def _look(self, response: LockResponse) -> LockResponse:
        """The present state of a request."""
        try:
            return self._manager.check_lock(response.lock_id)
        except NoSuchLockError:
            # The transaction has ended, and its locks with it. The heartbeat raises the reason.
            self._manager.heartbeat(self._txn_id)
            raise


def _read_would_wait(response: LockResponse) -> LockTimeoutError:
    return LockTimeoutError(
        "Unable to acquire read lock due to an existing exclusive lock",
        detail=f"It is {response.blocked_by}.",
        hint="Try again; with hive.txn.xlock.iow and hive.txn.write.xlock reads would wait.",
        code=10307,
    )

"""The background work of a session: one round at a time, as a service, or after each commit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from acidsql.background.rounds import Rounds
from acidsql.model.table import pool_of
from acidsql.service.inline import InlineService
from acidsql.service.service import Service
from acidsql.service.timetable import ServiceTimes
from acidsql.session.parameters import require_count
from acidsql.txn.heartbeats import Heartbeats


class BackgroundWork(ABC):
    """What a session offers besides statements. Each method checks that the session is open."""

    def __init__(
        self,
        rounds: Rounds,
        heartbeats: Heartbeats,
        times: ServiceTimes | None,
        *,
        inline: bool,
    ) -> None:
        """With ``inline`` compactions and cleaning follow the session's commits by themselves."""
        self._rounds, self._heartbeats = rounds, heartbeats
        self._times = times or ServiceTimes()
        self._inline = InlineService(rounds, heartbeats, self._times) if inline else None
        self._committed = _nothing if self._inline is None else self._inline.committed

    @abstractmethod
    def _check_open(self) -> None:
        """ConfigError if the session is closed, ForkError in a forked child."""

    def run_initiator(self) -> int:
        """Ask for the compactions that Hive's thresholds call for. Returns how many were asked for.

        None over a Hive Metastore, which has an initiator of its own.
        """
        self._check_open()
        return self._rounds.initiate()

    def run_worker(self, pool: str | None = None) -> int:
        """Carry out the queued compactions. Returns how many were carried out.

        With ``pool`` those that name the pool. Without, those that name none, and those that have
        waited longer than hive.compactor.worker.pool.timeout for a worker of their pool.
        """
        self._check_open()
        return self._rounds.work(pool_of(pool or ""))

    def run_cleaner(self) -> int:
        """Remove directories that no open reader can need any more.

        Returns how many compactions were cleaned up after.
        """
        self._check_open()
        return self._rounds.clean()

    def run_housekeeper(self) -> list[int]:
        """Abort transactions without a heartbeat and trim the transaction tables.

        Returns the ids of the aborted transactions.
        """
        self._check_open()
        return list(map(int, self._rounds.keep_house()))

    def service(
        self, *, workers: int = 1, pool: str | None = None, times: ServiceTimes | None = None
    ) -> Service:
        """Initiator, workers, cleaner and housekeeper, each in a thread, for a ``with`` block.

        With ``pool`` the workers carry out the compactions of that pool, as in `run_worker`. The
        block must end before the session is closed.
        """
        self._check_open()
        require_count(workers, "workers", 1)
        times = times or self._times
        return Service(
            self._rounds, self._heartbeats, times, workers=workers, pool=pool_of(pool or "")
        )

    @property
    def service_times(self) -> ServiceTimes:
        """When the parts of `service` are due."""
        return self._times

    @property
    def failures(self) -> Mapping[str, int]:
        """How often work in the background has failed since the session began.

        Keys are the names of the work: ``heartbeat``, ``lease``, ``initiator``, ``worker``,
        ``cleaner``, ``housekeeper``, ``temporary tables`` (to drop them), and of a service
        ``metrics`` and ``inline service``. Each failure was logged; ``log`` counts the failures
        that could not be logged.
        """
        return self._heartbeats.supervisor.failures


def _nothing() -> None:
    """What a session without an inline service does after its commits."""

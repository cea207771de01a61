"""What a session does in the background, and the methods that ask for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from acidsql.background.rounds import Rounds
from acidsql.process.supervisor import Supervisor
from acidsql.service.inline import InlineService
from acidsql.service.service import Service
from acidsql.service.timetable import ServiceTimes
from acidsql.session.parameters import require_count
from acidsql.txn.heartbeats import Heartbeats


class BackgroundWork(ABC):
    """The part of a Session that compacts, cleans up and keeps house."""

    _rounds: Rounds
    _heartbeats: Heartbeats
    _times: ServiceTimes
    _supervisor: Supervisor
    _inline: InlineService | None

    @abstractmethod
    def _check_open(self) -> None:
        """Raise unless the session can be used."""

    def run_initiator(self) -> int:
        """Ask for the compactions that Hive's thresholds call for. Returns how many were asked for.

        None over a Hive Metastore, which has an initiator of its own.
        """
        self._check_open()
        return self._rounds.initiate()

    def run_worker(self) -> int:
        """Carry out the queued compactions. Returns how many were carried out."""
        self._check_open()
        return self._rounds.work()

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

    def service(self, *, workers: int = 1, times: ServiceTimes | None = None) -> Service:
        """Initiator, workers, cleaner and housekeeper, each in a thread, for a ``with`` block.

        The block must end before the session is closed.
        """
        self._check_open()
        require_count(workers, "workers", 1)
        times = times or self._times
        return Service(self._rounds, self._heartbeats, times, workers=workers)

    @property
    def service_times(self) -> ServiceTimes:
        """When the parts of `service` are due."""
        return self._times

    def _has_committed(self) -> None:
        if self._inline is not None:
            self._inline.committed()

    @property
    def failures(self) -> Mapping[str, int]:
        """How often work in the background has failed since the session began.

        Keys are the names of the work: ``heartbeat``, ``lease``, ``initiator``, ``worker``,
        ``cleaner``, ``housekeeper``, and of a service ``metrics`` and ``inline service``. Each
        failure was logged; ``log`` counts the failures that could not be logged.
        """
        return self._supervisor.failures

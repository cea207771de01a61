"""When work is due."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.errors import ConfigError
from acidsql.txn.policy import LONGEST_S


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """Hive's times, with Hive's defaults, in seconds.

    ``check_s`` is hive.compactor.check.interval, ``work_s`` the pause of a worker that found the
    queue empty, ``clean_s`` hive.compactor.cleaner.run.interval. ``reap_start_s`` and ``reap_s``
    are hive.timedout.txn.reaper.start and .interval. ``work_limit_s`` is
    hive.compactor.worker.timeout: how long one compaction may take. ``lease_s``
    (acidsql.service.lease) is how long a service that has died keeps others from its work, beyond
    the time of its next round.

    ConfigError for a time that is negative, no number, or longer than `LONGEST_S`.
    """

    check_s: float = 300.0
    work_s: float = 5.0
    clean_s: float = 5.0
    reap_start_s: float = 100.0
    reap_s: float = 180.0
    work_limit_s: float = 86_400.0
    lease_s: float = 30.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            seconds = getattr(self, name)
            if not 0 <= seconds <= LONGEST_S:  # NaN is in no range
                raise ConfigError(
                    f"{name} must be a number of seconds from 0 to {LONGEST_S:g}, not {seconds}"
                )


class Timetable:
    """When work is due: ``start_s`` after the first question, then ``interval_s`` after each time.

    >>> timetable = Timetable(start_s=2, interval_s=5)
    >>> [now_s for now_s in range(10, 24) if timetable.is_due(now_s)]
    [12, 17, 22]
    """

    def __init__(self, start_s: float, interval_s: float) -> None:
        self.start_s, self.interval_s = start_s, interval_s
        self._next_s: float | None = None

    def is_due(self, now_s: float) -> bool:
        """Whether the work is due. If so, the next time is counted from ``now_s``."""
        if now_s < self.next_s(now_s):
            return False
        self._next_s = now_s + self.interval_s
        return True

    def next_s(self, now_s: float) -> float:
        """The time at which the work will be due."""
        if self._next_s is None:
            self._next_s = now_s + self.start_s
        return self._next_s

    def hasten(self, now_s: float) -> None:
        """Make the work due now."""
        self._next_s = now_s

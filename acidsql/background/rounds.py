"""The rounds of a session's background work, with what they remember from one to the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from acidsql.background.aborted_writes import forget_aborted_writes
from acidsql.background.cleaner import run_cleaner
from acidsql.background.events import Action, Event, Tell
from acidsql.background.housekeeper import run_housekeeper
from acidsql.background.initiator import Initiator
from acidsql.background.scope import BackgroundScope
from acidsql.background.worker import run_worker
from acidsql.model.ids import TxnId
from acidsql.ports.engine import Engine


@dataclass(frozen=True, slots=True)
class Rounds:
    """One method for each kind of work; one call is one round. Thread-safe.

    ``settle`` waits until what was collected before has released its files. ``sweep`` drops the
    databases of temporary tables that no session answers for, and names each.
    """

    scope: BackgroundScope
    engine: Engine
    initiator: Initiator
    host: str
    settle: Callable[[], object]
    sweep: Callable[[], Iterable[str]]
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def initiate(self) -> int:
        """Ask for the compactions that are needed. Returns how many were asked for."""
        with self._guard:
            return self.initiator.run(self.scope)

    def work(self, pool: str | None = None, until: Callable[[], bool] = lambda: False) -> int:
        """Carry out queued compactions of a pool, or of none. Returns how many.

        None is begun once ``until`` is True.
        """
        return run_worker(self.scope, self.engine, self.host, pool, until)

    def clean(self) -> int:
        """Remove what no reader can need. Returns how many compactions were cleaned up after."""
        self.settle()
        forget_aborted_writes(self.scope)
        return run_cleaner(self.scope)

    def keep_house(self) -> list[TxnId]:
        """Abort transactions without a heartbeat, trim the store, drop what dead sessions left.

        Returns the aborted transactions.
        """
        aborted = run_housekeeper(self.scope)
        for database in self.sweep():
            self.scope.told(Event(Action.DROPPED, database=database))
        return aborted

    def telling(self, tell: Tell) -> Rounds:
        """The same rounds, whose events are told to ``tell``."""
        return replace(self, scope=replace(self.scope, tell=tell))

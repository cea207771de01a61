"""What a service has done, and what its store holds, in Prometheus' text format.

Only this package imports prometheus_client, which the extra ``service`` installs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from acidsql.background.events import Action, Event
from acidsql.process.supervisor import Supervisor
from acidsql.service.part import PartStatus
from acidsql.txn.entities import UNFINISHED, CompactionState, LockState, TxnState
from acidsql.txn.manager import TxnManager

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
STORE_S = 5.0
"""The store is asked at most once in this time, however often the metrics are."""

_OUTCOMES = {
    Action.ASKED: "asked",
    Action.DONE: "done",
    Action.REFUSED: "refused",
    Action.FAILED: "failed",
}
_QUEUED = (*UNFINISHED, CompactionState.READY_FOR_CLEANING)
_SECONDS = (0.05, 0.2, 1, 5, 20, 60, 300, 1200, 3600, 14400)


class Metrics:
    """Counts the events of one service, and describes its parts and its store.

    Labels are few and fixed: types, outcomes, states, names of parts. No table is named.
    """

    def __init__(
        self,
        txns: TxnManager,
        supervisor: Supervisor,
        statuses: Callable[[], Sequence[PartStatus]],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._registry = prometheus_client.CollectorRegistry()
        self._compactions = self._counter("compactions", "Compactions.", "type", "outcome")
        self._read = self._counter("compaction_read_bytes", "Bytes that compactions read.", "type")
        self._seconds = prometheus_client.Histogram(
            "acidsql_compaction_seconds", "How long compactions took that ended.", ["type"],
            registry=self._registry, buckets=_SECONDS,
        )  # fmt: skip
        self._cleanings = self._counter("cleanings", "Compactions that were cleaned up after.")
        self._removed = self._counter("removed_directories", "Directories the cleaner removed.")
        self._removed_bytes = self._counter("removed_bytes", "Bytes that the cleaner removed.")
        self._timed_out = self._counter("timed_out_transactions", "Transactions that timed out.")
        self._registry.register(_Parts(supervisor, statuses))
        self._registry.register(_StoreContents(txns, supervisor, clock, now))

    def _counter(self, name: str, about: str, *labels: str) -> prometheus_client.Counter:
        return prometheus_client.Counter(f"acidsql_{name}", about, labels, registry=self._registry)

    def count(self, event: Event) -> None:
        """Count an event."""
        kind = event.type or "none"
        match event.action:
            case Action.ASKED | Action.DONE | Action.REFUSED | Action.FAILED:
                self._compactions.labels(kind, _OUTCOMES[event.action]).inc()
                if event.seconds is not None:
                    self._seconds.labels(kind).observe(event.seconds)
                self._read.labels(kind).inc(event.bytes or 0)
            case Action.CLEANED:
                self._cleanings.inc()
                self._removed.inc(event.directories or 0)
                self._removed_bytes.inc(event.bytes or 0)
            case Action.TIMED_OUT:
                self._timed_out.inc()
            case _:
                pass

    def text(self) -> bytes:
        """All metrics, as ``CONTENT_TYPE`` says."""
        return prometheus_client.generate_latest(self._registry)


class _Parts(Collector):
    """Failures and last successes of the parts."""

    def __init__(
        self, supervisor: Supervisor, statuses: Callable[[], Sequence[PartStatus]]
    ) -> None:
        self._supervisor, self._statuses = supervisor, statuses

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        statuses = self._statuses()
        counts = dict.fromkeys((s.name for s in statuses), 0) | dict(self._supervisor.failures)
        failures = CounterMetricFamily(
            "acidsql_failures", "Rounds, and pieces of work in them, that failed.", labels=["part"]
        )
        for part, count in sorted(counts.items()):
            failures.add_metric([part], count)
        yield failures
        last: dict[str, float] = {}
        for status in statuses:
            if status.last_success is not None:
                # Of several workers, the one that is furthest behind.
                last[status.name] = min(status.last_success, last.get(status.name, float("inf")))
        success = GaugeMetricFamily(
            "acidsql_last_success_timestamp_seconds", "When a part last had its round.",
            labels=["part"],
        )  # fmt: skip
        for part, at_s in sorted(last.items()):
            success.add_metric([part], at_s)
        yield success


class _StoreContents(Collector):
    """What waits in the store. Ages go by this machine's clock, against the store's times."""

    def __init__(
        self,
        txns: TxnManager,
        supervisor: Supervisor,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._txns, self._supervisor = txns, supervisor
        self._clock, self._now = clock, now
        self._asked_s = float("-inf")
        self._known: list[Metric] = []

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        # Two at once ask twice, and both answers are right.
        if self._clock() - self._asked_s >= STORE_S:
            self._known = self._supervisor.attempt("metrics", self._ask, [])
            self._asked_s = self._clock()
        is_up = "Whether the store has answered; without it, its metrics are left out."
        yield GaugeMetricFamily("acidsql_store_up", is_up, value=bool(self._known))
        yield from self._known

    def _ask(self) -> list[Metric]:
        now_ms = self._now() * 1000
        entries = self._txns.show_compactions()
        states = Counter(entry.state for entry in entries)
        queue = GaugeMetricFamily(
            "acidsql_queue_length", "Entries of the compaction queue.", labels=["state"]
        )
        for state in _QUEUED:
            queue.add_metric([state.word], states[state])
        waiting = [e.enqueued_ms for e in entries if e.state in UNFINISHED and e.enqueued_ms]
        txns = self._txns.show_txns()
        opened = [t.started_ms for t in txns if t.state is TxnState.OPEN]
        aborted = sum(t.state is TxnState.ABORTED for t in txns)
        waits = {k.lock_id for k in self._txns.show_locks() if k.state is LockState.WAITING}
        return [
            queue,
            _gauge("oldest_unfinished_compaction_age_seconds",
                   "Since the oldest entry was queued that is not done; 0 without one.",
                   _age_s(waiting, now_ms)),
            _gauge("open_transactions", "Open transactions, reads included.", len(opened)),
            _gauge("oldest_open_transaction_age_seconds",
                   "Since the oldest open transaction began; 0 without one.",
                   _age_s(opened, now_ms)),
            _gauge("aborted_transactions", "Aborted transactions not yet cleaned up.", aborted),
            _gauge("waiting_locks", "Lock requests that wait.", len(waits)),
        ]  # fmt: skip


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"acidsql_{name}", about, value=value)


def _age_s(times_ms: Sequence[int], now_ms: float) -> float:
    return max(0.0, (now_ms - min(times_ms)) / 1000) if times_ms else 0.0

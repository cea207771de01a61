"""acidsql/service/metrics.py, read back by Prometheus' own parser."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from acidsql.background.events import Action, Event
from acidsql.errors import StorageError
from acidsql.model.names import TableName
from acidsql.process.supervisor import Supervisor
from acidsql.service.metrics import STORE_S, Metrics
from acidsql.service.part import Condition, PartStatus
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockType,
    TxnType,
    WriteOperation,
)

T = TableName("default", "t")


def status(name: str, last: float | None) -> PartStatus:
    return PartStatus(name, Condition.OK, last, 0.0, 1, False)


class Watched:
    """Metrics whose clocks are moved by hand."""

    def __init__(self, store, clock) -> None:
        self.store, self.seconds = store, 0.0
        self.supervisor = Supervisor(lambda *_: None)
        self.statuses = [status("cleaner", 50.0), status("worker", 40.0), status("worker", 30.0)]
        self.metrics = Metrics(
            store, self.supervisor, lambda: self.statuses,
            lambda: self.seconds, lambda: clock.now_ms / 1000,
        )  # fmt: skip

    def values(self) -> dict[tuple[str, str], float]:
        families = text_string_to_metric_families(self.metrics.text().decode())
        return {
            (s.name.removeprefix("acidsql_"), ",".join(s.labels.values())): s.value
            for family in families
            for s in family.samples
        }


def test_what_was_done(store, clock):
    watched = Watched(store, clock)
    for action, seconds in (
        (Action.ASKED, None), (Action.BEGUN, None), (Action.DONE, 2.0), (Action.DONE, 4.0),
        (Action.REFUSED, 0.1), (Action.FAILED, 1.0), (Action.STARTED, None),
    ):  # fmt: skip
        read = 100 if action is Action.DONE else None
        watched.metrics.count(Event(action, "default.t", type="minor", seconds=seconds, bytes=read))
    watched.metrics.count(Event(Action.CLEANED, "default.t", type="minor", directories=3, bytes=7))
    watched.metrics.count(Event(Action.TIMED_OUT, txn_id=1))
    values = watched.values()
    outcomes = {k[1]: v for k, v in values.items() if k[0] == "compactions_total"}
    assert outcomes == {"asked,minor": 1, "done,minor": 2, "refused,minor": 1, "failed,minor": 1}
    assert values["compaction_seconds_count", "minor"] == 4
    assert values["compaction_seconds_sum", "minor"] == 7.1
    assert values["compaction_read_bytes_total", "minor"] == 200
    assert values["cleanings_total", ""] == 1
    assert (values["removed_directories_total", ""], values["removed_bytes_total", ""]) == (3, 7)
    assert values["timed_out_transactions_total", ""] == 1


def test_what_waits_in_the_store(store, clock):
    opened = store.open_txn("ann", "host1")
    store.allocate_write_id(opened, T)
    exclusive = [LockComponent(LockType.EXCLUSIVE, "default", "t", None, WriteOperation.UPDATE)]
    store.lock(opened, exclusive, "ann", "host1")
    clock.pass_s(10)
    waits = store.open_txn("ann", "host1", TxnType.READ_ONLY)
    store.lock(waits, exclusive, "ann", "host1")
    store.compact(T, "p=1", CompactionType.MAJOR)
    clock.pass_s(5)
    store.compact(T, "p=2", CompactionType.MINOR)
    store.next_compaction("worker")
    doomed = store.open_txn("ann", "host1")
    store.allocate_write_id(doomed, T)
    store.abort_txn(doomed)
    values = Watched(store, clock).values()
    assert values["store_up", ""] == 1
    assert {k[1]: v for k, v in values.items() if k[0] == "queue_length"} == {
        "initiated": 1, "working": 1, "ready for cleaning": 0,
    }  # fmt: skip
    assert values["oldest_unfinished_compaction_age_seconds", ""] == 5
    assert values["open_transactions", ""] == 2
    assert values["oldest_open_transaction_age_seconds", ""] == 15
    assert values["aborted_transactions", ""] == 1
    assert values["waiting_locks", ""] == 1


def test_how_the_parts_fare(store, clock):
    watched = Watched(store, clock)

    def fail() -> None:
        raise StorageError("disk full")

    watched.supervisor.attempt("worker", fail, None)
    values = watched.values()
    assert (values["failures_total", "worker"], values["failures_total", "cleaner"]) == (1, 0)
    assert values["last_success_timestamp_seconds", "cleaner"] == 50
    assert values["last_success_timestamp_seconds", "worker"] == 30


def test_the_store_is_asked_now_and_then(store, clock):
    watched = Watched(store, clock)
    assert watched.values()["open_transactions", ""] == 0
    store.open_txn("ann", "host1")
    assert watched.values()["open_transactions", ""] == 0
    watched.seconds += STORE_S
    assert watched.values()["open_transactions", ""] == 1


def test_a_store_that_does_not_answer_leaves_the_rest(store, clock, monkeypatch):
    watched = Watched(store, clock)

    def gone() -> None:
        raise StorageError("the server is gone")

    monkeypatch.setattr(store, "show_txns", gone)
    values = watched.values()
    assert values["store_up", ""] == 0
    assert ("open_transactions", "") not in values
    assert values["failures_total", "worker"] == 0
    watched.seconds += STORE_S
    assert watched.values()["failures_total", "metrics"] == 1


def test_the_page_for_operators_names_every_metric(store, clock):
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
    named = set(re.findall(r"`(acidsql_\w+?)(?:_total)?(?:\{[\w,]+\})?`", page))
    families = text_string_to_metric_families(Watched(store, clock).metrics.text().decode())
    told = {f.name for f in families if not f.name.endswith("_created")}
    assert named == told

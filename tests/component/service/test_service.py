"""acidsql/service/service.py: parts in threads, one service beside another, crashes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.background.events import Action
from acidsql.engines.local.compact import compact
from acidsql.service.service import Service
from acidsql.service.timetable import ServiceTimes
from acidsql.session.session import Session
from acidsql.txn.compaction_need import Thresholds
from acidsql.txn.entities import CompactionState
from tests.python_engine import PythonEngine

QUICK = ServiceTimes(check_s=0.01, work_s=0.01, clean_s=0.01, reap_start_s=0, reap_s=0.01)
FEW = Thresholds(delta_count=2)
WAIT_S = 120


class Told:
    """The events of a service, and a way to wait for one."""

    def __init__(self, service: Service) -> None:
        self.events = []
        self._more = threading.Condition()
        service.listeners.told.append(self._tell)

    def _tell(self, event) -> None:
        with self._more:
            self.events.append(event)
            self._more.notify_all()

    def until(self, action: Action, count: int = 1) -> None:
        def has_come() -> bool:
            return [e.action for e in self.events].count(action) >= count

        with self._more:
            assert self._more.wait_for(has_come, WAIT_S), self.events


def write(session: Session, table: str = "t", rows: int = 3) -> None:
    session.execute(f"CREATE TABLE {table} (k int) TBLPROPERTIES ('transactional' = 'true')")
    for number in range(rows):
        session.execute(f"INSERT INTO {table} VALUES ({number})")


def names(tmp_path: Path, table: str = "t") -> set[str]:
    return {p.name for p in (tmp_path / "w" / table).iterdir()}


def test_a_table_looks_after_itself(open_session: Callable[..., Session], tmp_path: Path):
    session = open_session(thresholds=FEW)
    write(session)
    service = session.service(times=QUICK)
    told = Told(service)
    with service:
        told.until(Action.CLEANED)
    assert names(tmp_path) == {"base_0000003"}
    of_table = [e for e in told.events if e.table == "default.t"]
    assert [e.action for e in of_table] == [
        Action.ASKED, Action.BEGUN, Action.DONE, Action.CLEANED,
    ]  # fmt: skip
    asked, begun, done, cleaned = of_table
    assert (asked.type, asked.reason) == ("major", "3 deltas, more than 2")
    assert (begun.compaction_id, begun.type) == (1, "major")
    assert (done.directories, cleaned.directories) == (3, 3)
    assert done.bytes is not None
    assert 0 < done.bytes <= cleaned.bytes
    assert told.events[-1].action is Action.STOPPED
    assert session.failures == {}


class Waiting(PythonEngine):
    """Compactions wait for each other: none ends before all have begun."""

    together = threading.Barrier(2)

    def compact(self, plan, snapshot, txns, txn_id):
        self.together.wait(WAIT_S)
        return compact(plan, snapshot, txns, LocalStorage(), txn_id)


def test_workers_compact_at_the_same_time(open_session: Callable[..., Session]):
    session = open_session(Waiting(LocalStorage(), None, {}))
    for table in ("t", "u"):
        write(session, table)
        session.execute(f"ALTER TABLE {table} COMPACT 'major'")
    service = session.service(workers=2, times=QUICK)
    told = Told(service)
    with service:
        told.until(Action.DONE, 2)
    assert session.failures == {}


class Blocked(PythonEngine):
    """A compaction that lasts until it is let go."""

    def __init__(self) -> None:
        super().__init__(LocalStorage(), None, {})
        self.began, self.go = threading.Event(), threading.Event()

    def compact(self, plan, snapshot, txns, txn_id):
        self.began.set()
        assert self.go.wait(WAIT_S)
        return compact(plan, snapshot, txns, LocalStorage(), txn_id)


def test_a_service_that_stops_ends_the_compaction_and_begins_no_other(
    open_session: Callable[..., Session], store
):
    engine = Blocked()
    session = open_session(engine)
    for table in ("t", "u"):
        write(session, table)
        session.execute(f"ALTER TABLE {table} COMPACT 'major'")
    service = session.service(times=QUICK)
    service.start()
    assert engine.began.wait(WAIT_S)
    service.stop()
    assert not service.join(0)
    engine.go.set()
    assert service.join(WAIT_S)
    by_id = {c.compaction_id: c.state for c in store.show_compactions()}
    assert by_id[2] is CompactionState.INITIATED
    assert by_id[1] in (CompactionState.READY_FOR_CLEANING, CompactionState.SUCCEEDED)


def test_a_long_compaction_holds_up_nothing_else(open_session: Callable[..., Session], store):
    engine = Blocked()
    session = open_session(engine)
    write(session)
    session.execute("ALTER TABLE t COMPACT 'major'")
    service = session.service(times=QUICK)
    with service:
        assert engine.began.wait(WAIT_S)
        before = {p.name: p.rounds for p in service.statuses}
        deadline = threading.Event()
        while any(p.rounds < before[p.name] + 3 for p in service.statuses if p.name != "worker"):
            assert not deadline.wait(0.001)
        [worker] = [p for p in service.statuses if p.name == "worker"]
        assert worker.is_working
        engine.go.set()


@pytest.mark.parametrize("ruled", [True, False], ids=["mutexes", "no mutexes"])
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_two_services_beside_each_other_do_no_harm(
    open_session: Callable[..., Session],
    tmp_path: Path,
    store,
    monkeypatch,
    ruled: bool,
    count: int,
):
    """Without mutexes, too: nothing may rely on them."""
    if not ruled:
        monkeypatch.setattr(store, "take_mutex", lambda *_: True)
    sessions = [open_session(thresholds=FEW) for _ in range(2)]
    tables = [f"t{n}" for n in range(count)]
    for table in tables:
        write(sessions[0], table, 1)
    services = [s.service(times=QUICK, workers=2) for s in sessions]
    told = [Told(service) for service in services]
    with services[0], services[1]:
        for number in range(1, 15):
            for table in tables:
                sessions[number % 2].execute(f"INSERT INTO {table} VALUES ({number})")
        done = threading.Event()
        while len(store.ready_to_clean()) or any(
            c.state.name in ("INITIATED", "WORKING") for c in store.show_compactions()
        ):
            assert not done.wait(0.001)
    for table in tables:
        rows = sorted(sessions[0].execute(f"SELECT * FROM {table}").fetchall())
        assert rows == [(number,) for number in range(15)]
        assert sessions[0].execute(f"CHECK TABLE {table}").fetchall() == []
        assert len(names(tmp_path, table)) < 14
    assert [dict(s.failures) for s in sessions] == [{}, {}]
    begun = [e.compaction_id for t in told for e in t.events if e.action is Action.BEGUN]
    assert len(begun) == len(set(begun))


def test_another_service_takes_over_from_one_that_died(
    open_session: Callable[..., Session], store, clock
):
    """A dead one renews nothing and releases nothing."""
    session = open_session(thresholds=FEW)
    write(session)
    assert store.take_mutex("Initiator", "a service that died", 60)
    service = session.service(times=QUICK)
    told = Told(service)
    with service:
        initiator = next(p for p in service.parts if p.name == "initiator")
        wait = threading.Event()
        while initiator.status.rounds < 3:
            assert not wait.wait(0.001)
        assert store.show_compactions() == []
        clock.pass_s(60)
        told.until(Action.DONE)


class Failing(PythonEngine):
    def compact(self, plan, snapshot, txns, txn_id):
        raise OSError("no space")


def test_failures_are_told_and_counted(open_session: Callable[..., Session]):
    session = open_session(Failing(LocalStorage(), None, {}))
    write(session)
    session.execute("ALTER TABLE t COMPACT 'major'")
    service = session.service(times=QUICK)
    told = Told(service)
    with service:
        told.until(Action.FAILED)
    [failed] = [e for e in told.events if e.action is Action.FAILED]
    assert (failed.table, failed.reason) == ("default.t", "OSError: no space")
    assert session.failures == {"worker": 1}


def test_a_refusal_is_told_with_its_reason(open_session: Callable[..., Session]):
    session = open_session()
    write(session, rows=1)
    session.execute("ALTER TABLE t COMPACT 'minor'")
    service = session.service(times=QUICK)
    told = Told(service)
    with service:
        told.until(Action.REFUSED)
    [refused] = [e for e in told.events if e.action is Action.REFUSED]
    assert "thresholds" in (refused.reason or "")


def test_transactions_that_time_out_are_told(open_session: Callable[..., Session], store, clock):
    session = open_session()
    dead = store.open_txn("bob", "host2")
    clock.pass_s(301)
    service = session.service(times=QUICK)
    told = Told(service)
    with service:
        told.until(Action.TIMED_OUT)
    assert [e.txn_id for e in told.events if e.action is Action.TIMED_OUT] == [dead]


def test_a_listener_that_fails_stops_nothing(open_session: Callable[..., Session]):
    session = open_session(thresholds=FEW)
    write(session)
    service = session.service(times=QUICK)
    told = Told(service)

    def full(_event) -> None:
        raise OSError("disk full")

    service.listeners.told.append(full)
    with service:
        told.until(Action.CLEANED)
    assert set(session.failures) == {"log"}

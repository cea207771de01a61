"""acidsql/cli/service.py"""

from __future__ import annotations

import os
import signal
from threading import Event

import pytest

from acidsql.cli.service import Timetable, serve, stop_signals
from acidsql.errors import StorageError
from tests.unit.fakes import FakeSession


def test_once_tells_what_was_done(acidsql, connection):
    connection.session.needed = 2
    connection.session.compactions = 2
    connection.session.cleanable = 1
    done = acidsql("service", "--once", "--warehouse", "w", "--metastore", "memory:")
    assert done.exit_code == 0
    assert done.stdout == (
        "initiator: 2 compactions asked for\n"
        "worker: 2 compactions carried out\ncleaner: 1 compaction cleaned\n"
    )
    assert connection.session.rounds == 1
    assert connection.session.closed
    assert connection.calls[0][:1] == ("w",)


def test_once_with_nothing_to_do_says_nothing(acidsql, connection):
    assert acidsql("service", "--once").output == ""


class Failing(FakeSession):
    error: BaseException = StorageError("disk full")

    def run_worker(self) -> int:
        raise self.error


def test_a_failed_round_of_once_is_status_3(acidsql, connection):
    connection.session = Failing()
    done = acidsql("service", "--once")
    assert (done.exit_code, done.stderr) == (3, "acidsql: error: disk full\n")
    assert connection.session.closed


class StopAt(Event):
    """A clock that only waiting moves on, and is set at ``end_s``."""

    def __init__(self, end_s: float) -> None:
        super().__init__()
        self.now_s, self.end_s = 1000.0, 1000.0 + end_s

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.now_s += timeout
        if self.now_s >= self.end_s:
            self.set()
        return self.is_set()


class Noting(FakeSession):
    """Notes what is done when."""

    def __init__(self, stop: StopAt) -> None:
        super().__init__()
        self.stop = stop
        self.done: list[tuple[float, str]] = []

    def note(self, what: str) -> int:
        self.done.append((self.stop.now_s - 1000, what))
        return 0

    def run_housekeeper(self) -> None:
        self.note("housekeeper")

    def run_initiator(self) -> int:
        return self.note("initiator")

    def run_worker(self) -> int:
        return self.note("worker")

    def run_cleaner(self) -> int:
        return self.note("cleaner")


def test_rounds_and_housekeeping_have_times_of_their_own():
    stop = StopAt(12)
    session = Noting(stop)
    serve(session, stop, Timetable(0, 5), Timetable(3, 4), Timetable(0, 6), lambda: stop.now_s)
    assert session.done == [
        (0, "initiator"), (0, "worker"), (0, "cleaner"), (3, "housekeeper"), (5, "worker"),
        (5, "cleaner"), (6, "initiator"), (7, "housekeeper"), (10, "worker"), (10, "cleaner"),
        (11, "housekeeper"),
    ]  # fmt: skip


def test_rounds_go_on_after_an_error(capsys: pytest.CaptureFixture[str]):
    session, stop = Failing(), StopAt(10)
    serve(session, stop, Timetable(0, 5), Timetable(0, 5), Timetable(0, 5), lambda: stop.now_s)
    assert session.rounds == 2
    assert capsys.readouterr().err == (
        "acidsql: error: disk full\n" * 2 + "acidsql: failures since the start: worker 2\n"
    )


class Foreign(BaseException):
    """Descends from no Exception."""


UNEXPECTED = [OSError("no route"), RuntimeError("odd"), MemoryError("all"), Foreign("cancelled")]


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda e: type(e).__name__)
def test_rounds_go_on_whatever_is_raised(error: BaseException, capsys: pytest.CaptureFixture[str]):
    session, stop = Failing(cleanable=1), StopAt(10)
    session.error = error
    session.failures = {"heartbeat": 1}
    serve(session, stop, Timetable(0, 5), Timetable(0, 5), Timetable(0, 5), lambda: stop.now_s)
    told = capsys.readouterr()
    assert told.out == "cleaner: 1 compaction cleaned\n"
    assert told.err.count("acidsql: error: the worker failed\n") == 2
    assert "in run_worker" in told.err
    assert told.err.endswith("acidsql: failures since the start: heartbeat 1, worker 2\n")
    assert session.rounds == 2


def test_once_cleans_when_the_worker_fails(acidsql, connection):
    connection.session = Failing(cleanable=1)
    connection.session.error = RuntimeError("odd")
    done = acidsql("service", "--once")
    assert (done.exit_code, done.stdout) == (3, "cleaner: 1 compaction cleaned\n")
    assert "RuntimeError: odd" in done.stderr


def test_a_compaction_that_failed_is_status_3(acidsql, connection):
    connection.session.failures = {"worker": 1}
    assert acidsql("service", "--once").exit_code == 3


def test_the_times_are_hives_properties(acidsql, connection, monkeypatch):
    seen = []
    monkeypatch.setattr("acidsql.cli.service.serve", lambda *args: seen.append(args))
    times = ("start=1min", "interval=90s")
    options = [o for t in times for o in ("-D", f"hive.timedout.txn.reaper.{t}")]
    options += ["-D", "hive.compactor.check.interval=70s"]
    assert acidsql("service", *options, "--interval", "2").exit_code == 0
    assert acidsql("service").exit_code == 0
    found = []
    for _, _, rounds, housekeeping, checks in seen:
        for timetable in (rounds, housekeeping, checks):
            found.append([s for s in range(400) if timetable.is_due(s)][:2])
    assert found == [[0, 2], [60, 150], [0, 70], [0, 5], [100, 280], [0, 300]]
    assert connection.calls[0][1]["config"] == {
        "hive.timedout.txn.reaper.start": "1min",
        "hive.timedout.txn.reaper.interval": "90s",
        "hive.compactor.check.interval": "70s",
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_and_handlers_come_back(number: int):
    before = signal.getsignal(number)
    with stop_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before


def test_the_interval_must_be_positive(acidsql, connection):
    assert acidsql("service", "--interval", "0").exit_code == 1

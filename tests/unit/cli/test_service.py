"""acidsql/cli/service.py"""

from __future__ import annotations

import os
import signal
from threading import Event

import pytest

from acidsql.cli.service import serve, stop_signals
from acidsql.errors import StorageError
from tests.unit.fakes import FakeSession


def test_once_tells_what_was_done(acidsql, connection):
    connection.session.compactions = 2
    connection.session.cleanable = 1
    done = acidsql("service", "--once", "--warehouse", "w", "--metastore", "memory:")
    assert done.exit_code == 0
    assert done.stdout == "worker: 2 compactions carried out\ncleaner: 1 compaction cleaned\n"
    assert connection.session.rounds == 1
    assert connection.session.closed
    assert connection.calls[0][:1] == ("w",)


def test_once_with_nothing_to_do_says_nothing(acidsql, connection):
    assert acidsql("service", "--once").output == ""


class Failing(FakeSession):
    def run_worker(self) -> int:
        raise StorageError("disk full")


def test_a_failed_round_of_once_is_status_3(acidsql, connection):
    connection.session = Failing()
    done = acidsql("service", "--once")
    assert (done.exit_code, done.stderr) == (3, "acidsql: error: disk full\n")
    assert connection.session.closed


class StopAfter(Event):
    """Is set by the wait of the last round wanted."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.left = rounds

    def wait(self, timeout: float | None = None) -> bool:
        self.left -= 1
        if not self.left:
            self.set()
        return self.is_set()


def test_rounds_go_on_until_stopped():
    session = FakeSession()
    serve(session, StopAfter(3), interval_s=60)
    assert session.rounds == 3


def test_rounds_go_on_after_an_error(capsys: pytest.CaptureFixture[str]):
    session = Failing()
    serve(session, StopAfter(2), interval_s=60)
    assert session.rounds == 2
    assert capsys.readouterr().err == "acidsql: error: disk full\n" * 2


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

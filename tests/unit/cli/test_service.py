"""acidsql/cli/service.py"""

from __future__ import annotations

import os
import signal
import sys

import pytest

from acidsql.cli.service import stop_signals
from acidsql.errors import StorageError
from acidsql.service.timetable import ServiceTimes
from tests.unit.fakes import FakeSession


def test_once_is_one_round_of_everything(acidsql, connection):
    connection.session.needed = 2
    connection.session.compactions = 2
    connection.session.cleanable = 1
    done = acidsql("service", "--once", "--warehouse", "w", "--metastore", "memory:")
    assert (done.exit_code, done.output) == (0, "")
    session = connection.session
    assert (session.rounds, session.needed, session.compactions, session.cleanable) == (1, 0, 0, 0)
    assert session.closed
    assert connection.calls[0][:1] == ("w",)


class Foreign(BaseException):
    """Descends from no Exception."""


class Failing(FakeSession):
    error: BaseException = StorageError("disk full")

    def run_worker(self, pool: str | None = None) -> int:
        raise self.error


UNEXPECTED = [OSError("no route"), RuntimeError("odd"), MemoryError("all"), Foreign("cancelled")]


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda e: type(e).__name__)
def test_once_goes_on_whatever_fails(acidsql, connection, error: BaseException):
    connection.session = Failing(cleanable=1)
    connection.session.error = error
    done = acidsql("service", "--once")
    assert (done.exit_code, connection.session.cleanable) == (3, 0)
    assert f"warning worker failed: {type(error).__name__}: {error}\n" in done.stdout
    assert "in run_worker" in done.stdout
    assert connection.session.closed


def test_an_error_of_acidsql_has_no_trace(acidsql, connection):
    connection.session = Failing()
    done = acidsql("service", "--once")
    assert done.exit_code == 3
    assert done.stdout.endswith("warning worker failed: StorageError: disk full\n")


def test_a_compaction_that_failed_is_status_3(acidsql, connection):
    connection.session.failures = {"worker": 1}
    assert acidsql("service", "--once").exit_code == 3


def test_it_runs_until_a_signal_comes(acidsql, connection):
    before = signal.getsignal(signal.SIGTERM)
    done = acidsql("service", "-D", "hive.compactor.check.interval=70s")
    assert done.exit_code == 0, done.output
    assert connection.session.services == [(1, None, ServiceTimes())]
    assert connection.session.closed
    assert connection.calls[0][1]["config"] == {"hive.compactor.check.interval": "70s"}
    assert signal.getsignal(signal.SIGTERM) == before


def test_workers_and_interval(acidsql, connection):
    connection.session.service_times = ServiceTimes(check_s=70, clean_s=3)
    assert acidsql("service", "--interval", "2", "--workers", "4").exit_code == 0
    assert connection.session.services == [(4, None, ServiceTimes(check_s=70, work_s=2, clean_s=2))]


def test_the_pool_of_the_workers(acidsql, connection):
    assert acidsql("service", "--pool", "fast").exit_code == 0
    assert connection.session.services == [(1, "fast", ServiceTimes())]
    assert acidsql("service", "--once", "--pool", "slow").exit_code == 0
    assert connection.session.pool == "slow"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_and_the_next_one_would_end_the_process(number: int):
    before = signal.getsignal(number)
    with stop_signals() as stop:
        assert stop.empty()
        os.kill(os.getpid(), number)
        assert stop.get(timeout=5) == number
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(number) == before


def test_without_prometheus_client_http_says_what_to_install(acidsql, connection, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    for name in ("acidsql.service.http", "acidsql.service.metrics"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    done = acidsql("service", "--http", "9095")
    assert done.exit_code == 2
    assert "--http needs prometheus-client" in done.stderr
    assert "Hint: pip install 'acidsql[service]'" in done.stderr


@pytest.mark.parametrize(
    "options",
    [("--interval", "0"), ("--interval", "inf"), ("--workers", "0"), ("--log-format", "xml"),
     ("--once", "--http", "1"), ("--once", "--workers", "2")],
)  # fmt: skip
def test_what_is_wrong_usage(acidsql, connection, options):
    assert acidsql("service", *options).exit_code == 1

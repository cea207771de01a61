"""acidsql/process/supervisor.py"""

from __future__ import annotations

import logging
import threading

import pytest

from acidsql.errors import ExecutionError, StorageError
from acidsql.process.supervisor import Supervisor, start_thread


class Foreign(BaseException):
    """Descends from no Exception, as what some libraries cancel by does."""


UNEXPECTED = [
    OSError("no space"), RuntimeError(), MemoryError(), StorageError("gone"), Foreign("cancelled"),
    GeneratorExit(), StopIteration(), RecursionError("too deep"),
]  # fmt: skip


def fails(error: BaseException):
    def work():
        raise error

    return work


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda e: type(e).__name__)
def test_whatever_is_raised_is_told_once_with_its_trace_and_counted(error, caplog):
    supervisor = Supervisor()
    assert supervisor.attempt("worker", fails(error), otherwise=7, about="table t") == 7
    assert supervisor.attempt("worker", lambda: 3, otherwise=7) == 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(f"worker of table t failed: {type(error).__name__}")
    assert record.exc_info[1] is error
    assert supervisor.failures == {"worker": 1}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_who_ends_the_process_ends_the_work(error, caplog):
    supervisor = Supervisor()
    with pytest.raises(type(error)):
        supervisor.attempt("worker", fails(error), None)
    assert supervisor.failures == {}
    assert caplog.records == []


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda e: type(e).__name__)
def test_a_log_that_fails_is_counted_too(error):
    def tell(name, failure):
        raise error

    supervisor = Supervisor(tell)
    assert supervisor.attempt("lease", fails(OSError()), otherwise=1) == 1
    assert supervisor.failures == {"lease": 1, "log": 1}


class UnprintableError(Exception):
    def __str__(self):
        raise ValueError("no text")


def test_an_error_without_a_text_is_counted():
    supervisor = Supervisor()
    assert supervisor.attempt("lease", fails(UnprintableError()), otherwise=1) == 1
    assert supervisor.failures == {"lease": 1, "log": 1}


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_a_thread_that_cannot_be_started_is_an_error_of_ours(monkeypatch, error):
    monkeypatch.setattr(threading.Thread, "start", lambda self: fails(error)())
    with pytest.raises(ExecutionError, match="no thread can be started for the leases"):
        start_thread("leases", list)

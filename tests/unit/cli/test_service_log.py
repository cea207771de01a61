"""acidsql/cli/service_log.py"""

from __future__ import annotations

import json
import logging

import pytest

from acidsql.background.events import Action, Event, log_event
from acidsql.cli.service_log import logging_to_stdout
from acidsql.errors import StorageError
from acidsql.process.supervisor import log_failure

_log = logging.getLogger("acidsql.txn.open_txn")
DONE = Event(
    Action.DONE, "default.t", "p=a b", "minor", 7, directories=3, bytes=99, seconds=0.12345
)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as caught:
        return caught


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_text(capsys):
    with logging_to_stdout("text"):
        log_event(DONE)
        log_event(Event(Action.FAILED, "default.t", reason="disk\nfull"))
        log_failure("worker", raised(StorageError("disk full")))
    told = [line.partition(" ")[2] for line in lines(capsys)]
    assert told == [
        'info compaction done: table=default.t partition="p=a b" type=minor compaction_id=7'
        " directories=3 bytes=99 seconds=0.123",
        'warning compaction failed: table=default.t reason="disk\\nfull"',
        "warning worker failed: StorageError: disk full",
    ]


def test_json_is_one_object_a_line(capsys):
    with logging_to_stdout("json"):
        log_event(DONE)
        log_failure("worker", raised(RuntimeError("odd\nindeed")))
    done, failed = map(json.loads, lines(capsys))
    assert done.pop("time").endswith("Z")
    assert done == {
        "level": "info", "event": "compaction done", "table": "default.t", "partition": "p=a b",
        "type": "minor", "compaction_id": 7, "directories": 3, "bytes": 99, "seconds": 0.123,
    }  # fmt: skip
    assert (failed["level"], failed["event"], failed["error"]) == ("warning", "log", "RuntimeError")
    assert failed["message"] == "worker failed: RuntimeError: odd"
    assert failed["trace"].endswith("RuntimeError: odd\nindeed")


@pytest.mark.parametrize("format", ["text", "json"])
def test_other_work_is_not_told_unless_it_warns(capsys, format):
    with logging_to_stdout(format):
        _log.info("committed")
        _log.warning("slow")
    [line] = lines(capsys)
    assert "slow" in line


def test_it_ends_with_its_block(capsys):
    logger = logging.getLogger("acidsql")
    before = logger.level, list(logger.handlers)
    with logging_to_stdout("text"):
        pass
    log_event(DONE)
    assert lines(capsys) == []
    assert (logger.level, logger.handlers) == before

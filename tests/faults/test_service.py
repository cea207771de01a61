"""`acidsql service` in processes of its own: beside what fails, killed, stopped, two at a time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.model.names import TableName
from acidsql.session.session import Session
from tests.checks import check_table

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
WAIT_S = 120
QUICK = (
    "--interval", "0.05", "-D", "hive.compactor.check.interval=50ms",
    "-D", "hive.timedout.txn.reaper.start=0s", "-D", "hive.timedout.txn.reaper.interval=50ms",
    "-D", "acidsql.service.lease=2s",
)  # fmt: skip
DIES_SOON = ("-D", "hive.txn.timeout=2s")
STUCK = """
import sys, threading
from acidsql.engines.spark.runner import SparkEngine

def compact(*_):
    print("STUCK", flush=True)
    threading.Event().wait()

SparkEngine.compact = compact
from acidsql.cli.main import main
main(sys.argv[1:])
"""
"""A service whose compactions never end."""


class Services:
    """Processes of the command, each with the JSON lines that it has told."""

    def __init__(self, warehouse: Path, log: Path, metastore: str | None = None) -> None:
        self.warehouse, self._log, self.metastore = warehouse, log, metastore
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *options: str, stuck: bool = False) -> subprocess.Popen[bytes]:
        python = [sys.executable, "-X", "faulthandler"]
        command = [*python, *(["-c", STUCK] if stuck else ["-m", "acidsql"]), "service"]
        command += ["--log-format", "json", "--warehouse", str(self.warehouse), *options]
        command += [] if self.metastore is None else ["--metastore", self.metastore]
        number = len(self.processes)
        with self._file(number).open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def status(self, process: subprocess.Popen[bytes]) -> int:
        """The exit status, once the process has ended. One that does not end shows its threads."""
        try:
            return process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            process.wait(WAIT_S)
            raise AssertionError(f"the service did not end: {self.text(process)}") from None

    def _file(self, number: int) -> Path:
        return self._log.with_suffix(f".{number}")

    def text(self, process: subprocess.Popen[bytes]) -> str:
        return self._file(self.processes.index(process)).read_text()

    def told(self, process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
        lines = self.text(process).splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line[-1] == "\n"]

    def events(self, process: subprocess.Popen[bytes]) -> list[str]:
        return [line["event"] for line in self.told(process)]

    def until(self, holds: Callable[[], bool], *alive: subprocess.Popen[bytes]) -> None:
        ends_s = time.monotonic() + WAIT_S
        while not holds():
            for process in alive:
                assert process.poll() is None, self.text(process)
            assert time.monotonic() < ends_s, [self.text(p) for p in self.processes]
            time.sleep(0.02)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough]),
    ]
)
def services(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Services]:
    metastore = None
    if request.param == "postgres":
        metastore = request.getfixturevalue("postgres").fresh()
    services = Services(tmp_path / "w", tmp_path / "log", metastore)
    yield services
    for process in services.processes:
        process.kill()
        process.wait()


@pytest.fixture
def session(services: Services) -> Iterator[Session]:
    with acidsql.connect(str(services.warehouse), metastore=services.metastore) as session:
        yield session


def make(session: Session, *tables: str, rows: int = 2) -> None:
    for table in tables:
        session.execute(f"CREATE TABLE {table} (k int) {ACID}")
        for number in range(rows):
            session.execute(f"INSERT INTO {table} VALUES ({number})")


def states(session: Session, table: str) -> list[str]:
    rows = session.execute("SHOW COMPACTIONS").fetchall()
    return [row[5] for row in rows if row[2] == table]


def names(services: Services, table: str) -> set[str]:
    return {p.name for p in (services.warehouse / table).iterdir()}


def test_a_service_goes_on_beside_what_fails_again_and_again(services: Services, session: Session):
    make(session, "bad", "good")
    for file in (services.warehouse / "bad").glob("delta_*/bucket_*"):
        file.write_bytes(b"no ORC at all")
    service = services.start("--interval", "0.05")
    for count in (1, 2):
        session.execute("ALTER TABLE bad COMPACT 'major'")
        session.execute("ALTER TABLE good COMPACT 'major'")
        services.until(lambda n=count: states(session, "good") == ["succeeded"] * n, service)
        services.until(lambda n=count: states(session, "bad") == ["failed"] * n, service)
        session.execute("INSERT INTO good VALUES (3)")
    service.send_signal(signal.SIGTERM)
    assert services.status(service) == 0
    told = services.told(service)
    events = [line["event"] for line in told if line.get("table") == "default.good"]
    # Worker and cleaner are two threads. Each has its order: the cleaner may tell first.
    assert [e for e in events if e != "cleaned"] == ["compaction begun", "compaction done"] * 2
    begun = [n for n, e in enumerate(events) if e == "compaction begun"]
    cleaned = [n for n, e in enumerate(events) if e == "cleaned"]
    assert len(cleaned) == 2
    assert all(before < after for before, after in zip(begun, cleaned, strict=True)), events
    failed = [line for line in told if line["event"] == "compaction failed"]
    assert [line["table"] for line in failed] == ["default.bad"] * 2
    assert all(line["reason"] for line in failed)
    traces = [line for line in told if line["event"] == "log"]
    assert [line["error"] for line in traces] == ["CorruptFileError"] * 2
    assert (told[0]["event"], told[-1]["event"]) == ("service started", "service stopped")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_service_stops_at_once(services: Services, session: Session, number: int):
    """It does not wait for its next round, which would come in an hour."""
    make(session, "t")
    service = services.start("--interval", "3600", "--http", "0")
    services.until(lambda: "service listening" in services.events(service), service)
    [address] = [line["address"] for line in services.told(service) if "address" in line]
    with urllib.request.urlopen(f"http://{address}/healthz", timeout=WAIT_S) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=WAIT_S) as answer:
        assert b"acidsql_store_up 1.0" in answer.read()
    service.send_signal(number)
    assert services.status(service) == 0
    assert services.events(service)[-1] == "service stopped"


@pytest.mark.thorough
def test_a_second_signal_cuts_a_compaction_that_another_service_takes_up(
    services: Services, session: Session
):
    make(session, "t")
    session.execute("ALTER TABLE t COMPACT 'major'")
    stuck = services.start(*QUICK, *DIES_SOON, stuck=True)
    services.until(lambda: "STUCK" in services.text(stuck), stuck)
    stuck.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        stuck.wait(0.5)
    stuck.send_signal(signal.SIGTERM)
    assert services.status(stuck) == -signal.SIGTERM
    assert states(session, "t") == ["working"]
    other = services.start(*QUICK, *DIES_SOON)
    services.until(lambda: states(session, "t") == ["succeeded"], other)
    assert "transaction timed out" in services.events(other)
    assert names(services, "t") == {"base_0000002"}
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_one_of_two_services_is_killed_and_the_other_does_its_work(
    services: Services, session: Session
):
    """The dead one holds every mutex, and works on a compaction."""
    make(session, "t", "u")
    session.execute("ALTER TABLE t COMPACT 'major'")
    dead = services.start(*QUICK, *DIES_SOON, stuck=True)
    services.until(lambda: "STUCK" in services.text(dead), dead)
    other = services.start(*QUICK, *DIES_SOON)
    session.execute("ALTER TABLE u COMPACT 'major'")
    services.until(lambda: "ready for cleaning" in states(session, "u"), other, dead)
    dead.kill()
    assert services.status(dead) == -signal.SIGKILL
    services.until(lambda: states(session, "t") == states(session, "u") == ["succeeded"], other)
    for table in ("t", "u"):
        assert names(services, table) == {"base_0000002"}
        assert session.execute(f"CHECK TABLE {table}").fetchall() == []


def test_two_services_beside_a_writer(services: Services, session: Session):
    make(session, "t", rows=1)
    both = [services.start(*QUICK, "--workers", "2", "--interval", "0.3") for _ in range(2)]
    for number in range(1, 60):
        session.execute(f"INSERT INTO t VALUES ({number})")
    services.until(lambda: len(names(services, "t")) <= 11, *both)
    for service in both:
        service.send_signal(signal.SIGTERM)
    assert [services.status(service) for service in both] == [0, 0]
    rows = sorted(check_table(session._store, TableName("default", "t")))
    assert rows == [(number,) for number in range(60)]
    told = [line for service in both for line in services.told(service)]
    begun = [line["compaction_id"] for line in told if line["event"] == "compaction begun"]
    assert len(begun) == len(set(begun))
    assert not [line for line in told if line["event"] == "compaction failed"]

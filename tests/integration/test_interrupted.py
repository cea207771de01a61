"""Ctrl-C: the statement's jobs end, what comes next works, and nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ENDLESS = "SELECT id FROM range(0, 1000000000000000, 1, 4) WHERE sqrt(id) < 0"
SORTED = f"{ENDLESS} ORDER BY id DESC"
PATIENCE_S = 240
ERASED = {"text/plain": "", "text/html": ""}
ERASE_LINE = "\x1b[2K"


def until(condition: Callable[[], object], *, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that must come."""
    end_s = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(0.05)


@contextmanager
def interrupted_at_work(
    spark: Any, times: int = 1, is_time: Callable[[], object] | None = None
) -> Iterator[None]:
    """Ctrl-C for the block, as soon as one of Spark's tasks is at work, or else it is time."""
    from pyspark import inheritable_thread_target

    tracker = spark.sparkContext.statusTracker()

    def at_work() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage and stage.numActiveTasks for stage in stages)

    @inheritable_thread_target(spark)
    def interrupt() -> None:
        until(is_time or at_work)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    thread.join()
    until(lambda: not tracker.getActiveStageIds())


@pytest.fixture
def table(session):
    session.execute("CREATE TABLE t (id bigint) TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO t VALUES (1), (2)")
    return session


@pytest.mark.parametrize(
    "read",
    [
        lambda session: session.execute(ENDLESS).fetchall(),
        lambda session: session.execute(ENDLESS).fetchone(),
        lambda session: session.execute(SORTED).fetchone(),
        lambda session: session.execute(SORTED).arrow(),
        lambda session: session.execute(ENDLESS).pandas(),
        lambda session: session.execute(f"INSERT INTO t {ENDLESS}"),
        lambda session: session.execute(f"DELETE FROM t WHERE id IN ({ENDLESS})"),
    ],
    ids=["fetchall", "fetchone", "sorted", "arrow", "pandas", "insert", "delete"],
)
def test_the_jobs_end_and_the_next_statement_works(table, spark, read):
    usual = signal.getsignal(signal.SIGINT)
    with interrupted_at_work(spark):
        read(table)
    assert signal.getsignal(signal.SIGINT) is usual
    assert sorted(table.execute("SELECT * FROM t")) == [(1,), (2,)]
    assert table.execute("CHECK TABLE t").fetchall() == []
    states = [row[1] for row in table.execute("SHOW TRANSACTIONS")]
    assert "OPEN" not in states


def test_who_insists_does_not_wait_for_an_answer(table, spark):
    with interrupted_at_work(spark, times=2):
        table.execute(SORTED).fetchall()
    assert sorted(table.execute("SELECT * FROM t")) == [(1,), (2,)]


def test_what_others_have_set_for_their_jobs_stays(table, spark):
    context = spark.sparkContext
    context.addJobTag("theirs")
    context.setJobGroup("their group", "a description")
    try:
        for _ in range(2):
            table.execute("SELECT * FROM t").fetchall()
            assert set(context.getJobTags()) == {"theirs"}
            with interrupted_at_work(spark, times=2):
                table.execute(ENDLESS).fetchall()
            assert set(context.getJobTags()) == {"theirs"}
            assert context.getLocalProperty("spark.jobGroup.id") == "their group"
            assert context.getLocalProperty("spark.job.interruptOnCancel") == "false"
    finally:
        context.clearJobTags()
        context._jsc.sc().clearJobGroup()


def test_jobs_of_others_go_on(table, spark):
    """PySpark's own handler would cancel them."""
    from pyspark import InheritableThread

    found: list[Any] = []
    slow = spark.range(0, 100_000_000, 1, 1).selectExpr("max(sqrt(id)) AS m")
    other = InheritableThread(target=lambda: found.extend(slow.collect()), session=spark)
    with interrupted_at_work(spark):
        other.start()
        table.execute(ENDLESS).fetchall()
    other.join()
    assert len(found) == 1


# -- while Python workers write --------------------------------------------------------------------


WRITERS = "SELECT id FROM range(0, 1000000000000000, 1, 4)"
MANY_FILES = "SELECT id, id % 1000 AS p FROM range(0, 400000, 1, 2)"


@pytest.fixture
def tables(session, monkeypatch, table):
    """A table of one file, and one of many buckets or of many partitions, which tasks write."""
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    acid = "TBLPROPERTIES ('transactional' = 'true')"
    session.execute(f"CREATE TABLE one (id bigint) {acid}")
    session.execute("INSERT INTO one VALUES (1), (2)")
    if table == "p":
        session.execute(f"CREATE TABLE p (id bigint) PARTITIONED BY (p bigint) {acid}")
        session.execute("INSERT INTO p VALUES (1, 1), (2, 2)")
    elif table == "b":
        buckets = "CLUSTERED BY (id) INTO 80 BUCKETS"
        session.execute(f"CREATE TABLE b (id bigint, v int) {buckets} {acid}")
        session.execute("INSERT INTO b SELECT id, 0 FROM range(0, 16000)")
    return session


@pytest.mark.parametrize(
    ("table", "statement", "files"),
    [
        # A task that has no file yet could make one after the driver has removed the others.
        pytest.param("one", f"INSERT INTO one {WRITERS}", 2, marks=pytest.mark.thorough),
        pytest.param("p", f"INSERT INTO p {MANY_FILES}", 20, marks=pytest.mark.thorough),
        ("b", "UPDATE b SET v = v + 1", 8),
    ],
    ids=["insert", "partitions", "update"],
)
def test_nothing_is_seen_of_what_tasks_were_writing(
    tables, warehouse, spark, table, statement, files
):
    """What a task leaves that learns of its end too late has a hidden name."""

    def shown() -> list[str]:
        paths = [p for p in (warehouse / table).rglob("*") if p.is_file()]
        return sorted(str(p) for p in paths if not p.name.startswith(("_attempt_", "._attempt_")))

    def is_writing() -> bool:
        return len(list((warehouse / table).rglob("_attempt_*"))) >= files

    before, rows = shown(), sorted(tables.execute(f"SELECT * FROM {table}").fetchall())
    with interrupted_at_work(spark, is_time=is_writing):
        tables.execute(statement)
    until(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds())
    assert shown() == before
    assert sorted(tables.execute(f"SELECT * FROM {table}").fetchall()) == rows
    assert "OPEN" not in [row[1] for row in tables.execute("SHOW TRANSACTIONS")]
    tables.execute("UPDATE one SET id = 7 WHERE id = 1")
    assert sorted(tables.execute("SELECT * FROM one").fetchall()) == [(2,), (7,)]
    assert tables.execute("CHECK TABLE one").fetchall() == []


# -- at the command line ---------------------------------------------------------------------------


TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *command: str, cwd: Path) -> None:
        self._end, own = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *command],
            stdin=own, stdout=own, stderr=own, cwd=cwd, start_new_session=True,
        )  # fmt: skip
        os.close(own)
        self.text = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while data := os.read(self._end, 4096):
                self.text += data.decode()
        except OSError:
            pass  # Linux's way to say that the other end is closed

    def press_ctrl_c(self) -> None:
        os.write(self._end, b"\x03")

    def status(self) -> int:
        status = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return status


@pytest.mark.thorough
def test_a_terminal(tmp_path):
    """The terminal sends SIGINT to every process in the foreground."""
    command = str(Path(sys.executable).with_name("acidsql"))
    terminal = Terminal(command, "run", "-e", ENDLESS, cwd=tmp_path)
    until(lambda: re.search(r"starting Spark: \d+ s", terminal.text))
    until(lambda: re.search(r"reading: 0 of 4 tasks, \d+ s", terminal.text))
    terminal.press_ctrl_c()
    assert terminal.status() == 130
    *_, last = filter(None, terminal.text.splitlines())
    assert ERASE_LINE in terminal.text
    assert last == "interrupted"
    assert "Traceback" not in terminal.text
    assert "Exception" not in terminal.text


# -- in a notebook ---------------------------------------------------------------------------------

PREPARED = """
import pathlib, threading, time
import acidsql
%load_ext acidsql
warehouse = {warehouse!r}
%acidsql --connect {warehouse}
%acidsql SELECT 1
from pyspark.sql import SparkSession
tracker = SparkSession.getActiveSession().sparkContext.statusTracker()

def watch():
    while not any(tracker.getStageInfo(s).numActiveTasks for s in tracker.getActiveStageIds()):
        time.sleep(0.05)
    pathlib.Path({at_work!r}).touch()

threading.Thread(target=watch).start()
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (f"%%acidsql\n{SORTED}", ["interrupted"]),
        (f"session = acidsql.connect(warehouse)\nsession.execute('{SORTED}').fetchall()", None),
    ],
    ids=["magic", "session"],
)
def test_a_notebook(tmp_path, statement, told):
    at_work = tmp_path / "at_work"
    cells = [
        PREPARED.format(warehouse=str(tmp_path / "warehouse"), at_work=str(at_work)),
        statement,
        "%acidsql SELECT 6 * 7 AS answer",
        "while tracker.getActiveStageIds(): time.sleep(0.05)\nprint('no task is left')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client = NotebookClient(notebook, timeout=PATIENCE_S, allow_errors=True)

    async def run() -> None:
        async with client.async_setup_kernel():
            for index, cell in enumerate(notebook.cells):
                running = asyncio.create_task(client.async_execute_cell(cell, index))
                if index == 1:
                    while not (at_work.exists() and "reading: 0 of" in str(cell.outputs)):
                        await asyncio.sleep(0.05)
                    await client.km.interrupt_kernel()
                await running

    asyncio.run(asyncio.wait_for(run(), 2 * PATIENCE_S))
    _, interrupted, answer, tasks = (cell.outputs for cell in notebook.cells)
    progress, error = interrupted
    assert progress.data == ERASED, "it goes away"
    assert error.ename == "KeyboardInterrupt"
    assert told is None or error.traceback == told
    # Where the machine is busy, this cell has a line too, which goes away.
    *lines, shown = answer
    assert all(line.data == ERASED for line in lines)
    assert "<td>42</td>" in shown.data["text/html"]
    [printed] = tasks
    assert printed.text == "no task is left\n"

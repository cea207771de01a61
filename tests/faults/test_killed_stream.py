"""A streaming query is killed between the steps of its micro-batches: each row counts once.

The processes that are killed have one Java after the other, which loads Spark's classes once. At
each step it waits for its Python. The death of that ends the query, and Spark is stopped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from tests.checks import check_table
from tests.faults.streamed import ANY, CHECKPOINT, FILES, GIVEN, WRITTEN, open_session

PROJECT = Path(__file__).parents[2]
LEFT_BEHIND = frozenset({ProblemKind.LEFT_BEHIND})
ROWS_OF_A_FILE = 3


class Java:
    """A Java process for one Python process after the other."""

    def __init__(self) -> None:
        from pyspark.java_gateway import launch_gateway

        self._gateway: Any = launch_gateway()
        place = self._gateway.gateway_parameters
        self.environment = {
            **os.environ,
            "PYSPARK_GATEWAY_PORT": str(place.port),
            "PYSPARK_GATEWAY_SECRET": place.auth_token,
        }

    def stop_spark(self) -> None:
        """Stop what a process has left behind that was killed."""
        session = self._gateway.jvm.SparkSession.getDefaultSession()
        if session.isDefined():
            session.get().stop()

    def close(self) -> None:
        self._gateway.shutdown()
        self._gateway.proc.communicate()


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    java = Java()
    yield java
    java.close()


class Stream:
    """A directory of files, and the processes that take them in one after the other."""

    def __init__(self, warehouse: Path, java: Java) -> None:
        self.warehouse, self.java, self.now_ms = warehouse, java, 1_000_000
        self.files = warehouse / FILES
        self.files.mkdir()
        self.keys: list[int] = []
        with self.session() as session:
            session.execute(
                "CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')"
            )

    def session(self) -> Session:
        return open_session(str(self.warehouse), self.now_ms)

    def add_file(self) -> None:
        added = range(len(self.keys), len(self.keys) + ROWS_OF_A_FILE)
        name, moment = f"{added[0]:05d}", 1_000_000 + added[0]
        hidden = self.files / f".{name}"
        hidden.write_text("".join(f'{{"k": {k}, "v": "v{k}"}}\n' for k in added))
        os.utime(hidden, (moment, moment))
        hidden.rename(self.files / f"{name}.json")
        self.keys += added

    def run(self, step: str = ANY, count: int = -1) -> list[str]:
        """The steps of a process that is killed after so many of a name, if it gets so far."""
        self.now_ms += 1_000_000
        arguments = [str(self.warehouse), str(self.now_ms), step, str(count)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.streamed", *arguments],
            env=self.java.environment, cwd=PROJECT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.java.stop_spark()
        steps = done.stdout.splitlines()
        is_killed = sum(step in (s, ANY) for s in steps) == count
        assert done.returncode == (-signal.SIGKILL if is_killed else 0), done.stderr
        return steps

    def rows(self) -> list[tuple[Any, ...]]:
        with self.session() as session:
            return sorted(check_table(session._store, TableName("default", "t"), LEFT_BEHIND))

    def expected(self) -> list[tuple[Any, ...]]:
        return [(k, f"v{k}") for k in self.keys]


@pytest.fixture
def stream(tmp_path: Path, java: Java) -> Stream:
    return Stream(tmp_path, java)


@pytest.mark.thorough
def test_killed_before_a_commit(stream: Stream) -> None:
    stream.add_file()
    steps = stream.run("rename", 4)  # those of the first mark, of its move, which are two, of rows
    assert (steps[-1], WRITTEN in steps) == ("rename", False)
    assert len(list((stream.warehouse / "t").glob("delta_*/bucket_*"))) == 1
    assert stream.rows() == []
    stream.run()
    assert stream.rows() == stream.expected()


@pytest.mark.thorough
def test_killed_after_a_commit(stream: Stream) -> None:
    stream.add_file()
    steps = stream.run(WRITTEN, 1)  # Spark has not noted it yet
    assert (steps[0], steps[-2:]) == (GIVEN, ["commit_txn", WRITTEN])
    assert stream.rows() == stream.expected()
    stream.add_file()
    steps = stream.run()
    assert steps.count(GIVEN) == steps.count(WRITTEN) == 2, "Spark replays the first batch"
    assert stream.rows() == stream.expected()


@pytest.mark.thorough
def test_killed_after_each_step(stream: Stream) -> None:
    """Each process is killed one step later than the one before, which left it something to do."""
    stream.add_file()
    kill, steps = 0, ["" for _ in range(2)]
    while len(steps) >= kill:
        kill += 1
        steps = stream.run(ANY, kill)
        found = stream.rows()
        assert found in (stream.expected(), stream.expected()[:-ROWS_OF_A_FILE])
        if found == stream.expected():
            stream.add_file()
    stream.run()
    assert stream.rows() == stream.expected()
    assert kill > 30
    assert (stream.warehouse / CHECKPOINT / "commits").is_dir()

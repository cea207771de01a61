"""A streaming process is killed after each of its steps: what it committed is there, no more."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.layout.dir_names import FLUSH_LENGTH_SUFFIX
from acidsql.model.problem import ProblemKind
from acidsql.streaming import StreamingConnection
from acidsql.txn.entities import TxnState
from tests.checks import check_table
from tests.faults.lives import CREATE, P, Steps, T, World, die
from tests.processes import PROCESSES

LEFT_BEHIND = frozenset({ProblemKind.LEFT_BEHIND})
ROWS = {
    ("t", 1): [(1, "a"), (2, "b")],
    ("t", 2): [(3, "c")],
    ("t", 3): [(4, "d"), (5, "e")],
    ("p", 1): [(1, "a", 1), (2, "b", 2)],
    ("p", 2): [(3, "c", 1)],
    ("p", 3): [(4, "d", 3), (5, "e", 1)],
}
"""What the transactions of a batch write; the second is aborted."""


class HalfWritten(LocalStorage):
    """Tells of each append that has written half of its bytes."""

    def __init__(self, reached: Callable[[str], object]) -> None:
        super().__init__()
        self._half = reached

    def append(self, path: str, data: bytes, size: int) -> None:
        super().append(path, data[: len(data) // 2], size)
        self._half("append, half")
        os.truncate(path, size)
        super().append(path, data, size)


class DiesAt:
    """Kills the process at its step of this number, counted from 0."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.steps = 0

    def __call__(self, _: str) -> None:
        self.steps += 1
        if self.left == 0:
            die()
        self.left -= 1


def stream(world: World, table: str, size: int, number: int, log: str) -> None:
    """Three transactions. What is committed is noted in a file, and the steps at the end."""
    counter = DiesAt(number)
    storage = HalfWritten(counter)
    with world.session(lambda: 1_000_000, storage) as session:
        steps = Steps(counter)
        steps.watch(session)
        builder = StreamingConnection.builder().table(table).transaction_batch_size(size)
        with builder.connect(session) as connection:
            for at in (1, 2, 3):
                connection.begin_transaction()
                names = ("k", "v", "d") if table == "p" else ("k", "v")
                connection.write([dict(zip(names, row, strict=True)) for row in ROWS[table, at]])
                connection.flush()
                note(log, f"trying {at}")
                if at == 2:
                    connection.abort_transaction()
                else:
                    connection.commit_transaction()
                    note(log, f"committed {at}")
    note(log, f"steps {counter.steps}")


def note(log: str, line: str) -> None:
    with open(log, "a") as file:
        file.write(f"{line}\n")


def run_and_die(world: World, table: str, size: int, number: int) -> tuple[int, list[str]]:
    """Run the stream in a process. Its exit code, and what it noted."""
    log = f"{world.warehouse}.log"
    Path(log).write_text("")
    process = PROCESSES.Process(target=stream, args=(world, table, size, number, log))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode, Path(log).read_text().splitlines()


def shown(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in rows)


def expected(table: str, committed: list[int]) -> list[tuple[str, ...]]:
    return shown([row for at in committed for row in ROWS[table, at]])


@pytest.mark.parametrize(
    ("table", "size", "stride"),
    [
        pytest.param("t", 1, 9, id="t-1-some"),
        pytest.param("p", 3, 9, id="p-3-some"),
        *(
            pytest.param(table, size, 1, id=f"{table}-{size}-all", marks=pytest.mark.thorough)
            for table in ("t", "p")
            for size in (1, 3)
        ),
    ],
)
def test_killed_after_any_step(table: str, size: int, stride: int) -> None:
    number, killed = size - 1, 0
    while True:
        with tempfile.TemporaryDirectory() as directory:
            here = World(f"{directory}/w")
            os.mkdir(here.warehouse)
            with here.session(lambda: 1_000_000) as session:
                for statement in CREATE:
                    session.execute(statement)
            code, notes = run_and_die(here, table, size, number)
            committed = [int(n.split()[1]) for n in notes if n.startswith("committed")]
            look_after(here, table, committed, notes)
            if code == 0:
                break
            assert code == -signal.SIGKILL
        number, killed = number + stride, killed + 1
    assert committed == [1, 3]
    assert killed > 3


def look_after(world: World, table: str, committed: list[int], notes: list[str]) -> None:
    name = {"t": T, "p": P}[table]
    now = [1_000_000]
    with world.session(lambda: now[0]) as session:
        store = session._store

        def rows() -> list[tuple[str, ...]]:
            return shown(check_table(store, name, LEFT_BEHIND))

        found = rows()
        tried = [int(n.split()[1]) for n in notes if n.startswith("trying")]
        # The commit whose end the process did not see may have happened or not.
        maybe = sorted({*committed, *(at for at in tried[-1:] if at != 2)})
        assert found in (expected(table, committed), expected(table, maybe)), notes
        now[0] += 1_000_000
        session.run_housekeeper()
        assert not [t for t in store.show_txns() if t.state is TxnState.OPEN]
        assert rows() == found
        # Another stream goes on, and a compaction and cleaning change nothing.
        add = {"k": 9, "v": "z", **({"d": 1} if table == "p" else {})}
        with StreamingConnection.builder().table(table).connect(session) as connection:
            for _ in range(2):
                connection.begin_transaction()
                connection.write(add)
                connection.commit_transaction()
        found = rows()
        assert len(found) >= 2
        place = " PARTITION (d = 1)" if table == "p" else ""
        session.execute(f"ALTER TABLE {table}{place} COMPACT 'major'")
        session.run_worker()
        now[0] += 1_000_000
        for _ in range(2):
            session.run_cleaner()
            assert rows() == found
        if table == "t":
            left = list(Path(world.warehouse).rglob(f"*{FLUSH_LENGTH_SUFFIX}"))
            assert left == []

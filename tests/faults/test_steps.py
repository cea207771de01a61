"""A fault after each step of a statement: the tables read as before or as after, nothing is left.

docs/faults.md lists the steps, and is compared with what a statement really does.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import LockTimeoutError, StorageError
from acidsql.layout.dir_names import METADATA_FILE, VERSION_FILE
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from acidsql.txn.entities import LockState, TxnState
from tests.checks import check_table
from tests.faults.lives import (
    CREATE,
    INSIDE,
    LIVES,
    RESET,
    Countdown,
    P,
    Steps,
    T,
    World,
    nothing,
    run_and_die,
)
from tests.postgres import Postgres
from tests.processes import PROCESSES

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
COMMITS = ("commit_txn", "mark_compacted", "mark_cleaned")
OTHERS_INSIDE = f"another verb of the store{INSIDE}"
TELLING = ("rename", "remove", *COMMITS, *(f"{verb}{INSIDE}" for verb in COMMITS))
"""Lines about files with their names, or about what is committed: they differ from life to life."""
KINDS = (
    ("INSERT", "UPDATE", "MERGE", "OVERWRITE", "new partition", "block", "own rows"),
    ("minor", "major", "rebalance", "cleaner", "VACUUM"),
)
LEFT_BEHIND = frozenset({ProblemKind.LEFT_BEHIND})


def documented(first_column: str) -> dict[str, dict[str, str]]:
    """A table of the document: by the heads of its columns, what stands there for each step."""
    _, _, rest = DOCUMENT.read_text().partition(f"| {first_column} |")
    head, _, *lines = rest.partition("\n\n")[0].splitlines()
    names = [name.strip() for name in head.strip("| ").split("|")]
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for line in lines:
        step, *cells = (cell.strip().replace("`", "") for cell in line.strip("| ").split("|"))
        for name, cell in zip(names, cells, strict=True):
            if cell != "·":
                found[name][step] = cell
    return found


KILLED = documented("killed after")
RESTARTED = documented("restarted after")


def line_of(step: str) -> str:
    """The document's line for a step."""
    verb, inside, _ = step.partition(INSIDE)
    return OTHERS_INSIDE if inside and verb not in COMMITS else step


class Warehouse:
    """Both tables, and the clock that all processes go by."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now_ms = 1_000_000
        self.session = self.another_session()
        self.store = self.session._store
        for statement in CREATE:
            self.session.execute(statement)

    def another_session(self) -> Session:
        return self.world.session(lambda: self.now_ms)

    def prepare(self, life: str) -> list[Any]:
        """The same rows as ever, which it gives back."""
        for statement in RESET:
            self.session.execute(statement)
        LIVES[life].before(self.session)
        return self.rows()

    def rows(self) -> list[Any]:
        """Those of both tables, if CHECK TABLE finds nothing but what the dead left behind."""
        return [sorted(check_table(self.store, name, LEFT_BEHIND)) for name in (T, P)]

    def trace(self, life: str) -> list[str]:
        """All steps of a life that is not disturbed."""
        steps: list[str] = []
        with self.another_session() as session:
            Steps(steps.append).watch(session)
            LIVES[life].run(session)
        return steps

    def kill(self, life: str, step: str, earlier: int) -> None:
        args = (self.world, life, self.now_ms, step, earlier)
        process = PROCESSES.Process(target=run_and_die, args=args)
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL

    def settle(self) -> None:
        """What runs by the clock, some time later."""
        self.now_ms += 101_000
        self.session.run_housekeeper()
        assert [t for t in self.store.show_txns() if t.state is TxnState.OPEN] == []
        assert self.store.show_locks() == []
        self.session.run_worker()
        places = ["t", *(f"p PARTITION ({p.name})" for p in self.store.partitions(P))]
        for place in places:
            self.session.execute(f"ALTER TABLE {place} COMPACT 'major'")
        self.session.run_worker()
        self.session.run_cleaner()

    def left_behind(self) -> list[str]:
        """What is there but one directory in each place, with its files and their two notes."""
        left = [str(p) for n in (T, P) for p in self.session.execute(f"CHECK TABLE {n}").fetchall()]
        partitions = [Path(p.location) for p in self.store.partitions(P)]
        left += [
            str(p) for p in Path(self.store.table(P).location).iterdir() if p not in partitions
        ]
        for place in (Path(self.store.table(T).location), *partitions):
            newest = (sorted(place.glob("base_*")) or sorted(place.glob("delta_*")))[-1]
            wanted = {newest / name for name in ("", VERSION_FILE, METADATA_FILE)}
            wanted |= set(newest.glob("bucket_0000?"))
            left += [str(p.relative_to(place)) for p in place.rglob("*") if p not in wanted]
        return left


@pytest.fixture
def directory() -> Iterator[str]:
    """In memory, if the machine has such a place: who is only killed loses nothing there."""
    path = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def warehouse(directory: str) -> Iterator[Warehouse]:
    warehouse = Warehouse(World(directory))
    yield warehouse
    warehouse.session.close()


@pytest.fixture
def served(directory: str, postgres: Postgres) -> Iterator[Warehouse]:
    """The same over PostgreSQL."""
    warehouse = Warehouse(World(directory, postgres.fresh()))
    yield warehouse
    warehouse.session.close()


def last_of_each_line(steps: Sequence[str]) -> Iterator[tuple[str, int]]:
    """For each line of the document the last step of its kind, and how many it comes after."""
    last = {line_of(step): step for step in steps}
    return ((step, steps.count(step) - 1) for step in last.values())


def all_of(steps: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Every step, and how many of its name it comes after."""
    return ((step, steps[:number].count(step)) for number, step in enumerate(steps))


def in_short(life: str, lives: Sequence[str], steps: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Of `last_of_each_line` the telling ones, and those of lines that no earlier life has."""
    earlier = {line for other in lives[: lives.index(life)] for line in KILLED[other]}
    for step, count in last_of_each_line(steps):
        if line_of(step) in TELLING or line_of(step) not in earlier:
            yield step, count


def check_killed(warehouse: Warehouse, life: str, *, thoroughly: bool) -> None:
    before = warehouse.prepare(life)
    steps = warehouse.trace(life)
    after = warehouse.rows()
    expected = KILLED[life]
    assert {line_of(step) for step in steps} == set(expected)
    warehouse.settle()
    [kind] = [lives for lives in KINDS if life in lives]
    for step, earlier in all_of(steps) if thoroughly else in_short(life, kind, steps):
        where = f"{life}, killed after {step}, number {earlier + 1}"
        assert warehouse.prepare(life) == before, where
        warehouse.kill(life, step, earlier)
        now = {"before": before, "after": after}[expected[line_of(step)]]
        assert warehouse.rows() == now, where
        warehouse.settle()
        assert warehouse.rows() == now, where
        if LIVES[life].then is not nothing:
            LIVES[life].then(warehouse.session)
            warehouse.settle()
        assert warehouse.left_behind() == [], where


@pytest.mark.parametrize("life", LIVES)
def test_a_process_that_is_killed(warehouse: Warehouse, life: str) -> None:
    check_killed(warehouse, life, thoroughly=False)


def test_a_process_that_is_killed_while_it_waits(warehouse: Warehouse) -> None:
    """Nobody waits behind the dead for longer than it takes to miss them."""
    warehouse.prepare("UPDATE")
    with warehouse.another_session() as holder:
        holder.execute("BEGIN")
        LIVES["UPDATE"].run(holder)
        warehouse.kill("UPDATE", "open_locked", 0)
        assert LockState.WAITING in {lock.state for lock in warehouse.store.show_locks()}
        holder.execute("COMMIT")
    with pytest.raises(LockTimeoutError), warehouse.another_session() as late:
        LIVES["UPDATE"].run(late)
    after = warehouse.rows()
    warehouse.settle()
    assert warehouse.rows() == after
    assert warehouse.left_behind() == []


@pytest.mark.thorough
@pytest.mark.parametrize("life", LIVES)
def test_a_process_that_is_killed_at_each_step(warehouse: Warehouse, life: str) -> None:
    check_killed(warehouse, life, thoroughly=True)


@pytest.mark.thorough
@pytest.mark.postgres
@pytest.mark.parametrize("life", LIVES)
def test_a_process_that_is_killed_and_its_server_is_not(served: Warehouse, life: str) -> None:
    check_killed(served, life, thoroughly=True)


# -- connections -----------------------------------------------------------------------------------


def check_disconnected(
    warehouse: Warehouse, life: str, postgres: Postgres, *, thoroughly: bool
) -> None:
    """The server ends the connections after a step: the statement goes on to its end."""
    before = warehouse.prepare(life)
    steps = warehouse.trace(life)
    after = warehouse.rows()
    warehouse.settle()
    for step, earlier in all_of(steps) if thoroughly else last_of_each_line(steps):
        where = f"{life}, disconnected after {step}, number {earlier + 1}"
        assert warehouse.prepare(life) == before, where
        with warehouse.another_session() as session:
            Steps(Countdown(step, earlier, postgres.disconnect)).watch(session)
            try:
                LIVES[life].run(session)
            except StorageError:
                # The one verb whose repetition would be refused, had it arrived.
                assert step == f"compact{INSIDE}", where
                LIVES[life].run(session)
        assert warehouse.rows() == after, where
        # A transaction that was opened twice is left to time out.
        warehouse.settle()
        assert warehouse.left_behind() == [], where


@pytest.mark.postgres
def test_a_connection_that_is_lost(served: Warehouse, postgres: Postgres) -> None:
    check_disconnected(served, "block", postgres, thoroughly=False)


@pytest.mark.thorough
@pytest.mark.postgres
@pytest.mark.parametrize("life", LIVES)
def test_a_connection_that_is_lost_at_each_step(
    served: Warehouse, life: str, postgres: Postgres
) -> None:
    check_disconnected(served, life, postgres, thoroughly=True)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("life", "line"), [(life, line) for life, lines in RESTARTED.items() for line in lines]
)
def test_a_server_that_is_stopped_at_once(
    served: Warehouse, life: str, line: str, postgres: Postgres
) -> None:
    assert RESTARTED[life][line] == "after"
    served.prepare(life)
    steps = served.trace(life)
    after = served.rows()
    served.settle()
    served.prepare(life)
    with served.another_session() as session:
        Steps(Countdown(line, steps.count(line) - 1, postgres.crash)).watch(session)
        LIVES[life].run(session)
    assert served.rows() == after
    served.settle()
    assert served.left_behind() == []

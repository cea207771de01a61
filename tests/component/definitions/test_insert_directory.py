"""INSERT OVERWRITE DIRECTORY: which directories it fills, and what is there after a failure."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs
import pytest

import acidsql
from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.backends.storage.local import LocalStorage
from acidsql.definitions.result_directory import ResultDirectory
from acidsql.errors import AcidSqlError, AnalysisError, StorageError, UnsupportedStatementError
from acidsql.layout.listing import ListedFile
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage
from acidsql.session.session import Session
from tests.component.definitions.test_places import everything, furnish


class Steps(LocalStorage):
    """Before its step number ``at`` that changes something, ``before`` is called."""

    def __init__(self, at: int, before: Callable[[], object]) -> None:
        super().__init__()
        self.taken, self._at, self._before = 0, at, before

    def _step(self) -> None:
        self.taken += 1
        if self.taken == self._at:
            self._before()

    def write_file(self, path: str, data: bytes) -> None:
        self._step()
        super().write_file(path, data)

    def rename(self, source: str, target: str) -> None:
        self._step()
        super().rename(source, target)

    def remove(self, own: OwnPath) -> None:
        self._step()
        super().remove(own)

    def list_files(self, directory: str) -> list[ListedFile]:
        self._step()
        return super().list_files(directory)


def fill(place: Path, text: str, storage: Storage | None = None) -> None:
    """What the statement does, with three files of one text."""
    storage = storage or LocalStorage()
    directory = ResultDirectory(str(place), storage)
    try:
        storage.make_directory(directory.attempt)
        for number in range(3):
            (Path(directory.attempt) / f"00000{number}_0").write_text(text)
        directory.publish()
    finally:
        directory.close()


def visible(place: Path) -> list[str]:
    return [p.read_text() for p in sorted(place.iterdir()) if p.name[0] not in "._"]


def steps(place: Path) -> int:
    """How many steps it takes to replace files."""
    storage = Steps(0, lambda: None)
    fill(place, "old")
    fill(place, "old", storage)
    return storage.taken


def fill_twice(place: Path, first: int, second: int) -> dict[str, bool]:
    """One statement stops at its step ``first``. Another one begins, and stops at its ``second``;
    then the first one goes on to its end, and the other one after it. Whether each has succeeded.
    """
    stopped, goes_on = threading.Event(), threading.Event()
    succeeded = {"a": False, "b": False}

    def run(text: str, at: int, before: Callable[[], object]) -> None:
        with contextlib.suppress(AcidSqlError):
            fill(place, text, Steps(at, before))
            succeeded[text] = True

    def stop() -> None:
        stopped.set()
        goes_on.wait(60)

    def run_b() -> None:
        run("b", second, stop)
        stopped.set()

    other = threading.Thread(target=run_b)

    def start_b() -> None:
        other.start()
        stopped.wait(60)

    run("a", first, start_b)
    goes_on.set()
    other.join(60)
    assert not other.is_alive()
    return succeeded


def test_of_two_at_a_time_the_files_of_one_are_there(tmp_path: Path) -> None:
    count = steps(tmp_path / "count")
    outcomes = set()
    for first, second in itertools.product(range(1, count + 1), repeat=2):
        place = tmp_path / f"{first}_{second}"
        fill(place, "old")
        succeeded = fill_twice(place, first, second)
        left = set(visible(place))
        assert len(visible(place)) == 3, (first, second)
        assert left in ({text} for text, done in succeeded.items() if done) or (
            left == {"old"} and not any(succeeded.values())
        ), (first, second)
        outcomes.add((*left, *succeeded.values()))
        fill(place, "next")
        assert visible(place) == 3 * ["next"], (first, second)
    assert {("a", True, False), ("b", False, True), ("b", True, True)} <= outcomes


def test_an_error_leaves_the_files_of_one_statement(tmp_path: Path) -> None:
    def fail() -> None:
        raise StorageError("no more")

    found = []
    for at in range(1, steps(tmp_path / "count") + 1):
        place = tmp_path / str(at)
        fill(place, "old")
        try:
            fill(place, "new", Steps(at, fail))
        except StorageError:
            found.append(visible(place))
        fill(place, "next")
        assert visible(place) == 3 * ["next"], at
        assert len(everything(place)) == 4, at
    assert 3 * ["old"] in found
    # Where an old file cannot be removed, the new ones are there already.
    assert all(set(f) == {"old"} or f.count("new") == 3 for f in found)


class KilledError(BaseException):
    """The process ends: nothing is cleaned up."""


def test_what_a_dead_statement_left_goes_with_the_next_one(tmp_path: Path) -> None:
    class Dying(Steps):
        def _step(self) -> None:
            self.taken += 1
            if self.taken >= self._at:
                raise KilledError

    for at in range(1, steps(tmp_path / "count") + 1):
        place = tmp_path / str(at)
        if at % 2:
            fill(place, "old")
        with contextlib.suppress(KilledError):
            fill(place, "dead", Dying(at, lambda: None))
        fill(place, "next")
        fill(place, "last")
        assert visible(place) == 3 * ["last"], at
        assert len(everything(place)) == 4, at


def test_files_of_others_stay(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "out"
    fill(place, "ours")
    (place / "mine.txt").write_text("mine")
    before = everything(place)
    with pytest.raises(AnalysisError, match="holds other files") as caught:
        session.execute(f"INSERT OVERWRITE DIRECTORY '{place}' SELECT 1")
    assert (caught.value.line, caught.value.column) == (1, 28)
    assert "mine.txt" in str(caught.value)
    assert everything(place) == before


@pytest.mark.parametrize(
    "path",
    ["", "/w", "/w/t", "/w/t/x", "/w/new", "/link/t", "/link/new", "/up/w", "/b", "/b/new",
     "/far", "/far/1", "/far/1/x"],
)  # fmt: skip
def test_a_directory_of_a_table_or_database_is_refused(
    session: Session, tmp_path: Path, path: str
) -> None:
    furnish(session, tmp_path)
    before = everything(tmp_path)
    with pytest.raises(AnalysisError, match="belongs to") as caught:
        session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}{path}' SELECT 1")
    assert (caught.value.line, caught.value.column) == (1, 28)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("path", ["/", "", "hdfs://other/x", "file:///"])
def test_what_is_no_directory_here_is_refused(session: Session, path: str) -> None:
    with pytest.raises((AnalysisError, StorageError)):
        session.execute(f"INSERT OVERWRITE DIRECTORY '{path}' SELECT 1")


def test_a_file_is_no_directory(session: Session, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(AcidSqlError):
        session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/file' SELECT 1")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_directory_outside_of_the_roots_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "way_out").symlink_to(tmp_path / "out")
    roots = {"acidsql.allowed.roots": f"{tmp_path}/w,{tmp_path}/in"}
    with acidsql.connect(tmp_path / "w", metastore="memory:", config=roots) as session:
        for path in ("out", "in/../out", "in/way_out"):
            with pytest.raises(AnalysisError, match="outside of what is allowed"):
                session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/{path}' SELECT 1")
    assert not (tmp_path / "out").exists()


def test_it_is_refused_in_a_block(session: Session, tmp_path: Path) -> None:
    session.execute("BEGIN")
    with pytest.raises(UnsupportedStatementError, match="not allowed in a transaction"):
        session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT 1")
    session.execute("ROLLBACK")
    assert not (tmp_path / "out").exists()


def test_no_rename_has_to_be_exclusive(tmp_path: Path) -> None:
    storage = ArrowStorage(pafs.LocalFileSystem())
    for text in ("old", "new"):
        fill(tmp_path / "out", text, storage)
    assert visible(tmp_path / "out") == 3 * ["new"]
    assert len(everything(tmp_path / "out")) == 4

"""The model of the soak notices what it is there for: rows lost, come back, or there in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.journal import DO, DONE, UNDONE, Follower, Journal, State, state_of
from tests.soak.measures import DIRECTORIES, excesses
from tests.soak.world import World

BEFORE: State = {"a": {1000: ["x"]}, "b": {}, "s": {}}
AFTER: State = {"a": {}, "b": {1000: ["x"]}, "s": {}}
MOVE = {"a": {1000: []}, "b": {1000: ["x"]}}


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "journal")
    journal.note(DO, 1, {"a": {1000: ["x"]}})
    journal.note(DONE, 1)
    return journal


@pytest.fixture
def follower(journal: Journal, tmp_path: Path) -> Follower:
    follower = Follower(tmp_path / "journal", 1)
    assert follower.states() == [{"a": {}, "b": {}, "s": {}}, BEFORE]
    return follower


def test_what_was_acknowledged_before_a_read_must_be_there(
    journal: Journal, follower: Follower
) -> None:
    journal.note(DO, 2, MOVE)
    journal.note(DONE, 2)
    follower.states()
    assert follower.states() == [AFTER]


def test_what_is_under_way_may_be_there_wholly_or_not(journal: Journal, follower: Follower) -> None:
    journal.note(DO, 2, MOVE)
    assert follower.states() == [BEFORE, AFTER]
    assert follower.states() == [BEFORE, AFTER]
    journal.note(DONE, 2)
    assert follower.states() == [BEFORE, AFTER]
    assert follower.states() == [AFTER]


def test_what_was_rolled_back_is_never_there(journal: Journal, follower: Follower) -> None:
    journal.note(DO, 2, MOVE)
    journal.note(UNDONE, 2)
    assert follower.states() == [BEFORE]
    journal.note(DO, 3, MOVE)
    follower.states()
    journal.note(UNDONE, 3)
    assert follower.states() == [BEFORE]


def test_a_line_that_its_writer_never_finished_counts_for_nothing(
    journal: Journal, follower: Follower, tmp_path: Path
) -> None:
    with (tmp_path / "journal").open("a") as file:
        file.write('["do", 2, {"a"')
    assert follower.states() == [BEFORE]
    Journal(tmp_path / "journal").note(DO, 2, MOVE)
    assert follower.states() == [BEFORE, AFTER]


def test_rows_belong_to_the_writer_of_their_key() -> None:
    rows = {"a": [(1000, "y"), (1000, "x"), (2000, "z")], "b": [(1001, "w", "1")]}
    assert state_of(rows, 1) == {"a": {1000: ["x", "y"]}, "b": {1001: ["w"]}, "s": {}}
    with pytest.raises(AssertionError, match="wrong partition"):
        state_of({"b": [(1001, "w", "2")]}, 1)


@pytest.mark.sqlite
def test_directories_and_rows_that_are_too_many(tmp_path: Path) -> None:
    world = World(str(tmp_path / "w"))
    (tmp_path / "w").mkdir()
    world.create()
    assert excesses(world) == []
    (tmp_path / "w" / "a" / "_tmp_left").mkdir()
    assert excesses(world) == ["a has _tmp_left"]
    for number in range(DIRECTORIES):
        (tmp_path / "w" / "s" / f"delta_{number}").mkdir()
    assert len(excesses(world)) == 1
    (tmp_path / "w" / "s" / "base_1").mkdir()
    assert len(excesses(world)) == 2
    with world.session("u") as session:
        session._store.open_txn("u", "here")
        session.execute("INSERT INTO a VALUES (1, 'x')")
    assert "1 rows in MIN_HISTORY_LEVEL, at most 0" in excesses(world)

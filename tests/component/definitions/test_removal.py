"""Directories that are removed after a commit, which has released the locks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import StorageError
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from tests.checks import check_table

pytestmark = pytest.mark.sqlite

ACID = "TBLPROPERTIES ('transactional' = 'true')"
PARTITIONED = f"(id int) PARTITIONED BY (p int) {ACID}"


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[tuple[Session, Session]]:
    with acidsql.connect(tmp_path / "w") as one, acidsql.connect(tmp_path / "w") as other:
        yield one, other


def after_the_commit(session: Session, happens: Callable[[], None]) -> None:
    """Once, when the next definition of the session is committed."""
    store: Any = session._store
    original = store.committing

    @contextmanager
    def committing(*args: Any) -> Iterator[None]:
        store.committing = original
        with original(*args):
            yield
        happens()

    store.committing = committing


def rows(session: Session, name: str) -> list[tuple[Any, ...]]:
    unknown = frozenset({ProblemKind.UNKNOWN_PARTITION})
    return sorted(check_table(session._store, TableName("default", name), unknown))


@pytest.mark.parametrize(
    "drop",
    [
        "ALTER TABLE t DROP PARTITION (p = 1)",
        f"CREATE OR REPLACE TABLE t (id int) {ACID}",
    ],
)
def test_another_table_has_got_the_directory(
    sessions: tuple[Session, Session], tmp_path: Path, drop: str
) -> None:
    one, other = sessions
    for name in "tv":
        one.execute(f"CREATE TABLE {name} {PARTITIONED}")
    place = tmp_path / "elsewhere"
    one.execute(f"ALTER TABLE t ADD PARTITION (p = 1) LOCATION '{place}'")
    one.execute("INSERT INTO t VALUES (1, 1)")

    def take() -> None:
        other.execute(f"ALTER TABLE v ADD PARTITION (p = 2) LOCATION '{place}'")
        other.execute("INSERT INTO v VALUES (2, 2)")

    after_the_commit(one, take)
    assert f"{place} stays: it holds {place} of table default.v." in one.execute(drop).message
    assert (2, "2") in rows(one, "v")


@pytest.mark.parametrize(
    "drop", ["ALTER TABLE t DROP PARTITION (p = 1)", f"CREATE OR REPLACE TABLE t (id int) {ACID}"]
)
def test_a_store_that_goes_away_after_the_commit_is_no_failure(
    sessions: tuple[Session, Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drop: str
) -> None:
    one, _ = sessions
    one.execute(f"CREATE TABLE t {PARTITIONED}")
    place = tmp_path / "elsewhere"
    one.execute(f"ALTER TABLE t ADD PARTITION (p = 1) LOCATION '{place}'")

    def gone(*_: object) -> None:
        raise StorageError("the connection is lost")

    after_the_commit(one, lambda: monkeypatch.setattr(one._store, "places", gone))
    assert f"{place} stays: the connection is lost" in one.execute(drop).message
    assert place.exists()


def test_a_table_is_dropped_though_its_files_cannot_be_removed(
    sessions: tuple[Session, Session], tmp_path: Path
) -> None:
    one, other = sessions
    one.execute(f"CREATE DATABASE d LOCATION '{tmp_path}/d'")
    place = tmp_path / "d" / "elsewhere"
    for drop in ("DROP TABLE d.t", "DROP DATABASE d CASCADE"):
        one.execute(f"CREATE TABLE d.t (id int) LOCATION '{place}' {ACID}")
        (place / "delta_0000009_0000009_0000").symlink_to("/nowhere")
        message = one.execute(drop).message
        assert f"{place} stays: cannot read" in message
        assert "is a link to nothing" in message
        shutil.rmtree(place)
    assert f"{tmp_path / 'd'} stays: cannot read" in message  # not that it holds files
    assert other.execute("SHOW DATABASES").fetchall() == [("default",)]


def test_the_partition_has_got_its_old_directory_back(
    sessions: tuple[Session, Session], tmp_path: Path
) -> None:
    one, other = sessions
    one.execute(f"CREATE TABLE t {PARTITIONED}")
    one.execute("INSERT INTO t VALUES (1, 1)")
    old, new = tmp_path / "w" / "t" / "p=1", tmp_path / "new"
    shutil.copytree(old, new)

    def move_back() -> None:
        other.execute(f"ALTER TABLE t PARTITION (p = 1) SET LOCATION '{old}'")

    after_the_commit(one, move_back)
    one.execute(f"ALTER TABLE t PARTITION (p = 1) SET LOCATION '{new}'")
    assert rows(one, "t") == [(1, "1")]

"""A partition that Hive 4 has dropped by a base without rows, until its cleaner comes by."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from acidsql.errors import AnalysisError
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from tests.checks import check_table

T = TableName("default", "t")


def rows(session: Session) -> list[tuple[int, ...]]:
    unknown = frozenset({ProblemKind.UNKNOWN_PARTITION})
    return sorted((a, int(p)) for a, p in check_table(session._store, T, unknown))


def drop_as_hive_does(session: Session, place: Path, base: int) -> None:
    """The rows stay, and a base hides them."""
    kept = place.with_name("kept")
    shutil.copytree(place, kept)
    session.execute("ALTER TABLE t DROP PARTITION (p = 1)")
    kept.rename(place)
    (place / f"base_{base:07d}").mkdir()
    marker = '{"thisFileVersion":"0","dataFormat":"dropped"}'
    (place / f"base_{base:07d}" / "_metadata_acid").write_text(marker)


@pytest.fixture
def place(session: Session, tmp_path: Path) -> Path:
    """The directory of a partition with the write ids 1 and 2; 3 is committed, 4 is aborted."""
    session.execute(
        "CREATE TABLE t (a int) PARTITIONED BY (p int) TBLPROPERTIES ('transactional' = 'true')"
    )
    for row in ("(1, 1)", "(2, 1)", "(3, 2)"):
        session.execute(f"INSERT INTO t VALUES {row}")
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (4, 2)")
    session.execute("ROLLBACK")
    return tmp_path / "w" / "t" / "p=1"


def test_an_insert_makes_the_partition_anew(session: Session, place: Path) -> None:
    drop_as_hive_does(session, place, 3)
    session.execute("INSERT INTO t VALUES (9, 1)")
    assert rows(session) == [(3, 2), (9, 1)]


@pytest.mark.parametrize("base", [1, 4, 8], ids=["too old", "aborted", "not committed"])
def test_a_base_that_hides_nothing(session: Session, place: Path, base: int) -> None:
    drop_as_hive_does(session, place, base)
    with pytest.raises(AnalysisError, match="has rows already"):
        session.execute("INSERT INTO t VALUES (9, 1)")
    assert rows(session) == [(3, 2)]


def test_a_base_of_an_aborted_compaction_hides_nothing(session: Session, place: Path) -> None:
    drop_as_hive_does(session, place, 3)
    (place / "base_0000003").rename(place / "base_0000003_v0000099")
    with pytest.raises(AnalysisError, match="has rows already"):
        session.execute("INSERT INTO t VALUES (9, 1)")
    assert rows(session) == [(3, 2)]


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_a_base_that_would_hide_the_new_rows(
    session: Session, place: Path, is_cleaned: bool
) -> None:
    """A stream took its write ids before Hive dropped the partition."""
    builder = StreamingConnection.builder().table("t").transaction_batch_size(3)
    with builder.connect(session) as stream:
        stream.begin_transaction()
        stream.write({"a": 5, "p": 2})
        stream.commit_transaction()
        session.execute("INSERT INTO t VALUES (6, 2)")
        drop_as_hive_does(session, place, 8)
        for delta in place.glob("delta_*") if is_cleaned else ():
            shutil.rmtree(delta)
        stream.begin_transaction()
        stream.write({"a": 9, "p": 1})
        with pytest.raises(AnalysisError, match="has rows already"):
            stream.commit_transaction()
    session.execute("INSERT INTO t VALUES (9, 1)")
    assert rows(session) == [(3, 2), (5, 2), (6, 2), (9, 1)]

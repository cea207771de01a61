"""LOAD DATA moves files: their rows are in one table, and once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.engines.local import load
from acidsql.errors import AnalysisError, MissingFileError
from acidsql.session.session import Session

INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[tuple[Session, Session]]:
    """Two sessions with a file to load, and two tables to load it into."""
    with acidsql.connect(tmp_path / "w") as one, acidsql.connect(tmp_path / "w") as other:
        one.execute("CREATE TABLE plain (a int) STORED AS ORC")
        one.insert("plain", {"a": [1, 2]})
        for name in "tu":
            one.execute(f"CREATE TABLE {name} (a int) STORED AS ORC {INSERT_ONLY}")
        shutil.copytree(tmp_path / "w" / "plain", tmp_path / "given")
        yield one, other


def files(tmp_path: Path, table: str) -> list[str]:
    return sorted(path.name for path in (tmp_path / "w" / table).rglob("0*"))


@pytest.mark.sqlite
@pytest.mark.parametrize("second", ["t", "u"])
def test_a_block_loads_a_file_once(
    sessions: tuple[Session, Session], tmp_path: Path, second: str
) -> None:
    session, _ = sessions
    session.execute("BEGIN")
    session.execute(f"LOAD DATA INPATH '{tmp_path}/given' INTO TABLE t")
    with pytest.raises(AnalysisError, match="this transaction has loaded"):
        session.execute(f"LOAD DATA INPATH '{tmp_path}/given' INTO TABLE {second}")
    session.execute("COMMIT")
    assert (files(tmp_path, "t"), files(tmp_path, "u")) == (["000000_0"], [])
    assert list((tmp_path / "given").rglob("0*")) == []


@pytest.mark.sqlite
def test_a_file_that_another_session_has_loaded_is_not_loaded_again(
    sessions: tuple[Session, Session], tmp_path: Path
) -> None:
    one, other = sessions
    one.execute("BEGIN")
    one.execute(f"LOAD DATA INPATH '{tmp_path}/given' INTO TABLE t")
    other.execute(f"LOAD DATA INPATH '{tmp_path}/given' INTO TABLE u")
    with pytest.raises(MissingFileError, match="is gone since it was copied"):
        one.execute("COMMIT")
    assert (files(tmp_path, "t"), files(tmp_path, "u")) == ([], ["000000_0"])


@pytest.mark.sqlite
def test_each_file_has_a_number_that_row_ids_can_hold(
    sessions: tuple[Session, Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "BUCKET_ID_MAX", 1)
    session, _ = sessions
    session.execute("CREATE TABLE v (a int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    for name in "bc":
        shutil.copy(tmp_path / "given" / "000000_0", tmp_path / "given" / name)
    with pytest.raises(AnalysisError, match="has 3 files, and a full-ACID table takes 2"):
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/given' INTO TABLE v")
    assert files(tmp_path, "v") == []
    session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/given' INTO TABLE t")
    (tmp_path / "given" / "c").unlink()
    session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/given' INTO TABLE v")
    assert files(tmp_path, "v") == ["000000_0", "000001_0"]

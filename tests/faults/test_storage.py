"""Storage that refuses: full, read-only, or gone in the middle of a statement."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.backends.sqlite.store import SqliteStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import AcidSqlError, MissingFileError, StorageError
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine

CREATE = "CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')"
NOBODY = 65534


class FullStorage(LocalStorage):
    """A local storage whose disk is full at the n-th write from now on, and at every later one."""

    left: int | None = None

    def _spend(self, path: str) -> None:
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            reason = os.strerror(errno.ENOSPC)
            raise StorageError(f"cannot write {path}: {reason}")

    def make_directory(self, path: str) -> None:
        self._spend(path)
        super().make_directory(path)

    def write_file(self, path: str, data: bytes) -> None:
        self._spend(path)
        super().write_file(path, data)

    def rename(self, source: str, target: str) -> None:
        self._spend(target)
        super().rename(source, target)

    def put_file(self, source: str, path: str) -> None:
        self._spend(path)
        super().put_file(source, path)


@contextlib.contextmanager
def session_over(
    storage: LocalStorage, warehouse: Path, engine: SparkEngine | None = None
) -> Iterator[Session]:
    warehouse.mkdir(exist_ok=True)
    policy = TxnPolicy()
    store = SqliteStore(str(warehouse / ".acidsql.db"), warehouse=str(warehouse), policy=policy)
    with Session(
        store=store, engine=engine or SparkEngine(storage, None, {}), storage=storage,
        policy=policy, warehouse=str(warehouse), user="u", host="h",
    ) as session:  # fmt: skip
        yield session


def files(directory: Path) -> dict[str, bytes]:
    """Every file below the tables' directories."""
    found = (p for p in (directory / "t").rglob("*") if p.is_file())
    return {str(p.relative_to(directory)): p.read_bytes() for p in found}


def assert_untouched(session: Session, warehouse: Path, before: dict[str, bytes]) -> None:
    assert files(warehouse) == before
    assert session.execute("SHOW LOCKS").fetchall() == []
    assert {row[1] for row in session.execute("SHOW TRANSACTIONS")} <= {"ABORTED"}
    assert session.execute("CHECK TABLE t").fetchall() == []


def fail_at_every_write(
    storage: FullStorage, session: Session, warehouse: Path, run: Callable[[], object]
) -> int:
    """Run it with ever more room until it succeeds; how often it failed, each time without trace.

    ``run`` raises AcidSqlError where it fails.
    """
    before = files(warehouse)
    for room in itertools.count():
        storage.left = room
        try:
            run()
        except AcidSqlError as error:
            assert str(warehouse) in str(error)  # noqa: PT017 - the last run succeeds
        else:
            storage.left = None
            return room
        storage.left = None
        assert_untouched(session, warehouse, before)
    raise AssertionError("it never succeeds")


def test_an_insert_on_a_disk_that_is_full_at_any_write(tmp_path: Path) -> None:
    storage = FullStorage()
    with session_over(storage, tmp_path / "w") as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a')")
        failed = fail_at_every_write(
            storage, session, tmp_path / "w",
            lambda: session.execute("INSERT INTO t VALUES (2, 'b')"),
        )  # fmt: skip
        assert failed == 4  # directory, file, format version, name
        assert len(list((tmp_path / "w" / "t").glob("delta_*"))) == 2
        assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.parametrize("kind", ["minor", "major"])
def test_a_compaction_on_a_disk_that_is_full_at_any_write(tmp_path: Path, kind: str) -> None:
    storage = FullStorage()
    with session_over(storage, tmp_path / "w") as session:
        session.execute(CREATE)
        for k in range(3):
            session.execute(f"INSERT INTO t VALUES ({k}, 'a')")

        def compact() -> None:
            said = session.execute(f"ALTER TABLE t COMPACT '{kind}' AND WAIT").message or ""
            if "failed" in said:
                raise StorageError(said)

        assert fail_at_every_write(storage, session, tmp_path / "w", compact) > 2
        session.run_cleaner()
        [left] = [p.name for p in (tmp_path / "w" / "t").iterdir()]
        assert left == {"minor": "delta_0000001_0000003", "major": "base_0000003"}[kind]
        assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.parametrize("rows_from", ["python", pytest.param("spark", marks=pytest.mark.thorough)])
def test_an_update_on_a_disk_that_is_full_at_any_write(
    tmp_path: Path, rows_from: str, request: pytest.FixtureRequest
) -> None:
    """The rows are computed in either way. Then the same code writes them."""
    storage = FullStorage()
    engine: SparkEngine
    if rows_from == "spark":
        engine = SparkEngine(storage, request.getfixturevalue("spark"), {})
    else:
        engine = PythonEngine(storage, None, {})
        engine.key, engine.change = 2, lambda _: "c"
    with session_over(storage, tmp_path / "w", engine) as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        failed = fail_at_every_write(
            storage, session, tmp_path / "w",
            lambda: session.execute("UPDATE t SET v = 'c' WHERE k = 2"),
        )  # fmt: skip
        assert failed == 8  # both directories: itself, file, format version, name
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(1, "a"), (2, "c")]
        assert session.execute("CHECK TABLE t").fetchall() == []


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes: as on a full disk, a write fails in the middle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_cannot_be_written_to_its_end(tmp_path: Path) -> None:
    with acidsql.connect(str(tmp_path / "w")) as session:
        session.execute(f"{CREATE[:-1]}, 'orc.compress' = 'none')")
        session.execute("INSERT INTO t VALUES (1, 'a')")
        before = files(tmp_path / "w")
        rows = ", ".join(f"({k}, '{k:>06}{'x' * 1000}{k}')" for k in range(3000))
        size = (tmp_path / "w" / ".acidsql.db").stat().st_size
        with largest_file(size + (1 << 20)), pytest.raises(StorageError) as caught:
            session.execute(f"INSERT INTO t VALUES {rows}")
        assert str(tmp_path / "w" / "t") in caught.value.message
        assert_untouched(session, tmp_path / "w", before)
        session.execute(f"INSERT INTO t VALUES {rows}")
        assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that other users may enter, for a process that gives up being root."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@contextlib.contextmanager
def read_only(directory: Path, spared: str = "") -> Iterator[None]:
    """Nothing below the directory can be written, not by root either: it is nobody meanwhile.

    ``spared`` is a file that anybody may write to.
    """
    was_root = os.geteuid() == 0
    everything = [directory, *directory.rglob("*")]
    modes = {p: p.stat().st_mode for p in everything}
    for path in everything:
        path.chmod(0o666) if path.name == spared else path.chmod(0o555 if path.is_dir() else 0o444)
    if was_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)


def test_a_table_on_read_only_storage(open_directory: Path) -> None:
    table = open_directory / "t"
    with acidsql.connect(str(open_directory)) as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a')")
        session.execute("INSERT INTO t VALUES (2, 'b')")
        before = files(open_directory)
        with read_only(table):
            with pytest.raises(StorageError) as caught:
                session.execute("INSERT INTO t VALUES (3, 'c')")
            assert str(table) in caught.value.message
            assert caught.value.hint
            said = session.execute("ALTER TABLE t COMPACT 'major' AND WAIT").message or ""
            assert "failed" in said
            assert str(table) in said
            assert session.execute("CHECK TABLE t").fetchall() == []
        assert_untouched(session, open_directory, before)
        session.execute("INSERT INTO t VALUES (3, 'c')")
        assert "ready" in str(session.execute("ALTER TABLE t COMPACT 'major' AND WAIT").message)


def write_one_row(warehouse: Path) -> None:
    with acidsql.connect(str(warehouse)) as session:
        session.execute("INSERT INTO t VALUES (2, 'b')")


def test_a_store_on_read_only_storage(open_directory: Path) -> None:
    with acidsql.connect(str(open_directory)) as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a')")
    before = files(open_directory)
    with read_only(open_directory), pytest.raises(AcidSqlError) as caught:
        write_one_row(open_directory)
    assert str(open_directory) in str(caught.value)
    assert files(open_directory) == before


# -- what is gone ----------------------------------------------------------------------------------


def test_a_directory_the_cleaner_removes_while_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("base_0000002/bucket_00000", "delta_0000001_0000001_0000/bucket_00000"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    scandir = os.scandir

    @contextlib.contextmanager
    def scan(path: Path) -> Iterator[Any]:
        with scandir(path) as entries:
            found = list(entries)
        if path == tmp_path:
            monkeypatch.setattr(os, "scandir", scandir)
            shutil.rmtree(tmp_path / "delta_0000001_0000001_0000")
        yield found

    monkeypatch.setattr(os, "scandir", scan)
    listed = [f.path for f in LocalStorage().list_files(str(tmp_path))]
    assert listed == ["base_0000002/bucket_00000"]


def test_a_directory_that_is_gone_before_its_rows_are_read(tmp_path: Path, spark: Any) -> None:
    with acidsql.connect(str(tmp_path / "w"), spark=spark) as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a')")
        session.execute("INSERT INTO t VALUES (2, 'b')")
        result = session.execute("SELECT * FROM t")
        gone = tmp_path / "w" / "t" / "delta_0000002_0000002_0000"
        gone.rename(tmp_path / "kept")
        with pytest.raises(MissingFileError, match="delta_0000002_0000002_0000"):
            result.fetchall()
        (tmp_path / "kept").rename(gone)
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(1, "a"), (2, "b")]


def test_a_delta_that_is_gone_is_found(tmp_path: Path, spark: Any) -> None:
    """No reader can miss it; but the store knows of it, and so does what deletes its rows."""
    with acidsql.connect(str(tmp_path / "w"), spark=spark) as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a')")
        session.execute("DELETE FROM t WHERE k = 1")
        shutil.rmtree(tmp_path / "w" / "t" / "delta_0000001_0000001_0000")
        found = session.execute("CHECK TABLE t").fetchall()
        assert sorted((problem, Path(path).parent.name) for _, path, problem, _ in found) == [
            ("missing write", "w"),
            ("orphan delete", "delete_delta_0000002_0000002_0000"),
        ]

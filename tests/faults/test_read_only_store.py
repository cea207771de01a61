"""A session that begins where the store cannot be written to: it reads, and says why not more."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import acidsql
from acidsql.backends.relational.connection import Mode
from acidsql.backends.sqlite import SqliteStore
from acidsql.errors import (
    CorruptFileError,
    MissingFileError,
    StorageError,
    StoreNotWritableError,
)
from tests.faults.test_full_store import CREATE, ROWS, session_over
from tests.faults.test_storage import open_directory, read_only

pytestmark = pytest.mark.sqlite
__all__ = ["open_directory"]  # a fixture

READ_ONLY = r"the transaction store .*store\.db is read-only"
FULL = r"the disk of the transaction store .*store\.db is full"
SIDE_FILES = ("", "-wal", "-shm")


def mount(stack: ExitStack, path: Path, *options: str) -> None:
    """Something mounted until the end of the test, where that is allowed."""
    path.mkdir()
    done = subprocess.run(["mount", *options, str(path)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("mounting needs root")
    stack.callback(subprocess.run, ["umount", "-l", str(path)], check=True)


def remount(path: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(path)], check=True)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def disk(tmp_path: Path, stack: ExitStack) -> Path:
    """A small disk of its own with a store that nobody has open."""
    disk = tmp_path / "disk"
    mount(stack, disk, "-t", "tmpfs", "-o", "size=16m", "none")
    fill(disk)
    return disk


def open_store(directory: Path) -> SqliteStore:
    return SqliteStore(f"{directory}/store.db", warehouse=str(directory))


def fill(directory: Path) -> None:
    with session_over(open_store(directory), directory) as session:
        session.execute(CREATE)
        for row in ROWS:
            session.execute("INSERT INTO t VALUES (?, ?)", row)


def read_only_mount(disk: Path, stack: ExitStack) -> Path:
    """The same disk once more, where nobody can write to it."""
    mounted = disk.with_name("mounted")
    mount(stack, mounted, "--bind", str(disk))
    remount(mounted, "bind,ro")
    return mounted


def no_room(disk: Path, stack: ExitStack) -> Path:
    path = disk / "filler"
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space") as caught:
        file.writelines(bytes(4096) for _ in range(10_000))
    assert caught.value.errno == errno.ENOSPC
    return disk


def check(directory: Path, told: str, warehouse: Path, rows: list[tuple[int, str]] = ROWS) -> None:
    """A session that begins now reads; what writes is told why it cannot."""
    with session_over(open_store(directory), warehouse) as session:
        for _ in range(2):
            assert sorted(session.execute("SELECT * FROM t").fetchall()) == rows
        assert session.execute("SHOW TABLES").fetchall() != []
        assert session.execute("SHOW TRANSACTIONS").fetchall() is not None
        assert session.execute("CHECK TABLE t").fetchall() == []
        for statement in ("INSERT INTO t VALUES (3, 'c')", "DROP TABLE t", "BEGIN"):
            with pytest.raises(StoreNotWritableError, match=told) as caught:
                session.execute(statement)
            assert caught.value.detail
            assert "Reads go on" in (caught.value.hint or "")
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == rows


def leave_a_log(disk: Path, *ends: str) -> None:
    """What is left of a store whose last process was killed: the last INSERT is in the log."""
    kept = disk / "kept"
    kept.mkdir()
    store = open_store(disk)
    with session_over(store, disk) as session:
        session.execute("INSERT INTO t VALUES (3, 'c')")
        for end in SIDE_FILES:
            shutil.copyfile(f"{disk}/store.db{end}", f"{kept}/store.db{end}")
    for end in SIDE_FILES:
        Path(f"{disk}/store.db{end}").unlink(missing_ok=True)
    for end in ends:
        shutil.move(f"{kept}/store.db{end}", f"{disk}/store.db{end}")


REFUSALS = {"read-only": (read_only_mount, READ_ONLY), "full": (no_room, FULL)}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_store_that_nobody_has_open(disk: Path, stack: ExitStack, kind: str) -> None:
    refuse, told = REFUSALS[kind]
    check(refuse(disk, stack), told, disk)


def test_a_store_that_others_write_to(disk: Path, stack: ExitStack) -> None:
    mounted = read_only_mount(disk, stack)
    with (
        session_over(open_store(disk), disk) as writer,
        session_over(open_store(mounted), disk) as reader,
    ):
        for number in range(3, 6):
            writer.execute("INSERT INTO t VALUES (?, 'x')", [number])
            assert len(reader.execute("SELECT * FROM t").fetchall()) == number
        writer.close()
        assert len(reader.execute("SELECT * FROM t").fetchall()) == 5
        with session_over(open_store(disk), disk) as another:
            another.execute("INSERT INTO t VALUES (6, 'x')")
            assert len(reader.execute("SELECT * FROM t").fetchall()) == 6
        assert len(reader.execute("SELECT * FROM t").fetchall()) == 6


OPEN = """
import sys
from acidsql.backends.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
store.open_txns(100, "ann", "host1")
store.close()
"""


def elsewhere(code: str, disk: Path) -> None:
    subprocess.run([sys.executable, "-c", code, f"{disk}/store.db"], check=True)


COUNT = """
import sys, time
from acidsql.backends.sqlite import SqliteStore
while True:
    store = SqliteStore(sys.argv[1])
    for _ in range(40):
        store.commit_txn(store.open_txn("ann", "host1"))
    time.sleep(0.02)
    store.close()
    time.sleep(0.03)
"""


def test_reads_are_of_one_moment_while_others_come_and_go(disk: Path, stack: ExitStack) -> None:
    """Their logs are made, written from their starts again, and removed."""
    mounted = read_only_mount(disk, stack)
    with closing(open_store(mounted)) as store:
        first = seen = store.valid_txns().high_watermark
        writer = subprocess.Popen([sys.executable, "-c", COUNT, f"{disk}/store.db"])
        try:
            while seen < first + 1000:
                txns = store.valid_txns()
                assert txns.high_watermark >= seen
                assert len(txns.open) <= 1
                seen = txns.high_watermark
                assert writer.poll() is None
        finally:
            writer.kill()
            writer.wait()


def test_what_was_changed_while_it_was_read_is_read_again(disk: Path, stack: ExitStack) -> None:
    """Pages of two states could be among what was read."""
    mounted = read_only_mount(disk, stack)
    with closing(open_store(mounted)) as store:
        read: list[int] = []

        def work() -> int:
            if not read:
                elsewhere(OPEN, disk)
            read.append(store.valid_txns().high_watermark)
            return read[-1]

        before = store.valid_txns().high_watermark
        assert store._sql.carry_out(Mode.READING, work) == before + 100
        assert len(read) == 2
        with (
            pytest.raises(StorageError, match="was changed while it was read"),
            store._sql.transaction(Mode.READING),
        ):
            elsewhere(OPEN, disk)


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_log_with_its_index_is_read(disk: Path, stack: ExitStack, kind: str) -> None:
    refuse, told = REFUSALS[kind]
    leave_a_log(disk, "", "-wal", "-shm")
    check(refuse(disk, stack), told, disk, [*ROWS, (3, "c")])


@pytest.mark.parametrize(("kind", "why"), [("read-only", "read-only"), ("full", "disk is full")])
def test_a_log_that_cannot_be_read_is_not_passed_over(
    disk: Path, stack: ExitStack, kind: str, why: str
) -> None:
    """Without it the store would be an older one."""
    leave_a_log(disk, "", "-wal")
    directory = REFUSALS[kind][0](disk, stack)
    with pytest.raises(StorageError, match=f"the log of .* cannot be read: .*{why}") as caught:
        open_store(directory)
    assert caught.value.detail
    assert caught.value.hint


@pytest.mark.parametrize("spared", ["store.db", "nothing"])
def test_no_rights(open_directory: Path, spared: str) -> None:
    """On the directory alone, in which SQLite makes the log, or on the file as well."""
    fill(open_directory)
    with read_only(open_directory, spared):
        check(open_directory, READ_ONLY, open_directory)


@pytest.mark.parametrize("kind", REFUSALS)
def test_what_would_have_to_be_written_first(disk: Path, stack: ExitStack, kind: str) -> None:
    refuse, told = REFUSALS[kind]
    with closing(sqlite3.connect(disk / "store.db")) as old:
        old.execute("PRAGMA user_version = 1")
    directory = refuse(disk, stack)
    with pytest.raises(StorageError, match=f"{told}, and has to be brought to") as caught:
        open_store(directory)
    assert "It has version 1." in (caught.value.detail or "")
    assert "where it can be written" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("kind", "why"), [("read-only", "Read-only file system"), ("full", "The disk is full")]
)
def test_no_store_can_be_made(disk: Path, stack: ExitStack, kind: str, why: str) -> None:
    directory = REFUSALS[kind][0](disk, stack)
    with pytest.raises(StorageError, match="cannot make the transaction store") as caught:
        SqliteStore(f"{directory}/new.db")
    assert why in (caught.value.detail or "")
    assert caught.value.hint
    assert not list(directory.glob("new.db*"))
    with pytest.raises(MissingFileError):
        SqliteStore(f"{directory}/new.db", must_exist=True)


def test_a_damaged_store_is_told_as_ever(disk: Path, stack: ExitStack) -> None:
    with (disk / "store.db").open("r+b") as file:
        file.seek(8192)
        file.write(b"x" * 30_000)
    with pytest.raises(CorruptFileError):
        open_store(read_only_mount(disk, stack))


def test_once_there_is_room_the_same_session_writes(disk: Path, stack: ExitStack) -> None:
    no_room(disk, stack)
    with session_over(open_store(disk), disk) as session:
        with pytest.raises(StoreNotWritableError, match=FULL):
            session.execute("INSERT INTO t VALUES (3, 'c')")
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == ROWS
        (disk / "filler").unlink()
        session.execute("INSERT INTO t VALUES (3, 'c')")
        assert sorted(session.execute("SELECT * FROM t").fetchall()) == [*ROWS, (3, "c")]
        assert (disk / "store.db-wal").exists(), "from now on it is open"
    with session_over(open_store(disk), disk) as session:
        assert len(session.execute("SELECT * FROM t").fetchall()) == 3


def test_a_store_that_is_gone_or_another_one(disk: Path, stack: ExitStack) -> None:
    mounted = read_only_mount(disk, stack)
    with closing(open_store(mounted)) as store:
        (disk / "store.db").rename(disk / "old.db")
        with pytest.raises(StorageError, match="not the file that was opened any more"):
            store.valid_txns()
        open_store(disk).close()
        with pytest.raises(StorageError, match="not the file that was opened any more"):
            store.valid_txns()
        (disk / "old.db").rename(disk / "store.db")
        assert store.valid_txns().high_watermark > 0
    with pytest.raises(StorageError, match="is closed"):
        store.valid_txns()


def test_a_warehouse_on_a_read_only_disk(disk: Path) -> None:
    """From connect on; the tables are where they were when they were made."""
    with acidsql.connect(str(disk / "w")) as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a')")
    remount(disk, "ro")
    with acidsql.connect(str(disk / "w")) as session:
        assert session.new_warehouse is None
        assert session.execute("SELECT * FROM t").fetchall() == [(1, "a")]
        with pytest.raises(StoreNotWritableError, match=r"acidsql\.db is read-only"):
            session.execute("INSERT INTO t VALUES (2, 'b')")
    with pytest.raises(StorageError, match="Read-only file system"):
        acidsql.connect(str(disk / "another"))

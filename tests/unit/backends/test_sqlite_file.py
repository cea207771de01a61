"""The file of a SQLite store: made, checked and watched."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from acidsql.backends.sqlite import SqliteStore
from acidsql.errors import CommitStateUnknownError, MissingFileError, StorageError
from acidsql.model.names import TableName
from acidsql.txn.transaction import OpenTxn

pytestmark = pytest.mark.sqlite

T = TableName("default", "t")


@pytest.fixture
def path(tmp_path):
    directory = tmp_path / "w"
    directory.mkdir()
    return directory / "store.db"


def begin(store):
    return store.open_txn("ann", "host1")


def assert_gone(store):
    """Neither writes nor reads are answered."""
    for verb in (lambda: begin(store), store.show_txns, lambda: store.open_txns(2, "a", "h")):
        with pytest.raises(
            StorageError, match="is not the file that was opened any more"
        ) as caught:
            verb()
        assert caught.value.detail
        assert caught.value.hint


# -- one that was moved, deleted or replaced ---------------------------------------------------


def replace_directory(path):
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.mkdir()
    SqliteStore(str(path)).close()


def move(path, target):
    for end in ("", "-wal", "-shm"):
        os.rename(f"{path}{end}", f"{target}{end}")


def replace_store(path):
    move(path, path.with_suffix(".old"))
    SqliteStore(str(path)).close()


def replace_by_a_copy(path):
    shutil.copyfile(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").rename(path)


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        lambda path: path.rename(path.with_suffix(".old")),
        replace_store,
        replace_by_a_copy,
        lambda path: Path(f"{path}-wal").unlink(),
        lambda path: Path(f"{path}-shm").unlink(),
        lambda path: Path(f"{path}-wal").rename(f"{path}-wal.old"),
        lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
        replace_directory,
        lambda path: shutil.rmtree(path.parent),
    ],
    ids=[
        "deleted", "moved", "another store", "a copy", "log deleted", "index deleted", "log moved",
        "directory moved", "another directory", "directory deleted",
    ],
)  # fmt: skip
@pytest.mark.parametrize("age", ["new", "old", "restored"])
def test_a_store_that_is_not_where_it_was_fails_at_once(path, harm, age):
    """In a directory that has just changed, in an old one, and by a copy that keeps its times."""
    with closing(SqliteStore(str(path))) as store:
        if age != "new":
            os.utime(path.parent, (1e9, 1e9))
        begin(store)
        harm(path)
        if age == "restored" and path.parent.exists():
            os.utime(path.parent, (1e9, 1e9))
        assert_gone(store)
        # Who comes afterwards, and may be told that something is missing, makes it no better.
        with suppress(StorageError):
            SqliteStore(str(path)).close()
        assert_gone(store)


def test_no_new_store_takes_over_the_log_of_one_that_was_moved(path):
    with closing(SqliteStore(str(path))) as store:
        begin(store)
        path.rename(path.with_suffix(".old"))
        with pytest.raises(MissingFileError, match="is missing") as caught:
            SqliteStore(str(path))
        assert f"{path}-wal" in caught.value.detail
    path.with_suffix(".old").rename(path)
    with closing(SqliteStore(str(path))) as store:
        assert len(store.show_txns()) == 1


def test_a_commit_into_nowhere_is_not_acknowledged(path):
    with closing(SqliteStore(str(path))) as store:
        txn = OpenTxn(store, user="ann", host="host1")
        txn.write_id(T)
        path.unlink()
        with pytest.raises(CommitStateUnknownError):
            txn.commit()


def test_a_file_that_goes_while_a_verb_is_at_work_is_noticed(path):
    """In the middle of it the file is there; when it would answer it is not."""
    with closing(SqliteStore(str(path))) as store:
        txn = begin(store)
        with (
            pytest.raises(StorageError, match="is not the file that was opened any more"),
            store.committing(txn),
        ):
            path.rename(path.with_suffix(".old"))


def test_a_store_that_is_put_back_goes_on(path):
    with closing(SqliteStore(str(path))) as store:
        txn = begin(store)
        move(path, path.with_suffix(".away"))
        assert_gone(store)
        move(path.with_suffix(".away"), path)
        assert [t.txn_id for t in store.show_txns()] == [txn]


def test_closing_a_store_that_was_replaced_harms_nobody(path):
    store = SqliteStore(str(path))
    begin(store)
    replace_store(path)
    with closing(SqliteStore(str(path))) as other:
        txns = [begin(other), begin(other)]
        store.close()
        assert [t.txn_id for t in other.show_txns()] == txns
        assert begin(other) == 3
    with closing(SqliteStore(str(path))) as other:
        assert len(other.show_txns()) == 3


def test_what_several_connections_do_is_no_harm(path):
    """The log stays the same file while anybody has it open, whoever closes or empties it."""
    with closing(SqliteStore(str(path))) as store:
        SqliteStore(str(path)).close()
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            other.execute("VACUUM")
        assert begin(store) == 1
        code = "import sys; from acidsql.backends.sqlite import SqliteStore as S\n"
        code += "s = S(sys.argv[1]); s.open_txn('a', 'h'); s.close()"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
        assert begin(store) == 3


def test_a_symbolic_link_is_followed_and_watched(path):
    link = path.with_name("link.db")
    SqliteStore(str(path)).close()
    link.symlink_to(path)
    with closing(SqliteStore(str(link))) as store, closing(SqliteStore(str(path))) as same:
        txn = begin(store)
        store.allocate_write_id(txn, T)
        assert begin(same) == 2
        SqliteStore(str(path.with_name("other.db"))).close()
        link.unlink()
        link.symlink_to(path.with_name("other.db"))
        assert_gone(store)
        assert begin(same) == 3


# -- how one is made ---------------------------------------------------------------------------


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_a_new_store_is_its_owners_alone(path, mask):
    with umask(mask), closing(SqliteStore(str(path))) as store:
        assert store.is_new
        store.allocate_write_id(begin(store), T)
        assert {mode(f"{path}{end}") for end in ("", "-wal", "-shm")} == {0o600}
    assert os.listdir(path.parent) == ["store.db"]


def test_a_store_that_is_there_keeps_its_mode(path):
    SqliteStore(str(path)).close()
    path.chmod(0o660)
    with umask(0o077), closing(SqliteStore(str(path))) as store:
        assert not store.is_new
        begin(store)
        assert {mode(f"{path}{end}") for end in ("", "-wal", "-shm")} == {0o660}


def test_none_is_made_where_there_must_be_one(path):
    with pytest.raises(MissingFileError, match=r"there is no transaction store .*store\.db"):
        SqliteStore(str(path), must_exist=True)
    assert os.listdir(path.parent) == []
    SqliteStore(str(path)).close()
    with closing(SqliteStore(str(path), must_exist=True)) as store:
        assert not store.is_new
        assert begin(store) == 1


def test_a_file_system_without_hard_links(path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with closing(SqliteStore(str(path))) as store, closing(SqliteStore(str(path))) as other:
        assert (store.is_new, other.is_new) == (True, False)
        assert (begin(store), begin(other)) == (1, 2)


# -- what is no store --------------------------------------------------------------------------


def other_database(path, statement="CREATE TABLE precious (a)", journal="delete"):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute(statement)
        connection.execute("PRAGMA user_version = 3")
        connection.commit()


def tampered(path, statement):
    SqliteStore(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def loop(path):
    path.symlink_to(path)


NO_STORES = {
    "another database": (other_database, "It is another SQLite database."),
    "another database with a log": (
        lambda path: other_database(path, journal="wal"), "It is another SQLite database.",
    ),
    "a database without tables": (
        lambda path: other_database(path, "PRAGMA application_id = 7"),
        "It is another SQLite database.",
    ),
    "a text": (lambda path: path.write_text("precious\n" * 1000), "It is a file of another kind."),
    "a short text": (lambda path: path.write_text("a"), "It is a file of another kind."),
    "a directory": (lambda path: path.mkdir(), "It is a directory."),
    "a pipe": (os.mkfifo, "It is no regular file."),
    "nothing": (lambda path: path.touch(), "It is empty"),
    "a loop of links": (loop, "Too many levels of symbolic links."),
    "a link to nothing": (lambda path: path.symlink_to("gone"), "It leads to "),
    "a store with a trigger": (
        lambda path: tampered(
            path, "CREATE TRIGGER g AFTER INSERT ON TXNS BEGIN DELETE FROM TXNS; END"
        ),
        "no trigger like g",
    ),
    "a store with a view": (lambda path: tampered(path, "CREATE VIEW v AS SELECT 1"), "like v"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_STORES)
@pytest.mark.parametrize("must_exist", [False, True])
def test_what_is_no_store_is_an_error_and_stays_as_it_is(path, kind, must_exist):
    make, told = NO_STORES[kind]
    make(path)

    def look():
        names = sorted(os.listdir(path.parent))
        status = os.lstat(path)
        # All but the time of the last reading.
        kept = (*status[:7], status.st_mtime_ns)
        return names, kept, path.read_bytes() if path.is_file() else None

    before = look()
    with pytest.raises(StorageError) as caught:
        SqliteStore(str(path), must_exist=must_exist)
    assert str(path) in caught.value.message
    assert told in str(caught.value)
    assert caught.value.hint
    assert look() == before


def test_a_path_with_a_nul_or_too_long_a_name(tmp_path):
    for name in ("a\0b", "n" * 300):
        with pytest.raises(StorageError, match="cannot use the transaction store"):
            SqliteStore(f"{tmp_path}/{name}")


@pytest.mark.parametrize("name", ["a?mode=ro#b%41.db", "é ' \" ;.db", ":memory:"])
def test_names_that_mean_something_in_a_url(tmp_path, name):
    path = str(tmp_path / name)
    for expected in (1, 2):
        with closing(SqliteStore(path)) as store:
            assert begin(store) == expected
    assert os.listdir(tmp_path) == [name]


def test_a_store_that_was_never_moved_out_of_its_log_is_one(path):
    """Killed before anything was moved into the database file itself."""
    code = """
import os, sys
from acidsql.backends.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
print(store.open_txn("ann", "host1"), flush=True)
os.kill(os.getpid(), 9)
"""
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1\n", done.stderr
    with closing(SqliteStore(str(path), must_exist=True)) as store:
        assert [t.txn_id for t in store.show_txns()] == [1]

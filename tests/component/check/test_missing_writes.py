"""CHECK TABLE names committed writes of which no directory is left, and no others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import MissingFileError
from acidsql.layout.listing import ListedFile
from acidsql.layout.missing import missing_writes
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.session.session import Session
from acidsql.txn.entities import LockComponent, LockType, WriteOperation
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = (
    "STORED AS ORC TBLPROPERTIES"
    " ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
)
T = TableName("default", "t")
PLACES = [("", "t"), ("PARTITIONED BY (p string)", "p=a")]


class Stage:
    """A session whose table has two rows of two writes, and what its CHECK TABLE finds."""

    def __init__(self, directory: Path, partitioned: str = "", kind: str = ACID) -> None:
        self.store = MemoryStore(lambda: 1_000_000, TxnPolicy(), str(directory))
        storage = LocalStorage()
        self.engine = PythonEngine(storage, None, {})
        self.session = Session(
            store=self.store, engine=self.engine, storage=storage, policy=TxnPolicy(),
            warehouse=str(directory), user="u", host="h",
        )  # fmt: skip
        self.run(f"CREATE TABLE t (k int, v string) {partitioned} {kind}")
        place = "PARTITION (p = 'a')" if partitioned else ""
        self.run(f"INSERT INTO t {place} VALUES (1, 'a')", f"INSERT INTO t {place} VALUES (2, 'b')")
        self.location = Path(self.store.table(T).location)

    def run(self, *statements: str) -> None:
        for sql in statements:
            self.session.execute(sql)

    def change(self, verb: str, key: int) -> Any:
        self.engine.key, self.engine.change = key, lambda _: "z"
        sql = f"UPDATE t SET v = 'z' WHERE k = {key}"
        return self.session.execute(sql if verb == "UPDATE" else f"DELETE FROM t WHERE k = {key}")

    def lose(self, name: str) -> None:
        [found] = self.location.rglob(name)
        shutil.rmtree(found)

    def is_whole(self) -> bool:
        """CHECK TABLE finds nothing, and a read misses nothing."""
        return not self.problems() and self.session.execute("SELECT * FROM t").kind == "select"

    def problems(self, table: str = "t") -> list[tuple[str, str, str]]:
        found = self.session.execute(f"CHECK TABLE {table}").fetchall()
        return [(Path(path).name, problem, detail) for _, path, problem, detail in found]


@pytest.fixture
def stages(tmp_path: Path) -> Iterator[Any]:
    opened: list[Stage] = []

    def make(partitioned: str = "", kind: str = ACID) -> Stage:
        opened.append(Stage(tmp_path, partitioned, kind))
        return opened[-1]

    yield make
    for stage in opened:
        stage.session.close()


def detail(write_id: int) -> str:
    return f"write id {write_id} was committed here, and no file has it"


@pytest.mark.parametrize("kind", [ACID, INSERT_ONLY])
@pytest.mark.parametrize(("partitioned", "place"), PLACES)
def test_a_lost_directory_is_named(stages, kind, partitioned, place):
    stage = stages(partitioned, kind)
    assert stage.problems() == []
    stage.lose("delta_0000002_0000002_0000")
    assert stage.problems() == [(place, "missing write", detail(2))]
    stage.lose("delta_0000001_0000001_0000")
    assert stage.problems() == [(place, "missing write", detail(n)) for n in (1, 2)]


@pytest.mark.parametrize("kind", [ACID, INSERT_ONLY])
def test_what_is_lost_is_not_read_over(stages, kind):
    """Neither by a read, nor by a change, nor by a compaction, which would make it final."""
    stage = stages("", kind)
    away = stage.location.parent / "away"
    (stage.location / "delta_0000001_0000001_0000").rename(away)
    stage.run("ALTER TABLE t COMPACT 'major'")
    stage.session.run_worker()
    [compaction] = stage.session.execute("SHOW COMPACTIONS").fetchall()
    assert "failed" in compaction
    reads = [lambda: stage.session.execute("SELECT * FROM t").fetchall()]
    if kind == ACID:
        reads += [lambda: stage.change("UPDATE", 2), lambda: stage.change("DELETE", 2)]
    for read in reads:
        with pytest.raises(MissingFileError, match="write id 1 was committed to table"):
            read()
    away.rename(stage.location / "delta_0000001_0000001_0000")
    assert stage.problems() == []


def test_a_snapshot_from_before_the_lost_write_is_read(stages):
    stage = stages()
    txn = stage.session._open_txn()
    before = txn.snapshot([T])[T]
    stage.run("INSERT INTO t VALUES (3, 'c')")
    assert (sorted(before.written), txn.snapshot([T])[T]) == ([1, 2], before)
    txn.close()


@pytest.mark.parametrize("kind", [ACID, INSERT_ONLY])
@pytest.mark.parametrize(("partitioned", "place"), PLACES)
def test_a_directory_without_its_files_is_missing_too(stages, kind, partitioned, place):
    stage = stages(partitioned, kind)
    [directory] = stage.location.rglob("delta_0000002_0000002_0000")
    for file in directory.iterdir():
        if not file.name.startswith("_"):
            file.unlink()
    assert stage.problems() == [(place, "missing write", detail(2))]
    if not partitioned:
        with pytest.raises(MissingFileError, match="write id 2 was committed to table"):
            stage.session.execute("SELECT * FROM t")


def test_what_is_lost_can_be_given_up(stages, tmp_path):
    """In a session for which what is missing is empty."""
    stage = stages()
    stage.lose("delta_0000001_0000001_0000")
    lenient = LocalStorage(missing_is_empty=True)
    with Session(
        store=stage.store, engine=PythonEngine(lenient, None, {}), storage=lenient,
        policy=TxnPolicy(), warehouse=str(tmp_path), user="u", host="h",
    ) as session:  # fmt: skip
        assert session.execute("SELECT * FROM t").fetchall() == [(2, "b")]
        session.execute("INSERT OVERWRITE t VALUES (2, 'b')")
    assert stage.is_whole()
    assert stage.session.execute("SELECT * FROM t").fetchall() == [(2, "b")]


def test_it_is_named_where_it_was(stages):
    stage = stages("PARTITIONED BY (p string)")
    stage.run("INSERT INTO t PARTITION (p = 'b') VALUES (3, 'c')")
    stage.lose("delta_0000003_0000003_0000")
    assert stage.problems("t PARTITION (p = 'a')") == []
    assert stage.problems("t PARTITION (p = 'b')") == [("p=b", "missing write", detail(3))]


def test_a_lost_change_is_named(stages):
    stage = stages()
    stage.change("DELETE", 1)
    stage.lose("delete_delta_0000003_0000003_0000")
    assert stage.problems() == [("t", "missing write", detail(3))]


def test_it_is_named_under_another_name(stages):
    stage = stages("PARTITIONED BY (p string)")
    stage.run("ALTER TABLE t PARTITION (p = 'a') RENAME TO PARTITION (p = 'b')")
    stage.run("ALTER TABLE t RENAME TO u")
    assert stage.problems("u") == []
    stage.location = Path(stage.store.table(TableName("default", "u")).location)
    stage.lose("delta_0000002_0000002_0000")
    assert stage.problems("u") == [("p=b", "missing write", detail(2))]


def nothing_changed(stage: Stage) -> None:
    assert stage.change("UPDATE", 99).rows_updated == 0
    assert stage.change("DELETE", 99).rows_deleted == 0


def own_rows(stage: Stage) -> None:
    """A block of which nothing is left."""
    stage.run("BEGIN", "INSERT INTO t VALUES (7, 'g')")
    assert stage.change("DELETE", 7).rows_deleted == 1
    stage.run("COMMIT")


def taken_back(stage: Stage) -> None:
    stage.run("BEGIN", "INSERT INTO t VALUES (7, 'g')", "ROLLBACK")


def compacted(kind: str, stage: Stage) -> None:
    stage.change("DELETE", 1)
    stage.run(f"ALTER TABLE t COMPACT '{kind}'")
    stage.session.run_worker()
    assert stage.problems() == []
    stage.session.run_cleaner()


def emptied(stage: Stage) -> None:
    for key in (1, 2):
        stage.change("DELETE", key)
    compacted("major", stage)


def emptied_by_deltas(stage: Stage) -> None:
    for key in (1, 2):
        stage.change("DELETE", key)
    compacted("minor", stage)


def replaced(stage: Stage) -> None:
    stage.run("INSERT OVERWRITE TABLE t VALUES (5, 'e')")


def truncated(stage: Stage) -> None:
    stage.run("TRUNCATE TABLE t")
    for name in ("delta_0000001_0000001_0000", "delta_0000002_0000002_0000"):
        stage.lose(name)


def made_anew(stage: Stage) -> None:
    stage.run("DROP TABLE t", f"CREATE TABLE t (k int, v string) {ACID}")


def kept_house(stage: Stage) -> None:
    stage.session.run_housekeeper()


@pytest.mark.parametrize(
    "happens",
    [
        nothing_changed, own_rows, taken_back, emptied, emptied_by_deltas, replaced, truncated,
        made_anew, kept_house,
    ],
)  # fmt: skip
def test_what_leaves_no_directory_is_no_loss(stages, happens):
    stage = stages()
    happens(stage)
    assert stage.is_whole()
    happens(stage) if happens is not truncated else stage.run("TRUNCATE TABLE t")
    stage.run("INSERT INTO t VALUES (3, 'c')")
    assert stage.is_whole()


@pytest.mark.parametrize("kind", ["minor", "major"])
def test_what_was_compacted_is_no_loss(stages, kind):
    stage = stages()
    compacted(kind, stage)
    assert stage.is_whole()
    assert stage.store.committed_writes(T) == frozenset()


def test_a_dropped_partition_that_comes_back_has_lost_nothing(stages):
    stage = stages("PARTITIONED BY (p string)")
    stage.run("ALTER TABLE t DROP PARTITION (p = 'a')", "ALTER TABLE t ADD PARTITION (p = 'a')")
    assert stage.problems() == []


def test_adopted_directories_are_nobodys_writes(stages, tmp_path):
    stage = stages()
    taken = tmp_path / "taken"
    shutil.copytree(stage.location, taken)
    stage.run(
        f"CREATE TABLE u (k int, v string) STORED AS ORC LOCATION '{taken}'"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    shutil.rmtree(taken / "delta_0000001_0000001_0000")
    assert stage.problems("u") == []


def test_records_of_earlier_releases_are_not_believed(stages):
    """They recorded every write that was locked for, whether it left a directory or not."""
    stage = stages()
    txn = stage.session._open_txn()
    stage.store.allocate_write_id(txn.txn_id, T)
    insert = LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT)
    stage.store.lock(txn.txn_id, [insert], "u", "h")
    stage.store.commit_txn(txn.txn_id)
    assert stage.is_whole()


IDS = ValidWriteIdList.parse("default.t:9:9223372036854775807::8")


@pytest.mark.parametrize(
    ("directory", "covers"),
    [
        ("delta_3_3/bucket_00000", True),
        ("delta_3_3/_orc_acid_version", False),
        ("delta_3_3", False),
        ("delete_delta_0000003_0000003_0001/bucket_00000", True),
        ("delta_0000001_0000005", True),
        ("delta_0000001_0000005_v0000007", True),
        ("base_0000003", True),
        ("base_0000009_v0000007", True),
        ("base_0000002", False),
        ("delta_0000004_0000005", False),
        ("delta_0000001_0000005_v0000006", False),
        ("base_0000009_v0000006", False),
        ("base_0000008", False),
        (".hive-staging", False),
    ],
)
def test_a_directory_covers_what_it_was_made_of(directory, covers):
    """Write id 8 and transaction 6 were aborted. The delta of the write itself has a file."""
    txns = ValidTxnList(TxnId(20), frozenset(), frozenset({TxnId(6)}))
    name, slash, _ = directory.partition("/")
    listed = [ListedFile(directory, 9)] if slash else []
    assert missing_writes(listed, [name], [3], IDS, txns) == ([] if covers else [3])
    if not slash and not name.startswith("delta_3_3"):
        files = [ListedFile(f"{name}/bucket_00000", 9)]
        assert missing_writes(files, [], [3], IDS, txns) == ([] if covers else [3])


def test_a_block_over_several_tables_notes_each(stages):
    stage = stages()
    stage.run(f"CREATE TABLE u (k int, v string) PARTITIONED BY (p string) {ACID}")
    stage.run("BEGIN", "INSERT INTO t VALUES (3, 'c')")
    stage.run("INSERT INTO u VALUES (1, 'a', 'x'), (2, 'b', 'y')", "INSERT INTO t VALUES (4, 'd')")
    stage.run("COMMIT")
    assert (stage.problems(), stage.problems("u")) == ([], [])
    stage.lose("delta_0000003_0000003_0000")
    assert stage.problems() == []  # the other statement's directory has the write id
    stage.lose("delta_0000003_0000003_*")
    assert stage.problems() == [("t", "missing write", detail(3))]

"""What aborted writes left goes, wherever it lies, before the store forgets them."""

import shutil

import pytest

import acidsql
from acidsql.background.aborted_writes import forget_aborted_writes
from acidsql.background.scope import BackgroundScope
from acidsql.errors import AnalysisError, StorageError
from acidsql.layout.dir_names import compaction_attempt
from acidsql.model.ids import WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.ports.catalog import Partition
from acidsql.session.session import Session
from acidsql.txn.entities import LockComponent, LockType, TxnType, WriteOperation
from acidsql.txn.policy import TxnPolicy
from tests.python_engine import PythonEngine

T = TableName("default", "t")
INSERT = [
    LockComponent(LockType.SHARED_READ, "default", "t", None, WriteOperation.INSERT, dynamic=True)
]
ALONE = [LockComponent(LockType.EXCLUSIVE, "default", "t")]
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


class Clock:
    now_ms = 1_000_000

    def __call__(self):
        return self.now_ms


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def session(tmp_path, clock):
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session._store.now_ms = clock
        session.execute(f"CREATE TABLE t (k int, v string) PARTITIONED BY (p string) {ACID}")
        session.execute("INSERT INTO t PARTITION (p = 'a') VALUES (1, 'a')")
        yield session


def dead(session, clock, *names, where=("p=a",)):
    """A write that was killed when it had published these; {} is its write id."""
    opened = session._store.open_locked("ann", "host1", TxnType.DEFAULT, [T], INSERT)
    made = [
        put(session, f"{place}/{name}", opened.write_ids[T]) for place in where for name in names
    ]
    clock.now_ms += 301_000
    session.run_housekeeper()
    return opened.txn_id, made


def put(session, name, write_id):
    """A directory with a copy of the rows of the first one."""
    table = session._store.table(T).location
    source = f"{table}/p=a/delta_0000001_0000001_0000"
    target = f"{table}/{name.format(f'{write_id:07d}')}"
    return shutil.copytree(source, target)


def clean(session, clock):
    clock.now_ms += 301_000
    session.run_cleaner()
    return session._store.aborted_writes()


def age(session, clock):
    """Until nothing is remembered that may be forgotten."""
    clock.now_ms += 601_000
    session.run_housekeeper()


def exists(session, *paths):
    return [session._storage.exists(path) for path in paths]


def states(session):
    return [row[1] for row in session.execute("SHOW TRANSACTIONS").fetchall()]


def test_what_was_written_goes_wherever_it_lies(session, clock):
    """In a partition, in one that nobody knows, with and without files."""
    delta = "delta_{0}_{0}_0000"
    _, made = dead(session, clock, delta, "delete_" + delta, where=("p=a", "p=new"))
    assert exists(session, *made) == [True] * 4
    assert clean(session, clock) == []
    assert exists(session, *made) == [False] * 4
    age(session, clock)
    assert states(session) == []
    session.execute("ALTER TABLE t ADD PARTITION (p = 'new')")
    assert session._store.valid_write_ids([T], session._store.valid_txns())[T].is_valid(2)
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_a_base_an_empty_directory_and_a_compactors_go(session, clock, tmp_path):
    txn_id, made = dead(session, clock, "base_{0}", "delta_{0}_{0}_0001")
    shutil.rmtree(made[1])
    session._storage.make_directory(made[1])
    hidden = f"{tmp_path}/w/t/p=a/" + compaction_attempt(txn_id, 32 * "a") + "_base_0000002"
    shutil.copytree(made[0], hidden)
    assert clean(session, clock) == []
    assert exists(session, *made, hidden) == [False] * 3


def test_a_partition_elsewhere_is_looked_at(session, clock, tmp_path):
    session.execute(f"ALTER TABLE t ADD PARTITION (p = 'far') LOCATION '{tmp_path}/far'")
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000", where=("../../far",))
    assert exists(session, f"{tmp_path}/far/delta_0000002_0000002_0000") == [True]
    assert clean(session, clock) == []
    assert exists(session, made) == [False]


def test_a_partition_in_a_hidden_directory_is_looked_at(session, clock, tmp_path):
    """Hive lets a partition have such a one."""
    place = tmp_path / "w" / "t" / "_data" / "b"
    shutil.copytree(tmp_path / "w" / "t" / "p=a", place)
    session._store.add_partitions(T, [Partition(PartitionName.of({"p": "b"}), str(place))])
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000", where=("_data/b",))
    assert exists(session, made) == [True]
    assert clean(session, clock) == []
    assert exists(session, made, f"{place}/delta_0000001_0000001_0000") == [False, True]


@pytest.mark.parametrize("name", ["delta_0000002_0000002_0000", "_data", "x/base_3", ".x/y"])
def test_no_partition_is_made_where_the_cleaner_looks_for_writes(session, tmp_path, name):
    place = tmp_path / "w" / "t" / name
    with pytest.raises(AnalysisError, match="a name for acidsql's own files"):
        session.execute(f"ALTER TABLE t ADD PARTITION (p = 'b') LOCATION '{place}'")
    with pytest.raises(AnalysisError, match="a name for acidsql's own files"):
        session.execute(f"ALTER TABLE t PARTITION (p = 'a') SET LOCATION '{place}'")
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_a_directory_that_the_catalog_names_is_not_removed(session, clock, tmp_path):
    place = tmp_path / "w" / "t" / "delta_0000002_0000002_0000"
    shutil.copytree(tmp_path / "w" / "t" / "p=a", place / "inner")
    known = Partition(PartitionName.of({"p": "b"}), f"{place}/inner")
    session._store.add_partitions(T, [known])
    dead(session, clock, "delta_{0}_{0}_0000")
    clean(session, clock)
    assert (place / "inner" / "delta_0000001_0000001_0000").exists()


def test_a_partition_that_is_a_link_is_looked_at(session, clock, tmp_path):
    """The catalog names it, wherever it leads to."""
    session.execute("ALTER TABLE t ADD PARTITION (p = 'far')")
    shutil.move(tmp_path / "w/t/p=far", tmp_path / "far")
    (tmp_path / "w/t/p=far").symlink_to(tmp_path / "far")
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000", where=("p=far",))
    assert clean(session, clock) == []
    assert exists(session, made) == [False]
    assert (tmp_path / "far").exists()


def test_nothing_is_removed_behind_a_link_that_the_catalog_does_not_know(session, clock, tmp_path):
    """It may lead to another table, whose write ids say something else; nothing is forgotten."""
    (tmp_path / "far").mkdir()
    (tmp_path / "w/t/p=far").symlink_to(tmp_path / "far")
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000", where=("p=far",))
    assert clean(session, clock) != []
    assert exists(session, made) == [True]
    assert session.failures["cleaner"] == 1
    (tmp_path / "w/t/p=far").unlink()
    assert clean(session, clock) == []


def test_nothing_is_forgotten_while_its_files_are_there(session, clock, monkeypatch):
    """It would come to be seen."""
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000")

    def refuse(path):
        raise StorageError(f"cannot remove {path}")

    with monkeypatch.context() as patched:
        patched.setattr(session._storage, "remove", refuse)
        assert clean(session, clock) != []
    age(session, clock)
    assert exists(session, made) == [True]
    assert session.failures["cleaner"] == 1
    assert states(session) == ["ABORTED"]
    assert clean(session, clock) == []


def test_what_shares_a_delta_with_others_is_remembered(session, clock):
    """A reader tells the rows of a streamed batch apart by what the store remembers."""
    _, [made] = dead(session, clock, "delta_0000001_{0}")
    assert clean(session, clock) != []
    age(session, clock)
    assert exists(session, made) == [True]
    assert states(session) == ["ABORTED"]


def test_a_dead_compaction_up_to_the_same_write_id_makes_nothing_forgotten(session, clock):
    """The store has both transactions with this write id; the rows in the delta are the write's."""
    written, [made] = dead(session, clock, "delta_0000001_{0}")
    session.execute("ALTER TABLE t PARTITION (p = 'a') COMPACT 'minor'")
    store = session._store
    entry = store.next_compaction("worker")
    compaction = store.open_txn("ann", "host1", TxnType.COMPACTION)
    store.compaction_started(entry.compaction_id, compaction, WriteId(2))
    store.abort_txn(compaction)
    assert [(c.txn_id, c.write_id) for c in clean(session, clock)] == [(written, 2)]
    age(session, clock)
    assert exists(session, made) == [True]
    assert states(session) == ["ABORTED"]


@pytest.mark.parametrize("name", ["delta_0000001_0000003_v0000009", "delete_delta_0000001_0000003"])
def test_what_a_compactor_has_left_out_is_forgotten(session, clock, name):
    """A compaction that came before the clean-up spans the write id, and has none of its rows."""
    _, [gone] = dead(session, clock, "delta_{0}_{0}_0000")
    session.execute("INSERT INTO t PARTITION (p = 'a') VALUES (3, 'c')")
    kept = put(session, f"p=a/{name}", 0)
    assert clean(session, clock) == []
    assert exists(session, gone, kept) == [False, True]


def test_what_is_missing_is_not_empty(session, clock, tmp_path):
    """With the table's directory away for a while, nobody can say what is in it."""
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000")
    shutil.move(tmp_path / "w" / "t", tmp_path / "away")
    assert clean(session, clock) != []
    shutil.move(tmp_path / "away", tmp_path / "w" / "t")
    assert clean(session, clock) == []
    assert exists(session, made) == [False]


def test_a_table_that_is_being_defined_is_left_to_the_next_round(session, clock):
    """Its directories may be on their way elsewhere."""
    _, [made] = dead(session, clock, "delta_{0}_{0}_0000")
    clock.now_ms += 301_000
    store = session._store
    definition = store.open_locked("bob", "host2", TxnType.DEFAULT, [], ALONE)
    scope = BackgroundScope(store, store, session._storage, session._open_txn, session._supervisor)
    assert forget_aborted_writes(scope) == 0
    assert exists(session, made) == [True]
    assert len(store.aborted_writes()) == 1
    store.commit_txn(definition.txn_id)
    assert forget_aborted_writes(scope) == 1
    assert exists(session, made) == [False]


def test_whoever_was_aborted_just_now_is_left_alone(session, clock):
    """It may still be about to remove its files itself."""
    dead(session, clock, "delta_{0}_{0}_0000")
    clock.now_ms += 301_000
    opened = session._store.open_locked("ann", "host1", TxnType.DEFAULT, [T], INSERT)
    late = put(session, "p=a/delta_{0}_{0}_0000", opened.write_ids[T])
    session._store.abort_txn(opened.txn_id)
    session.run_cleaner()
    assert exists(session, late) == [True]
    assert session._store.aborted_writes() == []
    assert states(session).count("ABORTED") == 2
    assert clean(session, clock) == []
    assert exists(session, late) == [False]


def test_a_change_that_matches_nothing_leaves_no_record(session, tmp_path):
    """Of partitions that its lock might have reached."""
    store, storage = session._store, session._storage
    engine = PythonEngine(storage, None, {})
    with Session(
        store=store, engine=engine, storage=storage, policy=TxnPolicy(),
        warehouse=f"{tmp_path}/w", user="ann", host="host1",
    ) as changing:  # fmt: skip
        for key, updated in ((99, 0), (1, 1)):
            engine.key = key
            done = changing.execute("UPDATE t SET v = 'b' WHERE k = ?", [key])
            assert done.rows_updated == updated
    assert [c.partition for c in store.completed] == ["p=a", "p=a"]
    assert store.components == {}

"""Directories with write ids and compactors' ids of another numbering."""

import pytest

from acidsql.errors import AnalysisError, TxnError, UnsupportedStatementError
from acidsql.layout.dir_names import UNFINISHED_FILE
from acidsql.model.names import TableName
from acidsql.txn.entities import TxnType

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
T = TableName("default", "t")


def place(directory, *names):
    for name in names:
        (directory / name).mkdir(parents=True)
        (directory / name / "bucket_00000").write_bytes(b"ORC")
    return directory


def adopt(session, directory, columns="(id int)"):
    session.execute(
        f"CREATE TABLE t {columns} STORED AS ORC LOCATION '{directory}'"
        " TBLPROPERTIES ('transactional' = 'true')"
    )


def write_ids(session):
    store = session._store
    return str(store.valid_write_ids([T], store.valid_txns())[T]).split(":", 1)[1]


def test_write_ids_go_on_above_every_name(session, tmp_path):
    adopt(
        session, place(tmp_path / "d", "base_3", "delta_4_9_0001", "delete_delta_0000012_0000012")
    )
    assert write_ids(session) == "12:9223372036854775807::"
    assert not session._store.find_table(T).is_unchanged
    assert session.execute("INSERT INTO t VALUES (1)").write_ids == {"default.t": 13}


def test_txn_ids_go_on_above_every_compactor(session, tmp_path):
    adopt(session, place(tmp_path / "d", "base_0000003_v0000500"))
    assert session.execute("INSERT INTO t VALUES (1)").txn_id == 501


def test_original_files_take_the_ids_kept_free_for_them(session, tmp_path):
    place(tmp_path / "d", "delta_3_3")
    (tmp_path / "d" / "000000_0_copy_1").write_bytes(b"ORC")
    adopt(session, tmp_path / "d")
    assert session.execute("INSERT INTO t VALUES (1)").write_ids == {"default.t": 10_000_001}


def test_a_compactor_whose_id_is_aborted_here(session, tmp_path):
    txn = session._store.open_txn("ann", "host1")
    session._store.abort_txn(txn)
    place(tmp_path / "d", f"base_0000003_v{txn:07d}")
    with pytest.raises(TxnError, match=f"transaction {txn} is open or aborted here"):
        adopt(session, tmp_path / "d")
    assert session._store.find_table(T) is None


def test_a_reader_older_than_a_compactor_would_not_see_its_rows(session, tmp_path):
    reader = session._store.open_txn("ann", "host1", TxnType.READ_ONLY)
    place(tmp_path / "d", "base_0000003_v0000500")
    with pytest.raises(TxnError, match=f"transaction {reader} is open and older"):
        adopt(session, tmp_path / "d")
    session._store.commit_txn(reader)
    adopt(session, tmp_path / "d")
    assert write_ids(session) == "3:9223372036854775807::"


@pytest.mark.parametrize("kind", ["STORED AS PARQUET", ACID])
def test_rows_of_a_create_table_as_that_was_killed(session, tmp_path, kind):
    place(tmp_path / "w" / "t", "delta_1_1_0")
    (tmp_path / "w" / "t" / UNFINISHED_FILE).write_bytes(b"")
    with pytest.raises(UnsupportedStatementError, match="CREATE TABLE AS that did not finish"):
        session.execute(f"CREATE TABLE t (id int) {kind}")
    (tmp_path / "w" / "t" / "delta_1_1_0" / "bucket_00000").unlink()
    session.execute(f"CREATE TABLE t (id int) {kind}")
    assert session._store.find_table(T).location == str(tmp_path / "w" / "t")


@pytest.mark.parametrize("name", ["part-00000.orc", "delta_x/bucket_00000", "_x.d/../y"])
def test_files_that_nobody_would_read(session, tmp_path, name):
    file = tmp_path / "d" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "d" / "_x.d").mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"ORC")
    with pytest.raises(UnsupportedStatementError, match="not a file of a full-ACID table"):
        adopt(session, tmp_path / "d")


def test_a_bucket_that_the_table_does_not_have(session, tmp_path):
    place(tmp_path / "d", "delta_1_1")
    (tmp_path / "d" / "delta_1_1" / "bucket_00002").write_bytes(b"ORC")
    columns = "(id int) CLUSTERED BY (id) INTO 2 BUCKETS"
    with pytest.raises(UnsupportedStatementError, match=r"bucket 2, but default\.t has 2"):
        adopt(session, tmp_path / "d", columns)


@pytest.fixture
def parts(session):
    """A partitioned table whose write id 1 is committed and 2 aborted."""
    session.execute(f"CREATE TABLE t (id int) PARTITIONED BY (p int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1)")
    store = session._store
    aborted = store.open_txn("ann", "host1")
    store.allocate_write_id(aborted, T)
    store.abort_txn(aborted)
    return session


def test_a_partition_with_higher_ids_is_seen_at_once(parts, tmp_path):
    place(tmp_path / "d", "delta_3_40")
    parts.execute(f"ALTER TABLE t ADD PARTITION (p = 2) LOCATION '{tmp_path}/d'")
    assert write_ids(parts) == "41:9223372036854775807::2"
    assert parts.execute("INSERT INTO t VALUES (1, 1)").write_ids == {"default.t": 42}


@pytest.mark.parametrize("name", ["delta_2_2", "delta_1_3", "base_2", "delete_delta_2_9"])
def test_a_partition_under_an_id_that_is_aborted_here(parts, tmp_path, name):
    place(tmp_path / "d", name)
    with pytest.raises(UnsupportedStatementError, match=r"open or aborted in default\.t"):
        parts.execute(f"ALTER TABLE t ADD PARTITION (p = 2) LOCATION '{tmp_path}/d'")
    assert len(parts.execute("SHOW PARTITIONS t").fetchall()) == 1


def test_a_base_above_a_write_that_is_still_open(parts, tmp_path):
    store = parts._store
    store.allocate_write_id(store.open_txn("ann", "host1"), T)
    place(tmp_path / "d", "base_40")
    with pytest.raises(UnsupportedStatementError, match=r"open or aborted in default\.t"):
        parts.execute(f"ALTER TABLE t ADD PARTITION (p = 2) LOCATION '{tmp_path}/d'")


def test_what_an_aborted_write_left_in_the_table_stays_hidden(parts, tmp_path):
    directory = place(tmp_path / "w" / "t" / "p=2", "delta_2_2_0000", "delta_3_3")
    message = parts.execute("MSCK REPAIR TABLE t").message
    assert message.splitlines()[1:] == [
        f"Repair: Skipped {directory}/delta_2_2_0000, whose write id is aborted in default.t:"
        " no query sees its rows"
    ]
    assert len(parts.execute("SHOW PARTITIONS t").fetchall()) == 2
    assert write_ids(parts).endswith(":2")


def test_what_a_compactor_wrote_up_to_an_aborted_write_is_not_skipped(parts, tmp_path):
    of_compactors = place(tmp_path / "w" / "t" / "p=2", "base_2_v0000300")
    place(tmp_path / "w" / "t" / "p=3", "base_2")
    (tmp_path / "w" / "t" / "p=3" / "base_2" / "_metadata_acid").write_text(
        '{"thisFileVersion":"0","dataFormat":"compacted"}'
    )
    of_a_writer = place(tmp_path / "w" / "t" / "p=4", "base_2")
    message = parts.execute("MSCK REPAIR TABLE t").message
    assert of_compactors.name in message
    assert [line for line in message.splitlines() if "Skipped" in line] == [
        f"Repair: Skipped {of_a_writer}/base_2, whose write id is aborted in default.t:"
        " no query sees its rows"
    ]


def test_leftovers_in_a_known_partition_are_not_told(parts, tmp_path):
    place(tmp_path / "w" / "t" / "p=1", "delta_2_2_0000", "delta_9_9")
    message = parts.execute("MSCK REPAIR TABLE t").message
    assert message == "Repair: Took in write ids up to 9 of default.t"


def test_two_directories_of_one_partition(parts, tmp_path):
    place(tmp_path / "w" / "t" / "p=01", "delta_1_1")
    with pytest.raises(AnalysisError, match="two directories stand for the partition p=1"):
        parts.execute("MSCK REPAIR TABLE t")


def test_repair_drops_what_has_no_directory(parts, tmp_path):
    parts.execute("ALTER TABLE t ADD PARTITION (p = 5)")
    (tmp_path / "w" / "t" / "p=5").rmdir()
    parts.execute("MSCK REPAIR TABLE t")
    assert len(parts.execute("SHOW PARTITIONS t").fetchall()) == 2
    answer = parts.execute("MSCK REPAIR TABLE t DROP PARTITIONS")
    assert answer.message == "Repair: Dropped partition from metastore default.t:p=5"
    assert parts.execute("SHOW PARTITIONS t").fetchall() == [("p=1",)]


def test_a_slash_at_the_end_is_no_other_directory(parts, tmp_path):
    parts.execute(f"ALTER TABLE t ADD PARTITION (p = 2) LOCATION '{tmp_path}/d/'")
    assert [p.location for p in parts._store.partitions(T)][1] == f"{tmp_path}/d"
    with pytest.raises(AnalysisError, match=r"belongs to table default\.t"):
        parts.execute(f"ALTER TABLE t ADD PARTITION (p = 3) LOCATION '{tmp_path}/x/../d//'")


def test_an_empty_value_is_the_partition_of_null_wherever_it_lies(session, tmp_path):
    session.execute(f"CREATE TABLE n (id int) PARTITIONED BY (p string) {ACID}")
    session.execute(f"ALTER TABLE n ADD PARTITION (p = NULL) LOCATION '{tmp_path}/elsewhere'")
    session.execute("INSERT INTO n PARTITION (p = '') VALUES (1)")
    session.execute("INSERT INTO n VALUES (2, ''), (3, 'x')")
    written = sorted(d.name for d in (tmp_path / "elsewhere").iterdir())
    assert written == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]
    assert [d.name for d in (tmp_path / "w" / "n").iterdir()] == ["p=x"]


def test_partitions_of_one_statement_have_a_directory_each(session, tmp_path):
    session.execute(f"CREATE TABLE n (id int) PARTITIONED BY (p int) {ACID}")
    add = f"ALTER TABLE n ADD PARTITION (p = 1) LOCATION '{tmp_path}/x' PARTITION (p = 2) LOCATION"
    for second in ("x", "x/y", "z/../x/"):
        with pytest.raises(AnalysisError, match=r"belongs to table default\.n"):
            session.execute(f"{add} '{tmp_path}/{second}'")
    assert session.execute("SHOW PARTITIONS n").fetchall() == []
    session.execute(f"{add} '{tmp_path}/y'")
    assert session.execute("SHOW PARTITIONS n").fetchall() == [("p=1",), ("p=2",)]


IMPOSSIBLE = [
    "base_0000001_v9223372036854775807",
    "base_0000001_v9223372036854775805",
    "base_9223372036854775806",
    "delta_9223372036854775807_9223372036854775807_0000",
    "delta_0000001_9223372036854775807",
    f"delta_{2**53}_{2**53}_0000",
    "delta_0000001_0000001_4096",
    "delete_delta_0000001_0000001_2147483647",
]


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_numbers_that_nobody_can_have_had(session, tmp_path, name):
    with pytest.raises(UnsupportedStatementError, match="which no writer can have had"):
        adopt(session, place(tmp_path / "d", name))
    assert session._store.find_table(T) is None
    session.execute(f"CREATE TABLE t (id int) PARTITIONED BY (p int) {ACID}")
    with pytest.raises(UnsupportedStatementError, match="which no writer can have had"):
        session.execute(f"ALTER TABLE t ADD PARTITION (p = 1) LOCATION '{tmp_path}/d'")
    place(tmp_path / "w" / "t" / "p=2", name)
    with pytest.raises(UnsupportedStatementError, match="which no writer can have had"):
        session.execute("MSCK REPAIR TABLE t")
    assert session.execute("INSERT INTO t VALUES (1, 3)").write_ids == {"default.t": 1}
    session.execute(f"CREATE TABLE other (id int) {ACID}")
    session.execute("INSERT INTO other VALUES (1)")


@pytest.mark.parametrize("name", IMPOSSIBLE[:5])
def test_such_a_directory_in_a_table_stops_nobody(session, tmp_path, name):
    session.execute(f"CREATE TABLE t (id int) {ACID}")
    place(tmp_path / "w" / "t", name)
    session.execute("INSERT INTO t VALUES (1)")
    assert session.execute("MSCK REPAIR TABLE t").message == "nothing to repair"
    session.execute("INSERT INTO t VALUES (2)")
    found = session.execute("CHECK TABLE t").fetchall()
    assert any(problem == "unknown write id" for _, _, problem, _ in found) or "_v" in name


def test_the_highest_ids_that_can_be(session, tmp_path):
    highest = 2**53 - 1
    adopt(session, place(tmp_path / "d", f"base_{highest}_v{highest}"))
    done = session.execute("INSERT INTO t VALUES (1)")
    assert (done.write_ids, done.txn_id) == ({"default.t": highest + 1}, highest + 1)


def test_buckets_beyond_those_of_row_ids(session, tmp_path):
    place(tmp_path / "d", "base_3")
    (tmp_path / "d" / "base_3" / "bucket_04096").write_bytes(b"ORC")
    with pytest.raises(UnsupportedStatementError, match="holds bucket 4096"):
        adopt(session, tmp_path / "d")

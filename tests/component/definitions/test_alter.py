"""ALTER TABLE when something fails, or somebody else comes first."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

import acidsql
from acidsql.errors import (
    AnalysisError,
    CorruptFileError,
    DatabaseExistsError,
    PartitionNotFoundError,
    SqlSyntaxError,
    StorageError,
    TableNotFoundError,
    UnsupportedStatementError,
)
from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.txn.entities import LockComponent, LockType

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
T = TableName("default", "t")


def files(directory):
    return {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}


@pytest.fixture
def parts(session):
    session.execute(f"CREATE TABLE t (id int) PARTITIONED BY (p int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    return session


def failing(session, monkeypatch, verb):
    def fail(*args):
        raise StorageError("the disk is full")

    monkeypatch.setattr(session._store, verb, fail)


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("ALTER TABLE t DROP PARTITION (p > 0)", "drop_partitions"),
        ("ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 3)", "rename_partition"),
        ("ALTER TABLE t RENAME TO u", "rename_table"),
    ],
)
def test_a_store_that_fails_leaves_the_directories_as_they_were(
    parts, tmp_path, monkeypatch, sql, verb
):
    before = files(tmp_path / "w" / "t")
    failing(parts, monkeypatch, verb)
    with pytest.raises(StorageError, match="the disk is full"):
        parts.execute(sql)
    assert files(tmp_path / "w" / "t") == before
    assert len(parts.execute("SHOW PARTITIONS t").fetchall()) == 2
    assert parts.execute("SHOW LOCKS").fetchall() == []


def test_a_directory_in_the_way_leaves_the_catalog_as_it_was(parts, tmp_path):
    (tmp_path / "w" / "t" / "p=3").mkdir()
    with pytest.raises(StorageError, match="the target exists"):
        parts.execute("ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 3)")
    (tmp_path / "w" / "u").mkdir()
    with pytest.raises(AnalysisError, match="already exists"):
        parts.execute("ALTER TABLE t RENAME TO u")
    assert parts.execute("SHOW PARTITIONS t").fetchall() == [("p=1",), ("p=2",)]
    assert parts.execute("SHOW TABLES").fetchall() == [("t",)]


def test_an_insert_that_waited_for_a_rename_is_planned_anew(parts, monkeypatch):
    """Its column would otherwise be taken for one that is not named: NULL in the place of a 7."""
    store = parts._store
    ddl = store.open_txn("ann", "host1")
    store.lock(ddl, [LockComponent(LockType.EXCLUSIVE, "default", "t")], "ann", "host1")

    def rename_then_go_on(lock_id):
        table = store.table(T)
        if table.columns[0].name == "id":
            store.alter_table(replace(table, columns=(replace(table.columns[0], name="key"),)))
            store.commit_txn(ddl)
        return check_lock(lock_id)

    check_lock = store.check_lock
    monkeypatch.setattr(store, "check_lock", rename_then_go_on)
    with pytest.raises(AnalysisError, match='no column "id"'):
        parts.execute("INSERT INTO t (id, p) VALUES (7, 1)")
    assert parts.execute("SHOW LOCKS").fetchall() == []


PLAIN = {"bucketing_version": "2"}


@pytest.fixture
def plain(session, tmp_path):
    """A plain table with two files."""
    session.execute(f"CREATE TABLE t (id int) {ACID}")
    session._store.alter_table(replace(session._store.table(T), parameters=PLAIN))
    for name in ("000000_0", "000001_0_copy_2"):
        pa_orc.write_table(pa.table({"id": [1]}), tmp_path / "w" / "t" / name)
    return session


def test_a_plain_table_becomes_full_acid(plain, tmp_path):
    plain.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    assert plain._store.table(T).parameters == {
        **PLAIN,
        "transactional": "true",
        "transactional_properties": "default",
    }
    assert files(tmp_path / "w" / "t") == {"000000_0", "000001_0_copy_2"}
    assert plain.execute("INSERT INTO t VALUES (1)").write_ids == {"default.t": 10_000_001}


def test_columns_that_a_plain_table_found_by_name_are_found_so_for_ever(plain, tmp_path):
    plain.execute("ALTER TABLE t ADD COLUMN more int")
    path = tmp_path / "w" / "t" / "000002_0"
    pa_orc.write_table(pa.table({"more": [2], "ID": [1]}), path)
    plain.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    assert plain._store.table(T).matches_by_position(default=True) is False


def changing(store, monkeypatch, change):
    """A definition that holds the table when somebody else asks for it, makes a change and ends."""
    ddl = store.open_txn("ann", "host1")
    store.lock(ddl, [LockComponent(LockType.EXCLUSIVE, "default", "t")], "ann", "host1")
    check_lock, changes = store.check_lock, [change]

    def change_then_go_on(lock_id):
        if changes:
            changes.pop()()
            store.commit_txn(ddl)
        return check_lock(lock_id)

    monkeypatch.setattr(store, "check_lock", change_then_go_on)


@pytest.mark.parametrize("said", ["'a' = 'b'", "'transactional' = 'true', 'a' = 'b'"])
def test_what_is_set_while_a_statement_waits_stays(plain, monkeypatch, said):
    store = plain._store
    old = replace(store.table(T), parameters={**PLAIN, "c": "old"}, comment="old")
    new = replace(old, parameters={**PLAIN, "c": "new"}, comment="new")
    store.alter_table(old)
    changing(store, monkeypatch, lambda: store.alter_table(new))
    plain.execute(f"ALTER TABLE t SET TBLPROPERTIES ({said})")
    table = store.table(T)
    noted = {key: table.parameters.get(key) for key in ("a", "c", "comment")}
    assert noted == {"a": "b", "c": "new", "comment": None}
    assert table.comment == "new"


@pytest.mark.parametrize(
    ("meanwhile", "said", "message"),
    [
        ({"transactional": "true"}, "'EXTERNAL' = 'TRUE'", "cannot be converted to external"),
        ({"EXTERNAL": "TRUE"}, "'transactional' = 'true'", "because it's an external table"),
    ],
)
def test_what_became_wrong_while_a_statement_waited(plain, monkeypatch, meanwhile, said, message):
    store = plain._store
    table = replace(store.table(T), parameters={**PLAIN, **meanwhile})
    changing(store, monkeypatch, lambda: store.alter_table(table))
    with pytest.raises(AnalysisError, match=message):
        plain.execute(f"ALTER TABLE t SET TBLPROPERTIES ({said})")
    assert store.table(T) == table


def test_a_new_partition_of_a_table_that_was_moved_while_a_statement_waited(
    session, monkeypatch, tmp_path
):
    session.execute(f"CREATE TABLE t (id int) PARTITIONED BY (k int) {ACID}")
    store, moved = session._store, f"{tmp_path}/w/moved"
    (tmp_path / "w" / "moved").mkdir()
    table = replace(store.table(T), location=moved)
    changing(store, monkeypatch, lambda: store.alter_table(table))
    session.execute("ALTER TABLE t ADD PARTITION (k = 1)")
    assert [p.location for p in store.partitions(T)] == [f"{moved}/k=1"]


@pytest.mark.parametrize(
    "change",
    ["CHANGE COLUMN id id string", "REPLACE COLUMNS (id string)", "RENAME COLUMN id TO other"],
)
def test_columns_of_a_table_that_became_another_kind_while_a_statement_waited(
    session, monkeypatch, change
):
    session.execute(f"CREATE TABLE t (id int) {ACID}")
    store = session._store
    table = replace(store.table(T), parameters=PLAIN)
    changing(store, monkeypatch, lambda: store.alter_table(table))
    with pytest.raises(AnalysisError, match="altered by another statement meanwhile"):
        session.execute(f"ALTER TABLE t {change}")
    assert store.table(T) == table


def test_a_conversion_may_set_the_comment(plain):
    plain.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true', 'comment' = 'x')")
    table = plain._store.table(T)
    assert (table.comment, "comment" in table.parameters) == ("x", False)


def test_a_plain_table_becomes_insert_only(plain, tmp_path):
    plain.execute(
        "ALTER TABLE t SET TBLPROPERTIES"
        " ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
    )
    delta = "delta_0000001_0000001_0000"
    assert files(tmp_path / "w" / "t") == {f"{delta}/000000_0", f"{delta}/000001_0_copy_2"}
    lists = plain._store.valid_write_ids([T], plain._store.valid_txns())
    assert str(lists[T]) == "default.t:1:9223372036854775807::"
    with pytest.raises(AnalysisError, match="cannot be altered after the table is created"):
        plain.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional_properties' = 'default')")


def test_a_conversion_of_files_that_cannot_be_read_takes_no_write_id(plain, tmp_path):
    """A metastore makes no table full-ACID that has one: it wants to give the first one itself."""
    (tmp_path / "w" / "t" / "000002_0").write_bytes(b"no ORC")
    with pytest.raises(CorruptFileError):
        plain.execute(
            "ALTER TABLE t SET TBLPROPERTIES"
            " ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
        )
    lists = plain._store.valid_write_ids([T], plain._store.valid_txns())
    assert lists[T].high_watermark == 0


def test_a_failed_conversion_moves_the_files_back(plain, tmp_path, monkeypatch):
    failing(plain, monkeypatch, "alter_table")
    with pytest.raises(StorageError):
        plain.execute(
            "ALTER TABLE t SET TBLPROPERTIES"
            " ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
        )
    # Hive reads no plain table that has a directory with the name of a delta.
    found = sorted(path.name for path in (tmp_path / "w" / "t").iterdir())
    assert found == ["000000_0", "000001_0_copy_2"]


@pytest.mark.parametrize("name", ["part-00000.orc", "_SUCCESS.orc/../x", "delta_1_1/bucket_00000"])
def test_files_that_cannot_become_original_ones(plain, tmp_path, name):
    file = tmp_path / "w" / "t" / name
    (tmp_path / "w" / "t" / "_SUCCESS.orc").mkdir()
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"")
    with pytest.raises(AnalysisError, match="Unexpected data file name format"):
        plain.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    assert plain._store.table(T).parameters == PLAIN


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("'transactional' = 'yes'", "may only have value 'true'"),
        ("'transactional_properties' = 'insert_only'", "without 'transactional'"),
        ("'transactional' = 'true', 'transactional_properties' = 'x'", "unknown value x"),
        ("'transactional' = 'true', 'EXTERNAL' = 'TRUE'", "because it's an external table"),
    ],
)
def test_conversions_that_are_refused(plain, properties, message):
    with pytest.raises(AnalysisError, match=message):
        plain.execute(f"ALTER TABLE t SET TBLPROPERTIES ({properties})")
    assert plain._store.table(T).parameters == PLAIN


def test_an_external_table_is_converted_when_it_is_no_longer_one(session):
    session.execute("CREATE EXTERNAL TABLE e (id int) STORED AS ORC")
    session.execute("INSERT INTO e VALUES (1)")
    convert = "ALTER TABLE e SET TBLPROPERTIES ('transactional' = 'true')"
    with pytest.raises(AnalysisError, match="because it's an external table"):
        session.execute(convert)
    session.execute("ALTER TABLE e SET TBLPROPERTIES ('EXTERNAL' = 'FALSE')")
    session.execute(convert)
    assert session.execute("INSERT INTO e VALUES (2)").write_ids == {"default.e": 10_000_001}


def test_a_compaction_holds_a_lock_on_what_it_writes_into(tmp_path):
    """Otherwise a partition could be dropped, and come back with the directory that it makes."""
    config = {"hive.lock.numretries": 0}
    with acidsql.connect(tmp_path / "w", metastore="memory:", config=config) as session:
        session.execute(f"CREATE TABLE t (id int) {ACID}")
        session.execute("INSERT INTO t VALUES (1)")
        session.execute("INSERT INTO t VALUES (2)")
        store = session._store
        ddl = store.open_txn("ann", "host1")
        store.lock(ddl, [LockComponent(LockType.EXCLUSIVE, "default", "t")], "ann", "host1")
        session.execute("ALTER TABLE t COMPACT 'major'")
        assert session.run_worker() == 0
        (entry,) = store.show_compactions()
        assert "was not granted in time" in entry.error_message
        assert not any(path.startswith("base") for path in files(tmp_path / "w" / "t"))


def test_what_is_noted_about_files_ends_when_others_are_adopted(parts, tmp_path):
    table = parts._store.table(T)
    assert table.is_unchanged
    parts.execute("ALTER TABLE t ADD PARTITION (p = 3)")
    assert parts._store.table(T) == table
    (tmp_path / "w" / "t" / "p=4" / "delta_1_1").mkdir(parents=True)
    (tmp_path / "w" / "t" / "p=4" / "delta_1_1" / "bucket_00000").write_bytes(b"ORC")
    parts.execute("MSCK REPAIR TABLE t")
    assert parts._store.table(T) == replace(table, parameters=table.noted)


def test_what_is_noted_about_files_ends_when_columns_change(parts):
    parts.execute("ALTER TABLE t ADD COLUMNS (v string)")
    assert not parts._store.table(T).is_unchanged


def test_a_table_like_another_one_is_empty_and_so_unchanged(parts):
    parts.execute("ALTER TABLE t ADD COLUMNS (v string)")
    parts.execute("CREATE TABLE u LIKE t")
    assert parts._store.table(TableName("default", "u")).is_unchanged


def test_show_create_table_makes_the_same_table(session, tmp_path):
    session.execute(
        "CREATE TABLE t (id int COMMENT 'it\\'s \\\\ key', `a b` map<string,array<struct<x:int>>>)"
        " COMMENT 'ü' PARTITIONED BY (p decimal(5,2), `q r` string COMMENT 'c')"
        " CLUSTERED BY (id, `a b`) INTO 3 BUCKETS STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true', 'x\\'y' = 'z')"
    )
    lines = [line for (line,) in session.execute("SHOW CREATE TABLE t").fetchall()]
    table = session._store.table(T)
    session.execute("DROP TABLE t")
    session.execute("\n".join(lines))
    assert replace(session._store.table(T), created_s=0) == replace(table, created_s=0)
    assert lines[0] == "CREATE TABLE `default`.`t`("


def test_files_of_an_external_table_outlive_its_database(session, tmp_path):
    session.execute("CREATE DATABASE db")
    session.execute("CREATE EXTERNAL TABLE db.e (id int) STORED AS ORC")
    session.execute("INSERT INTO db.e VALUES (1)")
    session.execute(f"CREATE TABLE db.t (id int) {ACID}")
    session.execute("INSERT INTO db.t VALUES (1)")
    message = session.execute("DROP DATABASE db CASCADE").message
    assert message == f"OK\n{tmp_path}/w/db.db holds files and stays."
    assert files(tmp_path / "w" / "db.db") == {"e/000000_0"}


def test_another_session_has_made_the_database_meanwhile(session, monkeypatch):
    session.execute("CREATE DATABASE db")
    monkeypatch.setattr(session._store, "databases", lambda: ["default"])
    message = session.execute("CREATE DATABASE IF NOT EXISTS db").message
    assert message == "database db exists already"
    with pytest.raises(DatabaseExistsError):
        session.execute("CREATE DATABASE db")


def test_another_session_makes_the_database_while_its_directory_is_compared(session, monkeypatch):
    session.execute("CREATE DATABASE db")
    before, every = iter([["default"], ["default"]]), session._store.databases
    monkeypatch.setattr(session._store, "databases", lambda: next(before, None) or every())
    message = session.execute("CREATE DATABASE IF NOT EXISTS db").message
    assert message == "database db exists already"


def test_a_database_without_files_leaves_no_directory(session, tmp_path):
    session.execute("CREATE DATABASE db")
    session.execute(f"CREATE TABLE db.t (id int) {ACID}")
    session.execute("INSERT INTO db.t VALUES (1)")
    session.execute("DROP DATABASE db CASCADE")
    assert not (tmp_path / "w" / "db.db").exists()


def test_a_partition_of_an_external_table_keeps_its_name(session):
    """Its directory stays, so that the next partition of the name would have its rows too."""
    session.execute("CREATE EXTERNAL TABLE e (id int) PARTITIONED BY (p int) STORED AS ORC")
    session.execute("INSERT INTO e VALUES (1, 1)")
    with pytest.raises(UnsupportedStatementError, match="p=1 of the external table"):
        session.execute("ALTER TABLE e PARTITION (p = 1) RENAME TO PARTITION (p = 2)")


@pytest.mark.parametrize("clause", ["STORED AS ORC", ACID])
def test_a_managed_table_shares_no_directory(session, clause):
    """An external table that was renamed stays where a new one of its old name would lie."""
    session.execute("CREATE EXTERNAL TABLE e (id int) STORED AS ORC")
    session.execute("ALTER TABLE e RENAME TO f")
    with pytest.raises(AnalysisError, match=r"belongs to table default\.f"):
        session.execute(f"CREATE TABLE e (id int) {clause}")
    session.execute("CREATE EXTERNAL TABLE e (id int) STORED AS ORC")


def test_an_external_table_shares_no_directory_with_a_transactional_one(session, tmp_path):
    session.execute(f"CREATE TABLE t (id int) {ACID}")
    with pytest.raises(AnalysisError, match=r"belongs to table default\.t"):
        session.execute(f"CREATE EXTERNAL TABLE e (id int) STORED AS ORC LOCATION '{tmp_path}/w/t'")


@pytest.mark.parametrize("is_insert_only", [False, True])
@pytest.mark.parametrize("table", ["t", "e"])
def test_nor_does_a_table_become_transactional_that_shares_its_directory(
    session, tmp_path, table, is_insert_only
):
    session.execute("CREATE TABLE t (id int) TBLPROPERTIES ('transactional' = 'false')")
    session.insert("t", {"id": [1, 2]})
    place = f"STORED AS ORC LOCATION '{tmp_path}/w/t'"
    session.execute(f"CREATE EXTERNAL TABLE e (id int) {place}")
    session.execute("ALTER TABLE e SET TBLPROPERTIES ('EXTERNAL' = 'FALSE')")
    kind = "'transactional' = 'true'"
    if is_insert_only:
        kind = f"{kind}, 'transactional_properties' = 'insert_only'"
    convert = f"ALTER TABLE {table} SET TBLPROPERTIES ({kind})"
    other = "e" if table == "t" else "t"
    with pytest.raises(AnalysisError, match=rf"holds .*/w/t of table default\.{other}"):
        session.execute(convert)
    session.execute(f"DROP TABLE {other}")
    session.execute(convert)
    converted = session._store.table(TableName("default", table))
    assert (converted.kind is TableKind.PLAIN, len(list((tmp_path / "w" / "t").rglob("0*")))) == (
        False,
        1,
    )


def test_a_table_cannot_be_loaded_from_itself_however_that_is_written(plain, tmp_path):
    """Rows that were deleted would come back under new row ids."""
    plain.execute("ALTER TABLE t SET TBLPROPERTIES ('transactional' = 'true')")
    (tmp_path / "link").symlink_to(tmp_path / "w")
    w = tmp_path / "w"
    for path in (f"{w}//t", f"{w}/x/../t/000000_0", f"file://{w}/t", f"{tmp_path}/link/t"):
        with pytest.raises(AnalysisError, match="it lies in table"):
            plain.execute(f"LOAD DATA INPATH '{path}' INTO TABLE t")


def test_a_file_that_could_not_be_read_is_not_loaded(plain, tmp_path):
    plain.execute(f"CREATE TABLE a (at timestamp) {ACID}")
    zoned = pa.array([0], pa.timestamp("ns", "UTC"))
    pa_orc.write_table(pa.table({"at": zoned}), tmp_path / "f")
    with pytest.raises(StorageError, match="cannot be read from file"):
        plain.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/f' INTO TABLE a")


@pytest.mark.parametrize(
    ("sql", "note"),
    [
        ("ALTER TABLE t TOUCH PARTITION (p = 1) PARTITION (p = 2)", "no hooks"),
        (
            "ALTER TABLE t PARTITION (p = 1) UPDATE STATISTICS FOR COLUMN id SET ('n' = '9')",
            "numbers are not kept",
        ),
    ],
)
def test_what_changes_nothing_says_so(parts, sql, note):
    before = parts.execute("SHOW CREATE TABLE t").fetchall()
    assert note in parts.execute(sql).message
    assert parts.execute("SHOW CREATE TABLE t").fetchall() == before
    assert parts.execute(f"EXPLAIN LOCKS {sql}").fetchall() == []
    with pytest.raises(TableNotFoundError):
        parts.execute(sql.replace("TABLE t", "TABLE none"))
    with pytest.raises(PartitionNotFoundError, match="no partition p=3"):
        parts.execute(sql.replace("p = 1", "p = 3"))
    with pytest.raises(AnalysisError):
        parts.execute(sql.replace("p = 1", "q = 1"))
    with pytest.raises(SqlSyntaxError, match="value"):
        parts.execute(sql.replace("p = 1", "p"))


def test_statistics_of_a_column_that_is_missing(parts):
    with pytest.raises(AnalysisError, match="none"):
        parts.execute("ALTER TABLE t UPDATE STATISTICS FOR COLUMN none SET ('numNulls' = '9')")

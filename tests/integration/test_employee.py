"""The reference scenario: directories, files and rows, byte by byte, as Hive leaves them."""

import shutil

from click.testing import CliRunner

import acidsql
from acidsql.cli.main import main

EMPLOYEE = """
CREATE TABLE employee (id int, name string, salary int)
STORED AS ORC TBLPROPERTIES ('transactional' = 'true')
"""
ROWS = "INSERT INTO employee VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000)"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
FILES = ["_orc_acid_version", "bucket_00000"]
MERGE = """
MERGE INTO employee AS t USING employee_update AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, salary = s.salary
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.salary)
"""


def layout(table):
    """Each directory of a table → the names in it, hidden ones too."""
    return {d.name: sorted(f.name for f in d.iterdir()) for d in sorted(table.iterdir())}


def dump(path):
    result = CliRunner().invoke(main, ["dump", str(path)])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def event(operation, write_id, bucket, row_id, current, row):
    return (
        f'{{"operation":{operation},"originalTransaction":{write_id},"bucket":{bucket},'
        f'"rowId":{row_id},"currentTransaction":{current},"row":{row}}}'
    )


def employee(id, name, salary):
    return f'{{"id":{id},"name":"{name}","salary":{salary}}}'


def row_ids(session):
    rows = session.execute("SELECT row__id, id, salary FROM employee").fetchall()
    return sorted(((tuple(r), key, salary) for r, key, salary in rows), key=lambda row: row[1])


def step_1(session):
    session.execute(EMPLOYEE)
    session.execute(ROWS)


def step_3(session):
    step_1(session)
    session.execute(f"CREATE TABLE employee_update (id int, name string, salary int) {ACID}")
    session.execute("INSERT INTO employee_update VALUES (2, 'Tom', 7000), (4, 'Mary', 9000)")
    return session.execute(MERGE)


def two_inserts(session):
    """Four rows of two write ids, without Spark."""
    step_1(session)
    session.execute("INSERT INTO employee VALUES (4, 'Mary', 9000)")


INSERTED = [
    event(0, 1, 536870912, 0, 1, employee(1, "Jerry", 5000)),
    event(0, 1, 536870912, 1, 1, employee(2, "Tom", 8000)),
    event(0, 1, 536870912, 2, 1, employee(3, "Kate", 6000)),
]
MERGED_ROW_IDS = [
    ((1, 536870912, 0), 1, 5000),
    ((2, 536870913, 0), 2, 7000),
    ((1, 536870912, 2), 3, 6000),
    ((2, 536870912, 0), 4, 9000),
]


def test_1_insert(session, warehouse):
    step_1(session)
    table = warehouse / "employee"
    assert layout(table) == {"delta_0000001_0000001_0000": FILES}
    assert (table / "delta_0000001_0000001_0000" / "_orc_acid_version").read_bytes() == b"2"
    assert dump(table) == INSERTED
    assert dump(table / "delta_0000001_0000001_0000" / "bucket_00000") == INSERTED
    rows = session.execute("SELECT row__id, id FROM employee").fetchall()
    assert [(r.asDict(), key) for r, key in sorted(rows, key=lambda row: row[1])] == [
        ({"writeid": 1, "bucketid": 536870912, "rowid": n}, n + 1) for n in range(3)
    ]


def test_2_update(session, warehouse):
    step_1(session)
    result = session.execute("UPDATE employee SET salary = 7000 WHERE id = 2")
    assert (result.rows_updated, result.write_ids) == (1, {"default.employee": 2})
    table = warehouse / "employee"
    assert layout(table) == {
        "delete_delta_0000002_0000002_0000": FILES,
        "delta_0000001_0000001_0000": FILES,
        "delta_0000002_0000002_0000": FILES,
    }
    assert dump(table / "delete_delta_0000002_0000002_0000") == [
        event(2, 1, 536870912, 1, 2, "null")
    ]
    assert dump(table / "delta_0000002_0000002_0000") == [
        event(0, 2, 536870912, 0, 2, employee(2, "Tom", 7000))
    ]
    assert row_ids(session) == [
        ((1, 536870912, 0), 1, 5000),
        ((2, 536870912, 0), 2, 7000),
        ((1, 536870912, 2), 3, 6000),
    ]


def test_3_merge_and_4_minor_compaction_keeps_every_event(session, warehouse):
    result = step_3(session)
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted) == (1, 1, 0)
    table = warehouse / "employee"
    assert layout(table) == {
        "delete_delta_0000002_0000002_0001": FILES,
        "delta_0000001_0000001_0000": FILES,
        "delta_0000002_0000002_0000": FILES,
        "delta_0000002_0000002_0001": FILES,
    }
    assert dump(table / "delta_0000002_0000002_0000") == [
        event(0, 2, 536870912, 0, 2, employee(4, "Mary", 9000))
    ]
    assert dump(table / "delete_delta_0000002_0000002_0001") == [
        event(2, 1, 536870912, 1, 2, "null")
    ]
    assert dump(table / "delta_0000002_0000002_0001") == [
        event(0, 2, 536870913, 0, 2, employee(2, "Tom", 7000))
    ]
    assert row_ids(session) == MERGED_ROW_IDS
    before = set(layout(table))
    result = session.execute("ALTER TABLE employee COMPACT 'minor'")
    assert result.message == "Compaction enqueued with id 1"
    assert set(layout(warehouse / "employee")) == before, "it only enqueues"
    assert session.run_worker() == 1
    compacted = {"delta_0000001_0000002", "delete_delta_0000001_0000002"}
    assert set(layout(table)) == before | compacted
    assert dump(table / "delta_0000001_0000002") == [
        *INSERTED,
        event(0, 2, 536870912, 0, 2, employee(4, "Mary", 9000)),
        event(0, 2, 536870913, 0, 2, employee(2, "Tom", 7000)),
    ]
    assert dump(table / "delete_delta_0000001_0000002") == [event(2, 1, 536870912, 1, 2, "null")]
    assert row_ids(session) == MERGED_ROW_IDS
    assert session.run_cleaner() == 1
    assert layout(table) == dict.fromkeys(sorted(compacted), FILES)
    assert row_ids(session) == MERGED_ROW_IDS


def test_4_major_compaction_drops_the_deleted(session, warehouse):
    step_3(session)
    session.execute("ALTER TABLE employee COMPACT 'minor' AND WAIT")
    result = session.execute("ALTER TABLE employee COMPACT 'major' AND WAIT")
    assert result.message.splitlines()[0] == "Compaction enqueued with id 2"
    assert row_ids(session) == MERGED_ROW_IDS
    assert session.run_cleaner() == 2
    table = warehouse / "employee"
    assert layout(table) == {"base_0000002": ["_metadata_acid", *FILES]}
    assert dump(table) == [
        event(0, 1, 536870912, 0, 1, employee(1, "Jerry", 5000)),
        event(0, 1, 536870912, 2, 1, employee(3, "Kate", 6000)),
        event(0, 2, 536870912, 0, 2, employee(4, "Mary", 9000)),
        event(0, 2, 536870913, 0, 2, employee(2, "Tom", 7000)),
    ]
    assert row_ids(session) == MERGED_ROW_IDS


def test_4_the_cleaner_waits_for_a_result(session, warehouse):
    two_inserts(session)
    result = session.execute("SELECT id FROM employee")
    session.execute("ALTER TABLE employee COMPACT 'major' AND WAIT")
    before = layout(warehouse / "employee")
    session.run_cleaner()
    assert layout(warehouse / "employee") == before
    assert sorted(result.fetchall()) == [(1,), (2,), (3,), (4,)]
    session.run_cleaner()
    assert set(layout(warehouse / "employee")) == {"base_0000002"}


def test_4_the_cleaner_waits_for_a_frame(session, warehouse):
    two_inserts(session)
    with session.execute("SELECT id FROM employee") as result:
        frame = result.df
        assert frame.count() == 4
        session.execute("ALTER TABLE employee COMPACT 'major' AND WAIT")
        session.run_cleaner()
        assert frame.count() == 4
        assert "delta_0000001_0000001_0000" in layout(warehouse / "employee")
    session.run_cleaner()
    assert set(layout(warehouse / "employee")) == {"base_0000002"}


def test_4_the_cleaner_waits_for_another_session(session, warehouse, spark):
    two_inserts(session)
    with acidsql.connect(warehouse, spark=spark) as other:
        frame = other.table("employee")
        session.execute("ALTER TABLE employee COMPACT 'major' AND WAIT")
        session.execute("DELETE FROM employee WHERE id = 1")
        session.run_cleaner()
        assert "delta_0000001_0000001_0000" in layout(warehouse / "employee")
        assert frame.count() == 4, "the frame keeps its snapshot"
    session.run_cleaner()
    assert "delta_0000001_0000001_0000" not in layout(warehouse / "employee")
    assert session.execute("SELECT count(*) FROM employee").fetchone() == (3,)


def test_4_who_begins_after_the_compaction_needs_no_old_directory(session, warehouse):
    two_inserts(session)
    session.execute("ALTER TABLE employee COMPACT 'major' AND WAIT")
    result = session.execute("SELECT id FROM employee")
    assert session.run_cleaner() == 1
    assert set(layout(warehouse / "employee")) == {"base_0000002"}
    assert len(result.fetchall()) == 4


def test_5_buckets(session, warehouse):
    session.execute(
        "CREATE TABLE transactions (txn_id int, acc_id int, txn_amount decimal(10,2),"
        f" txn_date date) CLUSTERED BY (acc_id) INTO 3 BUCKETS {ACID}"
    )
    session.execute(
        "INSERT INTO transactions VALUES (1, 1002, 120.50, DATE '2026-01-05'),"
        " (2, 1001, 75.00, DATE '2026-01-06'), (3, 1003, 2300.00, DATE '2026-01-07')"
    )
    assert layout(warehouse / "transactions") == {
        "delta_0000001_0000001_0000": ["_orc_acid_version", "bucket_00000", "bucket_00002"]
    }


def test_6_base_and_later_delete_delta_are_read(session, warehouse):
    """The directory of a minor compaction is that of a twin of the table."""
    two_inserts(session)
    session.execute(EMPLOYEE.replace("employee", "twin"))
    session.execute(ROWS.replace("employee", "twin"))
    session.execute("INSERT INTO twin VALUES (4, 'Mary', 9000)")
    session.execute("ALTER TABLE twin COMPACT 'minor' AND WAIT")
    session.execute("ALTER TABLE employee COMPACT 'major' AND WAIT")
    compacted = "delta_0000001_0000002"
    shutil.copytree(warehouse / "twin" / compacted, warehouse / "employee" / compacted)
    session.execute("DELETE FROM employee WHERE id = 1")
    assert set(layout(warehouse / "employee")) == {
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
        "delta_0000001_0000002",
        "base_0000002",
        "delete_delta_0000003_0000003_0000",
    }
    read = session.table("employee").inputFiles()
    assert [path.split("/")[-2] for path in read] == ["base_0000002"]
    assert [key for _, key, _ in row_ids(session)] == [2, 3, 4]

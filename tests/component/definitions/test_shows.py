"""What DESCRIBE FORMATTED says of partitions, and of tables that are not full-ACID."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.definitions.shows import describe_formatted
from acidsql.errors import (
    AnalysisError,
    ColumnNotFoundError,
    PartitionNotFoundError,
    TableNotFoundError,
)
from acidsql.model.names import TableName
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import PrimitiveType
from acidsql.model.view import View


@pytest.mark.parametrize(
    ("format", "classes"),
    [
        (FileFormat.ORC, ["OrcSerde", "OrcInputFormat", "OrcOutputFormat"]),
        (
            FileFormat.PARQUET,
            ["ParquetHiveSerDe", "MapredParquetInputFormat", "MapredParquetOutputFormat"],
        ),
        (
            FileFormat.TEXT,
            ["LazySimpleSerDe", "TextInputFormat", "HiveIgnoreKeyTextOutputFormat"],
        ),
    ],
)
def test_the_classes_of_hive_are_named(format: FileFormat, classes: list[str]) -> None:
    columns = (Column("id", PrimitiveType("int")),)
    table = Table(TableName("default", "t"), columns, "/t", format=format)
    said = {row[0]: row[1] for row in describe_formatted(table).fetchall()}
    found = [
        said[key].rpartition(".")[2] for key in ("SerDe Library:", "InputFormat:", "OutputFormat:")
    ]
    assert found == classes
    assert said["Table Type:"] == "MANAGED_TABLE"


def test_an_external_table_is_called_so() -> None:
    columns = (Column("id", PrimitiveType("int")),)
    table = Table(TableName("default", "t"), columns, "/t", parameters={"EXTERNAL": "TRUE"})
    said = {row[0]: row[1] for row in describe_formatted(table).fetchall()}
    assert said["Table Type:"] == "EXTERNAL_TABLE"


ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def partitioned(tmp_path: Path) -> Iterator[acidsql.Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:", user="ann") as session:
        session.execute(
            "CREATE TABLE p (id int COMMENT 'key', s string)"
            f" PARTITIONED BY (d date, k int COMMENT 'kk') CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
        )
        session.execute("INSERT INTO p VALUES (1, 'a', '2024-01-02', 3)")
        session.execute("INSERT INTO p VALUES (2, 'b', '2024-01-03', NULL)")
        session.execute(f"CREATE TABLE t (id int) {ACID}")
        yield session


def test_a_partition_is_described_as_by_hive(partitioned: acidsql.Session, tmp_path: Path) -> None:
    """Rows of Hive 4.0.1 and 3.1.3, but for CreateTime, LastAccessTime and statistics."""
    plain = partitioned.execute("DESCRIBE p").fetchall()
    assert partitioned.execute("DESCRIBE p PARTITION (k = '03', d = '2024-01-02')").fetchall() == (
        plain
    )
    io = "org.apache.hadoop.hive.ql.io.orc."
    rows = partitioned.execute("DESC FORMATTED p PARTITION (d = '2024-01-02', k = 3)").fetchall()
    assert rows == [
        ("# col_name", "data_type", "comment"),
        ("id", "int", "key"),
        ("s", "string", ""),
        ("", "", ""),
        ("# Partition Information", "", ""),
        ("# col_name", "data_type", "comment"),
        ("d", "date", ""),
        ("k", "int", "kk"),
        ("", "", ""),
        ("# Detailed Partition Information", "", ""),
        ("Partition Value:", "[2024-01-02, 3]", ""),
        ("Database:", "default", ""),
        ("Table:", "p", ""),
        ("Location:", f"{tmp_path}/w/p/d=2024-01-02/k=3", ""),
        ("", "", ""),
        ("# Storage Information", "", ""),
        ("SerDe Library:", f"{io}OrcSerde", ""),
        ("InputFormat:", f"{io}OrcInputFormat", ""),
        ("OutputFormat:", f"{io}OrcOutputFormat", ""),
        ("Compressed:", "No", ""),
        ("Num Buckets:", "2", ""),
        ("Bucket Columns:", "[id]", ""),
        ("Sort Columns:", "[]", ""),
    ]


def test_the_partition_of_null_is_described(partitioned: acidsql.Session) -> None:
    for value in ("NULL", "'__HIVE_DEFAULT_PARTITION__'"):
        result = partitioned.execute(
            f"DESCRIBE FORMATTED p PARTITION (d = :d, k = {value})", {"d": "2024-01-03"}
        )
        said = {row[0]: row[1] for row in result.fetchall()}
        assert said["Partition Value:"] == "[2024-01-03, __HIVE_DEFAULT_PARTITION__]"


@pytest.mark.parametrize(
    ("sql", "error", "code"),
    [
        ("DESCRIBE p PARTITION (d = '2024-01-09', k = 3)", PartitionNotFoundError, 10006),
        ("DESCRIBE p PARTITION (d = '2024-01-02')", AnalysisError, 10283),
        ("DESCRIBE p PARTITION (d = '2024-01-02', id = 3)", AnalysisError, 10098),
        ("DESCRIBE t PARTITION (k = 3)", AnalysisError, 10241),
    ],
)
def test_what_is_no_partition_is_an_error(
    partitioned: acidsql.Session, sql: str, error: type[Exception], code: int
) -> None:
    with pytest.raises(error) as caught:
        partitioned.execute(sql)
    assert caught.value.code == code


def test_a_database_is_described_with_its_properties_if_asked(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path / "w", metastore="memory:", user="ann") as session:
        session.execute("CREATE DATABASE d COMMENT 'ours' WITH DBPROPERTIES ('b' = '2', 'a' = '1')")
        session.execute("ALTER DATABASE D SET DBPROPERTIES ('b' = '3')")
        plain = session.execute("DESCRIBE DATABASE d")
        assert plain.columns == [
            "db_name", "comment", "location", "owner_name", "owner_type", "parameters",
        ]  # fmt: skip
        row = ("d", "ours", str(tmp_path / "w" / "d.db"), "ann", "USER")
        assert plain.fetchall() == [(*row, "")]
        extended = session.execute("DESC SCHEMA EXTENDED d").fetchall()
        assert extended == [(*row, "{a=1, b=3}")]


@pytest.mark.parametrize(
    ("sql", "rows", "message"),
    [
        (
            "EXPLAIN VECTORIZATION DETAIL TRUNCATE TABLE t",
            ["truncate default.t", " └── base: no rows"],
            "VECTORIZATION DETAIL was ignored: plans have one form",
        ),
        (
            "EXPLAIN ANALYZE DROP TABLE t",
            ["drop table default.t", " └── lock: default.t -> EXCLUSIVE"],
            "ANALYZE was ignored: plans have one form",
        ),
        ("EXPLAIN LOCKS VACUUM t", ["default.t -> SHARED_READ"], None),
        ("EXPLAIN SET hivevar:t = LOCKS", ["set configuration"], None),
    ],
)
def test_explain_says_which_words_it_ignored(
    tmp_path: Path, sql: str, rows: list[str], message: str | None
) -> None:
    with acidsql.connect(tmp_path) as session:
        session.execute(f"CREATE TABLE t (k int) {ACID}")
        result = session.execute(sql)
        assert result.fetchall() == [(row,) for row in rows]
        assert result.message == message
        assert session.execute("SHOW TABLES").fetchall() == [("t",)]


def rows(session: acidsql.Session, sql: str) -> list[tuple[str, ...]]:
    return [tuple(row) for row in session.execute(sql).fetchall()]


def test_columns_and_properties_one_by_one(partitioned: acidsql.Session) -> None:
    session = partitioned
    assert rows(session, "SHOW COLUMNS IN p") == [("id",), ("s",), ("d",), ("k",)]
    assert rows(session, "SHOW SORTED COLUMNS FROM p IN default LIKE 'i*|d|K'") == [
        ("d",), ("id",), ("k",),
    ]  # fmt: skip
    assert rows(session, "SHOW TBLPROPERTIES p") == [
        ("bucketing_version", "2"),
        ("transactional", "true"),
        ("transactional_properties", "default"),
    ]
    assert rows(session, "SHOW TBLPROPERTIES p ('transactional')") == [("transactional", "true")]
    assert rows(session, "SHOW TBLPROPERTIES p (x.y)") == [
        ("Table default.p does not have property: x.y", "")
    ]


def test_one_column_or_field_is_described(partitioned: acidsql.Session) -> None:
    session = partitioned
    assert rows(session, "DESCRIBE p ID") == [("id", "int", "key")]
    assert rows(session, "DESC EXTENDED p PARTITION (d = '2024-01-02', k = 3) k") == [
        ("k", "int", "kk")
    ]
    with pytest.raises(PartitionNotFoundError):
        session.execute("DESCRIBE p PARTITION (d = '2024-01-02', k = 4) k")
    session.execute("CREATE TABLE n (s struct<f:int,G:struct<h:array<date>>> COMMENT 'nested')")
    assert rows(session, "DESCRIBE n s") == [
        ("f", "int", ""), ("g", "struct<h:array<date>>", ""),
    ]  # fmt: skip
    assert rows(session, "DESCRIBE n s.g.h") == [("h", "array<date>", "")]
    assert rows(session, "DESCRIBE FORMATTED n s") == [
        ("s", "struct<f:int,g:struct<h:array<date>>>", "nested")
    ]
    for path, hint in (("t", "There are s."), ("s.ff", 'Did you mean "f"?'), ("s.f.x", "none")):
        with pytest.raises(ColumnNotFoundError, match=path.rpartition(".")[2]) as caught:
            session.execute(f"DESCRIBE n {path}")
        assert hint in (caught.value.hint or "")


def lines(session: acidsql.Session, statement: str) -> list[str]:
    return [line for (line,) in session.execute(statement).fetchall()]


def test_show_create_database_makes_the_same_database(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session.execute(
            f"CREATE DATABASE d COMMENT 'it\\'s' LOCATION '{tmp_path}/x y'"
            " WITH DBPROPERTIES ('b' = '2', 'a' = 'q\\'')"
        )
        created = lines(session, "SHOW CREATE DATABASE D")
        assert created == [
            "CREATE DATABASE `d`",
            "COMMENT 'it\\'s'",
            f"LOCATION '{tmp_path}/x y'",
            "WITH DBPROPERTIES (",
            "  'a'='q\\'',",
            "  'b'='2')",
        ]
        known = session.execute("DESCRIBE DATABASE EXTENDED d").fetchall()
        session.execute("DROP DATABASE d")
        session.execute("\n".join(created))
        assert session.execute("DESCRIBE DATABASE EXTENDED d").fetchall() == known
        assert lines(session, "SHOW CREATE SCHEMA default")[0] == "CREATE DATABASE `default`"
        with pytest.raises(acidsql.DatabaseNotFoundError):
            session.execute("SHOW CREATE DATABASE nowhere")


def test_show_table_extended(partitioned: acidsql.Session, tmp_path: Path) -> None:
    partitioned.execute("INSERT INTO p VALUES (1, 'b', '2024-01-02', 4), (2, 'c', NULL, 4)")
    partitioned.execute("CREATE TABLE n (a array<struct<int:int,b:bigint>>, f boolean)")
    # Put there by the store, because CREATE VIEW asks Spark for its columns.
    text, columns = "SELECT id AS n FROM default.p", (Column("n", PrimitiveType("int")),)
    partitioned._store.create_view(View(TableName("default", "v"), columns, text, text))
    files = [p for p in (tmp_path / "w" / "p").rglob("bucket_*") if p.is_file()]
    sizes = [p.stat().st_size for p in files]
    acid = "org.apache.hadoop.hive.ql.io.orc.Orc"
    head = [
        "tableName:p",
        "owner:ann",
        f"location:{tmp_path}/w/p",
        f"inputformat:{acid}InputFormat",
        f"outputformat:{acid}OutputFormat",
        "columns:struct columns { i32 id, string s}",
        "partitioned:true",
        "partitionColumns:struct partition_columns { date d, i32 k}",
    ]
    shown = lines(partitioned, "SHOW TABLE EXTENDED LIKE 'P'")
    assert shown == [
        *head,
        f"totalNumberFiles:{len(files)}",
        f"totalFileSize:{sum(sizes)}",
        f"maxFileSize:{max(sizes)}",
        f"minFileSize:{min(sizes)}",
        "",
    ]
    of_partition = "SHOW TABLE EXTENDED IN default LIKE p PARTITION (d = '2024-01-02', k = 3)"
    [only] = [p for p in files if "k=3" in str(p)]
    shown = lines(partitioned, of_partition)
    assert shown[2] == f"location:{only.parents[1]}"
    assert shown[8:10] == ["totalNumberFiles:1", f"totalFileSize:{only.stat().st_size}"]
    shown = lines(partitioned, "SHOW TABLE EXTENDED LIKE 'n|v'")
    assert "columns:struct columns { list<struct<int:i32,b:i64>> a, bool f}" in shown
    assert [line for line in shown if line.startswith(("tableName", "totalFile", "location"))] == [
        "tableName:n", f"location:{tmp_path}/w/n", "totalFileSize:0", "tableName:v", "location:null"
    ]  # fmt: skip
    assert lines(partitioned, "SHOW TABLE EXTENDED LIKE 'none*'") == []
    with pytest.raises(PartitionNotFoundError):
        partitioned.execute("SHOW TABLE EXTENDED LIKE 'p' PARTITION (d = '2024-01-02', k = 9)")
    with pytest.raises(acidsql.TableNotFoundError):
        partitioned.execute("SHOW TABLE EXTENDED LIKE '*' PARTITION (d = '2024-01-02', k = 3)")


def test_locks_of_a_database_that_is_taken_for_a_table(partitioned: acidsql.Session) -> None:
    for sql in ("SHOW LOCKS DATABASE default", "SHOW LOCKS SCHEMA default EXTENDED"):
        assert partitioned.execute(sql).fetchall() == []
    with pytest.raises(TableNotFoundError, match="Hint: SHOW LOCKS DATABASE default shows those"):
        partitioned.execute("SHOW LOCKS default")
    with pytest.raises(TableNotFoundError, match="Hint: SHOW TABLES lists the tables"):
        partitioned.execute("SHOW LOCKS nowhere")

"""The kind and format of a table whose statement does not say them, beside Hive's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.errors import AnalysisError, ConfigError, UnsupportedStatementError
from acidsql.model.names import TableName
from acidsql.session.session import Session

ACID, INSERT_ONLY, PLAIN = "full-ACID", "insert-only", "plain"
CDP = {
    "hive.create.as.acid": "true",
    "hive.create.as.insert.only": "true",
    "hive.default.fileformat": "TextFile",
    "hive.default.fileformat.managed": "ORC",
}
"""What CDP and HDP 3 set."""


def made(session: Session, sql: str, properties: dict[str, str] | None = None) -> tuple[str, str]:
    """Kind and format of the table t that a statement makes, after SET of some properties."""
    for key, value in (properties or {}).items():
        session.execute(f"SET {key}={value}")
    session.execute(sql)
    table = session._store.table(TableName("default", "t"))
    session.execute("DROP TABLE t")
    session.execute("RESET")
    return table.kind.value, table.format.value


@pytest.mark.parametrize(
    ("clauses", "kind", "stored_as"),
    [
        ("TABLE t (k int)", ACID, "ORC"),
        ("TABLE t (k int) PARTITIONED BY (p int) COMMENT 'c'", ACID, "ORC"),
        ("TABLE t (k int) CLUSTERED BY (k) INTO 2 BUCKETS", ACID, "ORC"),
        ("TABLE t (k int) TBLPROPERTIES ('orc.compress' = 'zlib')", ACID, "ORC"),
        ("TABLE t (k int) TBLPROPERTIES ('transactional' = 'false')", PLAIN, "ORC"),
        ("TABLE t (k int) STORED AS ORC", PLAIN, "ORC"),
        ("TABLE t (k int) STORED AS PARQUET", PLAIN, "PARQUET"),
        ("TABLE t (k int) ROW FORMAT DELIMITED", PLAIN, "TEXTFILE"),
        ("TRANSACTIONAL TABLE t (k int)", ACID, "ORC"),
        ("TRANSACTIONAL TABLE t (k int) STORED AS TEXTFILE", INSERT_ONLY, "TEXTFILE"),
        (
            "TRANSACTIONAL TABLE t (k int)"
            " TBLPROPERTIES ('transactional_properties' = 'insert_only')",
            INSERT_ONLY,
            "ORC",
        ),
        ("MANAGED TABLE t (k int)", ACID, "ORC"),
        ("MANAGED TABLE t (k int) STORED AS ORC", ACID, "ORC"),
        ("MANAGED TABLE t (k int) STORED AS PARQUET", INSERT_ONLY, "PARQUET"),
        ("MANAGED TABLE t (k int) TBLPROPERTIES ('transactional' = 'false')", PLAIN, "ORC"),
        ("EXTERNAL TABLE t (k int)", PLAIN, "TEXTFILE"),
        ("EXTERNAL TABLE t (k int) STORED AS ORC", PLAIN, "ORC"),
        ("TABLE t (k int) TBLPROPERTIES ('EXTERNAL' = 'TRUE')", PLAIN, "TEXTFILE"),
    ],
)
def test_without_properties(session: Session, clauses: str, kind: str, stored_as: str) -> None:
    assert made(session, f"CREATE {clauses}") == (kind, stored_as)


@pytest.mark.parametrize(
    ("properties", "clauses", "kind", "stored_as"),
    [
        ({"hive.create.as.acid": "false"}, "TABLE t (k int)", PLAIN, "ORC"),
        ({"hive.create.as.acid": "false"}, "MANAGED TABLE t (k int)", ACID, "ORC"),
        ({"metastore.create.as.acid": "false"}, "TABLE t (k int)", PLAIN, "ORC"),
        ({"metastore.create.as.acid": "true"}, "TABLE t (k int) STORED AS ORC", ACID, "ORC"),
        ({"hive.create.as.acid": "true"}, "TABLE t (k int) STORED AS ORC", ACID, "ORC"),
        ({"hive.create.as.acid": "true"}, "TABLE t (k int) STORED AS PARQUET", PLAIN, "PARQUET"),
        ({"hive.create.as.acid": "true"}, "EXTERNAL TABLE t (k int)", PLAIN, "TEXTFILE"),
        ({"hive.create.as.insert.only": "true"}, "TABLE t (k int)", INSERT_ONLY, "ORC"),
        ({"hive.create.as.insert.only": "true"}, "MANAGED TABLE t (k int)", INSERT_ONLY, "ORC"),
        (
            {"hive.create.as.insert.only": "true"},
            "TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')",
            ACID,
            "ORC",
        ),
        ({"hive.default.fileformat": "TextFile"}, "TABLE t (k int)", PLAIN, "TEXTFILE"),
        (
            {"hive.default.fileformat": "TextFile"},
            "TRANSACTIONAL TABLE t (k int)",
            INSERT_ONLY,
            "TEXTFILE",
        ),
        ({"hive.default.fileformat": "parquet"}, "TABLE t (k int)", PLAIN, "PARQUET"),
        ({"hive.default.fileformat": "orc"}, "EXTERNAL TABLE t (k int)", PLAIN, "ORC"),
        ({"hive.default.fileformat.managed": "none"}, "TABLE t (k int)", PLAIN, "TEXTFILE"),
        (
            {"hive.default.fileformat": "TextFile", "hive.default.fileformat.managed": "ORC"},
            "TABLE t (k int)",
            ACID,
            "ORC",
        ),
        (CDP, "TABLE t (k int)", ACID, "ORC"),
        (CDP, "TABLE t (k int) STORED AS ORC", ACID, "ORC"),
        (CDP, "TABLE t (k int) STORED AS PARQUET", INSERT_ONLY, "PARQUET"),
        (CDP, "TABLE t (k int) STORED AS TEXTFILE", INSERT_ONLY, "TEXTFILE"),
        (CDP, "TABLE t (k int) TBLPROPERTIES ('transactional' = 'false')", PLAIN, "ORC"),
        (CDP, "EXTERNAL TABLE t (k int)", PLAIN, "TEXTFILE"),
    ],
)
def test_with_properties(
    session: Session, properties: dict[str, str], clauses: str, kind: str, stored_as: str
) -> None:
    assert made(session, f"CREATE {clauses}", properties) == (kind, stored_as)


@pytest.mark.parametrize(
    ("source", "like", "kind", "stored_as"),
    [
        ("(k int)", "LIKE s", ACID, "ORC"),
        ("(k int) STORED AS TEXTFILE", "LIKE s", PLAIN, "TEXTFILE"),
        ("(k int) STORED AS TEXTFILE", "LIKE s STORED AS ORC", PLAIN, "ORC"),
        (
            "(k int) STORED AS TEXTFILE",
            "LIKE s STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
            ACID,
            "ORC",
        ),
    ],
)
def test_like(session: Session, source: str, like: str, kind: str, stored_as: str) -> None:
    session.execute(f"CREATE TABLE s {source}")
    assert made(session, f"CREATE TABLE t {like}") == (kind, stored_as)


@pytest.mark.parametrize(
    ("source", "stored_as"),
    [
        ("(k int, v string) PARTITIONED BY (p int)", "ORC"),
        ("(k int, v string) TBLPROPERTIES ('acidsql.hive4.names' = 'true')", "ORC"),
        ("(k int) STORED AS TEXTFILE", "TEXTFILE"),
        (
            "(k int) STORED AS PARQUET TBLPROPERTIES"
            " ('transactional' = 'true', 'transactional_properties' = 'insert_only')",
            "PARQUET",
        ),
    ],
)
def test_external_like(session: Session, source: str, stored_as: str, tmp_path: Path) -> None:
    """A plain table of the same columns and format, whatever the source is, as in Hive 3 and 4."""
    session.execute(f"CREATE TABLE s {source}")
    place = tmp_path / "x"
    session.execute(f"CREATE EXTERNAL TABLE t LIKE s LOCATION '{place}'")
    like = session._store.table(TableName("default", "t"))
    of = session._store.table(TableName("default", "s"))
    assert (like.kind.value, like.external, like.format.value) == (PLAIN, True, stored_as)
    assert (like.columns, like.partition_columns) == (of.columns, of.partition_columns)
    assert {k.lower() for k in like.noted} == {"external", "bucketing_version"}
    session.execute("DROP TABLE t")
    assert place.exists()


def test_external_like_of_a_view_or_with_another_format(session: Session) -> None:
    session.execute("CREATE TABLE s (k int)")
    session.execute("CREATE VIEW v AS SELECT k FROM s")
    assert made(session, "CREATE EXTERNAL TABLE t LIKE v") == (PLAIN, "TEXTFILE")
    assert made(session, "CREATE EXTERNAL TABLE t LIKE s STORED AS PARQUET") == (PLAIN, "PARQUET")
    transactional = "CREATE EXTERNAL TABLE t LIKE s TBLPROPERTIES ('transactional' = 'true')"
    with pytest.raises(AnalysisError, match="cannot be declared transactional because it's an ext"):
        session.execute(transactional)


def test_like_of_a_plain_table(session: Session) -> None:
    session.execute("CREATE TABLE s (k int) STORED AS ORC")
    assert made(session, "CREATE MANAGED TABLE t LIKE s") == (ACID, "ORC")
    assert made(session, "CREATE TABLE t LIKE s", CDP) == (ACID, "ORC")
    session.execute("CREATE TABLE p (k int) STORED AS PARQUET")
    assert made(session, "CREATE TRANSACTIONAL TABLE t LIKE s") == (ACID, "ORC")
    assert made(session, "CREATE TRANSACTIONAL TABLE t LIKE p") == (INSERT_ONLY, "PARQUET")
    assert made(session, "CREATE TABLE t LIKE p", CDP) == (INSERT_ONLY, "PARQUET")


def test_a_full_acid_table_of_another_format(session: Session) -> None:
    session.execute("CREATE TABLE s (k int)")
    for sql in (
        "CREATE TABLE t LIKE s STORED AS PARQUET",
        "CREATE TABLE t (k int) STORED AS PARQUET TBLPROPERTIES ('transactional' = 'true')",
    ):
        with pytest.raises(AnalysisError, match="must be stored using an ACID compliant format"):
            session.execute(sql)
    with pytest.raises(AnalysisError, match="Cannot specify transactional_properties without"):
        session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional_properties' = 'x')")


def test_a_format_that_is_none(session: Session) -> None:
    for text in ("SequenceFile", "none", ""):
        with pytest.raises(ConfigError, match=r"^1:5: hive\.default\.fileformat: "):
            session.execute(f"SET hive.default.fileformat={text}")


def test_files_of_which_nobody_says_what_they_are(session: Session, tmp_path: Path) -> None:
    """They are no table by default: they may be of any format, and DROP would remove them."""
    place = tmp_path / "logs"
    session.execute(f"CREATE TABLE t (line string) LOCATION '{place}'")
    session.execute("DROP TABLE t")
    place.mkdir()
    file = place / "000000_0"
    file.write_text("a\n")
    create = f"CREATE TABLE t (line string) LOCATION '{place}'"
    with pytest.raises(
        UnsupportedStatementError, match=r"^1:14: the directory .* is not empty, and"
    ):
        session.execute(create)
    assert session.execute("SHOW TABLES").fetchall() == []
    session.execute(create.replace("TABLE", "EXTERNAL TABLE"))
    session.execute(create.replace("TABLE", "TABLE IF NOT EXISTS"))
    session.execute("DROP TABLE t")
    assert file.exists()


@pytest.mark.parametrize(
    ("kind", "clauses", "made"),
    [
        ("EXTERNAL", "TABLE d.t (k int)", (True, PLAIN, "TEXTFILE")),
        ("external", "TABLE d.t (k int) STORED AS ORC", (True, PLAIN, "ORC")),
        ("EXTERNAL", "TABLE d.t LIKE acid", (True, PLAIN, "ORC")),
        ("EXTERNAL", "MANAGED TABLE d.t (k int)", (False, ACID, "ORC")),
        ("EXTERNAL", "MANAGED TABLE d.t LIKE acid", (False, ACID, "ORC")),
        ("EXTERNAL", "TRANSACTIONAL TABLE d.t (k int)", (False, ACID, "ORC")),
        (
            "EXTERNAL",
            "TABLE d.t (k int) TBLPROPERTIES ('transactional' = 'true')",
            (False, ACID, "ORC"),
        ),
        (
            "EXTERNAL",
            "TABLE d.t (k int) TBLPROPERTIES ('transactional' = 'false')",
            (False, PLAIN, "ORC"),
        ),
        ("ACID", "TABLE d.t (k int) STORED AS ORC", (False, ACID, "ORC")),
        ("ACID", "TABLE d.t (k int) STORED AS PARQUET", (False, INSERT_ONLY, "PARQUET")),
        ("ACID", "TABLE d.t LIKE plain", (False, ACID, "ORC")),
        ("ACID", "EXTERNAL TABLE d.t (k int)", (True, PLAIN, "TEXTFILE")),
    ],
)
def test_the_database_says_the_kind(
    session: Session, kind: str, clauses: str, made: tuple[bool, str, str]
) -> None:
    """As in Hive 4 (database_default_table_type.q). DROP keeps the files of an external table."""
    session.execute("CREATE TABLE acid (k int)")
    session.execute("CREATE TABLE plain (k int) STORED AS ORC")
    session.execute("CREATE DATABASE d")
    session.execute(f"ALTER DATABASE d SET DBPROPERTIES ('defaultTableType' = '{kind}')")
    session.execute(f"CREATE {clauses}")
    table = session._store.table(TableName("d", "t"))
    assert (table.external, table.kind.value, table.format.value) == made
    assert table.owns_files is not table.external


def test_another_kind_of_tables_is_refused(session: Session) -> None:
    properties = "DBPROPERTIES ('defaultTableType' = 'temporary')"
    for sql in (f"CREATE DATABASE d WITH {properties}", f"ALTER DATABASE default SET {properties}"):
        with pytest.raises(AnalysisError, match="is 'EXTERNAL' or 'ACID', not 'temporary'"):
            session.execute(sql)
    assert session.execute("SHOW DATABASES").fetchall() == [("default",)]

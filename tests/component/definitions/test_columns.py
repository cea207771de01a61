"""Which columns tables may have, and how they may change."""

from __future__ import annotations

import pytest

from acidsql.backends.memory.store import MemoryStore
from acidsql.errors import AcidSqlError, AnalysisError, UnsupportedStatementError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE TABLE u (v void) {ACID}",
        f"CREATE TABLE u (k int) PARTITIONED BY (v void) {ACID}",
        f"CREATE TABLE u (v array<void>) {ACID}",
        "ALTER TABLE t ADD COLUMNS (v void)",
        "ALTER TABLE t CHANGE k k void",
    ],
)
def test_void_is_not_declared(session: Session, sql: str) -> None:
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    with pytest.raises(UnsupportedStatementError, match="void columns cannot be declared"):
        session.execute(sql)


INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
COLUMNS = "(a int, b string, c int, d string)"


@pytest.mark.parametrize("kind", [ACID, "STORED AS ORC", f"STORED AS ORC {INSERT_ONLY}"])
def test_no_column_of_orc_is_dropped(session: Session, kind: str) -> None:
    session.execute(f"CREATE TABLE t {COLUMNS} {kind}")
    with pytest.raises(UnsupportedStatementError, match="cannot drop columns") as caught:
        session.execute("ALTER TABLE t REPLACE COLUMNS (a int, b string, c int)")
    assert caught.value.code == 10313


@pytest.mark.parametrize(
    ("kind", "columns", "kept"),
    [
        ("STORED AS PARQUET", "a int, b string, c int", "abc"),
        ("STORED AS PARQUET", "a bigint, c int, e int", "ace"),
        (f"STORED AS PARQUET {INSERT_ONLY}", "d string, e int", "de"),
        ("STORED AS TEXTFILE", "a int, b string", "ab"),
        (f"STORED AS TEXTFILE {INSERT_ONLY}", "a int", "a"),
    ],
)
def test_columns_of_other_formats_are_dropped(
    session: Session, kind: str, columns: str, kept: str
) -> None:
    session.execute(f"CREATE TABLE t {COLUMNS} {kind}")
    session.execute(f"ALTER TABLE t REPLACE COLUMNS ({columns})")
    assert "".join(row[0] for row in session.execute("DESCRIBE t")) == kept


@pytest.mark.parametrize(
    ("kind", "columns", "message"),
    [
        ("STORED AS TEXTFILE", "a int, c int", '"c" in the place of "b"'),
        ("STORED AS PARQUET", "c int, a int", '"c" in the place of "a"'),
        ("STORED AS PARQUET", "b string, c tinyint", "incompatible"),
        ("CLUSTERED BY (b) INTO 2 BUCKETS STORED AS PARQUET", "a int", "is a bucket column"),
    ],
)
def test_what_would_read_other_values_is_refused(
    session: Session, kind: str, columns: str, message: str
) -> None:
    session.execute(f"CREATE TABLE t {COLUMNS} {kind}")
    with pytest.raises(AcidSqlError, match=message):
        session.execute(f"ALTER TABLE t REPLACE COLUMNS ({columns})")


TYPES = (
    "a smallint, b bigint, c decimal(10,2), d decimal(38,18), e string, f char(7), g varchar(7),"
    " h date, i double, j timestamp, k boolean, l float"
)


@pytest.mark.parametrize(
    "change",
    [
        "a string", "a char(2)", "a decimal(4,2)", "a float", "b float", "b decimal(10,2)",
        "c double", "c varchar(3)", "d decimal(10,2)", "e char(5)", "f varchar(3)", "f string",
        "g char(9)", "h string", "l double",
    ],
)  # fmt: skip
def test_columns_change_as_in_hive(session: Session, change: str) -> None:
    session.execute(f"CREATE TABLE t ({TYPES}) {ACID}")
    name, kind = change.split(" ")
    session.execute(f"ALTER TABLE t CHANGE {name} {change}")
    assert (name, kind, "") in session.execute("DESCRIBE t").fetchall()


@pytest.mark.parametrize(
    "change",
    [
        "b int", "i string", "l varchar(9)", "j string", "k string", "e int", "e date",
        "h timestamp", "f int", "c bigint", "i float",
    ],
)  # fmt: skip
def test_other_changes_are_refused(session: Session, change: str) -> None:
    session.execute(f"CREATE TABLE t ({TYPES}) {ACID}")
    with pytest.raises(AnalysisError, match="incompatible"):
        session.execute(f"ALTER TABLE t CHANGE {change[0]} {change}")


def test_files_of_other_kinds_of_tables_are_not_converted(session: Session) -> None:
    session.execute(f"CREATE TABLE t ({TYPES}) STORED AS PARQUET")
    with pytest.raises(AnalysisError, match="incompatible"):
        session.execute("ALTER TABLE t CHANGE a a string")


def types_of(session: Session, table: str) -> list[str]:
    return [row[1] for row in session.execute(f"DESCRIBE {table}").fetchall()]


def test_names_of_fields_are_in_lower_case(session: Session) -> None:
    session.execute(f"CREATE TABLE t (s struct<Aa:int>) {ACID}")
    session.execute("ALTER TABLE t ADD COLUMNS (t struct<Bb:int>)")
    assert types_of(session, "t") == ["struct<aa:int>", "struct<bb:int>"]


def test_names_of_fields_keep_their_capital_letters_where_hive_keeps_them(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the letters Hive finds what is in the files: no change of a column changes them."""
    if not isinstance(session._store, MemoryStore):
        return
    monkeypatch.setattr(MemoryStore, "keeps_spelling", True)
    session.execute(f"CREATE TABLE t (s struct<Aa:int>) {ACID}")
    session.execute("ALTER TABLE t ADD COLUMNS (t struct<Bb:int>)")
    session.execute("ALTER TABLE t CHANGE COLUMN s u struct<aa:int> COMMENT 'n'")
    columns = "u struct<aA:int>, t struct<BB:int>, n struct<Cc:int>"
    session.execute(f"ALTER TABLE t REPLACE COLUMNS ({columns})")
    assert types_of(session, "t") == ["struct<Aa:int>", "struct<Bb:int>", "struct<Cc:int>"]
    session.execute("CREATE TABLE u LIKE t")
    assert types_of(session, "u") == types_of(session, "t")

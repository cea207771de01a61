"""SET FILEFORMAT, SERDE and SERDEPROPERTIES: no file is ever read as what it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.model.names import TableName
from acidsql.session.session import Session

ORC = "org.apache.hadoop.hive.ql.io.orc"
LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
T = TableName("default", "t")


def alter(session: Session, clause: str) -> str:
    return session.execute(f"ALTER TABLE t SET {clause}").message


@pytest.mark.parametrize(
    "clause",
    [
        "FILEFORMAT ORC",
        "FILEFORMAT PARQUET",
        f"FILEFORMAT INPUTFORMAT '{ORC}.OrcInputFormat' OUTPUTFORMAT '{ORC}.OrcOutputFormat'"
        f" SERDE '{ORC}.OrcSerde'",
        f"SERDE '{ORC}.OrcSerde'",
    ],
)
def test_an_empty_plain_table_gets_another_format(session: Session, clause: str):
    session.execute("CREATE TABLE t (a int) STORED AS TEXTFILE")
    assert alter(session, clause) == "OK"
    assert session._store.table(T).format.value == ("PARQUET" if "PARQUET" in clause else "ORC")


@pytest.mark.parametrize("clause", ["FILEFORMAT ORC", f"SERDE '{ORC}.OrcSerde'"])
def test_the_same_format_changes_nothing(session: Session, clause: str):
    session.execute("CREATE TABLE t (a int)")
    session.execute("INSERT INTO t VALUES (1)")
    before = session._store.table(T)
    assert alter(session, clause) == "OK: the files of default.t are ORC already"
    assert alter(session, "SERDEPROPERTIES ('a' = 'b')").startswith("OK, but nothing goes by")
    assert session._store.table(T) == before


@pytest.mark.parametrize(
    ("clauses", "clause"),
    [
        ("", "FILEFORMAT PARQUET"),
        ("", "FILEFORMAT TEXTFILE"),
        ("STORED AS ORC", "FILEFORMAT PARQUET"),
        ("STORED AS PARQUET", f"SERDE '{ORC}.OrcSerde'"),
        ("STORED AS TEXTFILE", "FILEFORMAT ORC"),
    ],
)
def test_files_stay_what_they_are(session: Session, clauses: str, clause: str):
    session.execute(f"CREATE TABLE t (a int) {clauses}")
    session.insert("t", {"a": [1]})
    before = session._store.table(T)
    with pytest.raises(UnsupportedStatementError, match="stay as they are"):
        alter(session, clause)
    assert session._store.table(T) == before


def test_partitions_keep_the_format(session: Session):
    session.execute("CREATE TABLE t (a int) PARTITIONED BY (p int) STORED AS TEXTFILE")
    session.execute("ALTER TABLE t ADD PARTITION (p = 1)")
    with pytest.raises(UnsupportedStatementError, match="stay as they are"):
        alter(session, "FILEFORMAT ORC")


def test_the_delimiter_of_texts(session: Session, tmp_path: Path):
    session.execute("CREATE TABLE t (a int, b int) STORED AS TEXTFILE")
    alter(session, "SERDEPROPERTIES ('field.delim' = '|')")
    session.insert("t", {"a": [1], "b": [2]})
    [file] = [p for p in (tmp_path / "w" / "t").iterdir() if p.name[0] not in "._"]
    assert file.read_text() == "1|2\n"
    alter(session, f"SERDE '{LAZY}' WITH SERDEPROPERTIES ('field.delim' = ',')")
    assert session._store.table(T).field_delimiter == ","
    with pytest.raises(UnsupportedStatementError, match="SERDEPROPERTIES"):
        alter(session, "SERDEPROPERTIES ('escape.delim' = '-')")


def test_rows_of_an_insert_only_table_keep_their_delimiter(session: Session):
    session.execute(
        "CREATE TABLE t (a int, b int) STORED AS TEXTFILE TBLPROPERTIES ('transactional' = 'true',"
        " 'transactional_properties' = 'insert_only')"
    )
    alter(session, "SERDEPROPERTIES ('field.delim' = '|')")
    session.execute("INSERT INTO t VALUES (1, 2)")
    with pytest.raises(UnsupportedStatementError, match="stay as they are"):
        alter(session, "SERDEPROPERTIES ('field.delim' = ',')")


def test_types_that_texts_cannot_have(session: Session):
    session.execute("CREATE TABLE t (a array<int>) STORED AS PARQUET")
    with pytest.raises(UnsupportedStatementError, match="not supported in text files"):
        alter(session, "FILEFORMAT TEXTFILE")

"""acidsql/streaming/batch_keys.py

What Spark makes of the SQL is in integration/test_streaming_spark.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from acidsql.model.names import TableName
from acidsql.model.types import parse_type
from acidsql.streaming.batch_keys import KeyColumn, held, key_columns


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("decimal(5,1)", "CAST(k AS decimal(5,1))"),
        ("timestamp", "CAST(k AS timestamp_ntz)"),
        ("timestamp with local time zone", "CAST(k AS timestamp with local time zone)"),
        (
            "char(3)",
            "if(char_length(rtrim(CAST(k AS string))) > 3, CAST(k AS string),"
            " rpad(CAST(k AS string), 3, ' '))",
        ),
        (
            "varchar(3)",
            "if(char_length(rtrim(CAST(k AS string))) > 3, CAST(k AS string),"
            " left(CAST(k AS string), 3))",
        ),
        ("array<int>", "k"),
        ("void", "k"),
    ],
)
def test_what_a_column_will_hold(kind: str, sql: str) -> None:
    assert held("k", KeyColumn(parse_type(kind))) == sql


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("string", "nullif(nullif(CAST(k AS string), ''), '__HIVE_DEFAULT_PARTITION__')"),
        ("int", "CAST(k AS int)"),
    ],
)
def test_texts_that_name_no_partition_are_null(kind: str, sql: str) -> None:
    assert held("k", KeyColumn(parse_type(kind), names_partition=True)) == sql


def test_the_columns_of_a_table(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        session.execute(
            "CREATE TABLE `odd name` (Id char(3), s struct<a:int>)"
            " PARTITIONED BY (p date, `# q` string)"
            " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        )
        found = key_columns(session, TableName("default", "odd name"))
    assert found == {
        "id": KeyColumn(parse_type("char(3)")),
        "s": KeyColumn(parse_type("struct<a:int>")),
        "p": KeyColumn(parse_type("date"), names_partition=True),
        "# q": KeyColumn(parse_type("string"), names_partition=True),
    }


def test_a_table_without_partitions(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        session.execute("CREATE TABLE t (id int) TBLPROPERTIES ('transactional' = 'true')")
        found = key_columns(session, TableName("default", "t"))
    assert found == {"id": KeyColumn(parse_type("int"))}

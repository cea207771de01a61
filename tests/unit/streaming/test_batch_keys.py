"""acidsql/streaming/batch_keys.py

What Spark makes of the SQL is in integration/test_streaming_spark.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from acidsql.model.names import TableName
from acidsql.model.types import parse_type
from acidsql.streaming.batch_keys import column_types, stored


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
    assert stored("k", parse_type(kind)) == sql


def test_the_types_of_a_table(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        session.execute(
            "CREATE TABLE `odd name` (Id char(3), s struct<a:int>) PARTITIONED BY (p date)"
            " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        )
        found = column_types(session, TableName("default", "odd name"))
    expected = {"id": "char(3)", "s": "struct<a:int>", "p": "date"}
    assert found == {name: parse_type(kind) for name, kind in expected.items()}

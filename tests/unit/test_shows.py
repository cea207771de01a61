"""What DESCRIBE FORMATTED says of tables that are not full-ACID."""

from __future__ import annotations

import pytest

from acidsql.model.names import TableName
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import PrimitiveType
from acidsql.shows import describe_formatted


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

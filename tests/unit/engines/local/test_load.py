"""Files that LOAD DATA and IMPORT refuse, since Hive would not find the fields of structs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.local.load import checked_files
from acidsql.engines.row_files import RowFormat, RowWriter
from acidsql.errors import InvalidValueError
from acidsql.model.names import TableName
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import parse_type
from acidsql.orc.schema import row_schema
from acidsql.plans.load import LoadPlan

TYPE = "struct<Aa:int,b:array<struct<Cc:int>>,M:map<string,struct<Dd:int>>>"
NAME = TableName("default", "t")


def spelled(text: str) -> Column:
    return Column("s", parse_type(text, spelled=True))


def rows_of(path: Path, written: str, wanted: str, kind: FileFormat) -> int:
    """How many rows are found for a table in a file that has been written with another type."""
    columns = (Column("id", parse_type("int")), spelled(written))
    writer = RowWriter(str(path / "f"), RowFormat(columns, kind, "none"))
    values = [pa.array([1, 2], "int32"), pa.nulls(2, row_schema(columns).field("s").type)]
    writer.write_rows(pa.record_batch(values, ["id", "s"]))
    writer.close()
    table = Table(NAME, (columns[0], spelled(wanted)), f"{path}/t", format=kind)
    plan = LoadPlan(table=NAME, path=str(path / "f"))
    return sum(rows for _, rows, _ in checked_files(plan, table, LocalStorage()))


@pytest.mark.parametrize("kind", [FileFormat.ORC, FileFormat.AVRO])
@pytest.mark.parametrize("written", [TYPE.lower(), TYPE.replace("C", "c"), TYPE.replace("D", "d")])
def test_other_letters_than_those_of_the_table(
    tmp_path: Path, kind: FileFormat, written: str
) -> None:
    with pytest.raises(InvalidValueError, match=r'column "s".* other capital letters') as caught:
        rows_of(tmp_path, written, TYPE, kind)
    assert caught.value.detail == f"The table has {TYPE}."


@pytest.mark.parametrize("kind", [FileFormat.ORC, FileFormat.AVRO, FileFormat.PARQUET])
@pytest.mark.parametrize("wanted", [TYPE, TYPE.lower()])
def test_letters_that_are_found(tmp_path: Path, kind: FileFormat, wanted: str) -> None:
    assert rows_of(tmp_path, TYPE, wanted, kind) == 2

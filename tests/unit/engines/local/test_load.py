"""Files that LOAD DATA refuses, since Hive would not find the fields of structs."""

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


def rows_of(
    path: Path, written: str, wanted: str, kind: FileFormat, *, by_rows: bool = False
) -> int:
    """How many rows are found for a table in a file that has been written with another type."""
    columns = (Column("id", parse_type("int")), spelled(written))
    writer = RowWriter(str(path / "f"), RowFormat(columns, kind, "none"))
    values = [pa.array([1, 2], "int32"), pa.nulls(2, row_schema(columns).field("s").type)]
    writer.write_rows(pa.record_batch(values, ["id", "s"]))
    writer.close()
    table = Table(NAME, (columns[0], spelled(wanted)), f"{path}/t", format=kind)
    plan = LoadPlan(table=NAME, path=str(path / "f"), by_rows=by_rows, spelled=True)
    return sum(rows for _, rows, _ in checked_files(plan, table, LocalStorage()))


OTHERS = [
    (TYPE.lower(), TYPE),
    (TYPE.replace("C", "c"), TYPE),
    (TYPE.replace("D", "d"), TYPE),
    (TYPE, TYPE.lower()),
    (TYPE.lower().replace("d", "D"), TYPE.lower()),
]


@pytest.mark.parametrize("kind", [FileFormat.ORC, FileFormat.AVRO])
@pytest.mark.parametrize(("written", "wanted"), OTHERS)
def test_other_letters_than_those_of_the_table(
    tmp_path: Path, kind: FileFormat, written: str, wanted: str
) -> None:
    with pytest.raises(InvalidValueError, match=r'column "s".* other capital letters') as caught:
        rows_of(tmp_path, written, wanted, kind)
    assert caught.value.detail == f"The table has {wanted}."


@pytest.mark.parametrize("kind", [FileFormat.ORC, FileFormat.AVRO])
@pytest.mark.parametrize(("written", "wanted"), OTHERS)
def test_rows_that_are_read_get_the_letters_of_the_table(
    tmp_path: Path, kind: FileFormat, written: str, wanted: str
) -> None:
    assert rows_of(tmp_path, written, wanted, kind, by_rows=True) == 2


@pytest.mark.parametrize("kind", [FileFormat.ORC, FileFormat.AVRO, FileFormat.PARQUET])
@pytest.mark.parametrize("text", [TYPE, TYPE.lower()])
def test_letters_that_are_found(tmp_path: Path, kind: FileFormat, text: str) -> None:
    assert rows_of(tmp_path, text, text, kind) == 2


@pytest.mark.parametrize(("written", "wanted"), OTHERS)
def test_hive_finds_fields_of_parquet_by_any_letters(
    tmp_path: Path, written: str, wanted: str
) -> None:
    assert rows_of(tmp_path, written, wanted, FileFormat.PARQUET) == 2

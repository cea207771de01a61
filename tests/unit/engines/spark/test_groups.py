"""Which files one scan reads together, by the columns that their footers tell of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.groups import FileColumn, Schema, group_files, own_schema
from acidsql.errors import StorageError
from acidsql.model.ids import WriteId
from acidsql.model.row_id import RowId
from acidsql.model.table import Table
from acidsql.model.types import PrimitiveType, parse_type
from acidsql.orc.footer import FileTail, OrcType
from tests.unit.engines.tables import table

INT, STRING = OrcType(3), OrcType(7)
TABLE = table(Path("/w/t"), "id int, name string")


def file(name: str, *columns: tuple[str, OrcType]) -> SelectedFile:
    """A file of plain rows with these columns."""
    names, kinds = zip(*columns, strict=True)
    root = OrcType(12, tuple(range(1, len(names) + 1)), names)
    tail = FileTail(100, 1, (), {}, names, "NONE", 0, types=(root, *kinds))
    return SelectedFile(0, name, 100, None, False, RowId(WriteId(0), 1 << 29, 0), tail=tail)


def grouped(
    of: Table, *files: SelectedFile, by_position: bool = False, row_ids: bool = False
) -> tuple[dict[Schema, list[str]], list[str]]:
    groups, others = group_files(of, files, by_position=by_position, row_ids=row_ids)
    return {g.schema: [f.path for f in g.files] for g in groups}, [f.path for f in others]


def plain(*columns: FileColumn | None) -> Schema:
    return Schema(columns, plain=True)


ID = FileColumn("id", parse_type("int"))
NAME = FileColumn("name", parse_type("string"))
SAME = ("id", INT), ("name", STRING)


def test_files_of_one_schema_are_one_group_in_their_order() -> None:
    other = file("other", ("ID", INT), ("name", STRING))
    files = [file("a", *SAME), other, file("b", *SAME)]
    assert grouped(TABLE, *files) == (
        {plain(ID, NAME): ["a", "b"], plain(replace(ID, name="ID"), NAME): ["other"]}, [],
    )  # fmt: skip


def test_a_file_that_was_not_looked_into_has_the_tables_schema() -> None:
    events = replace(file("a", *SAME), first=None, tail=None)
    assert grouped(TABLE, events) == ({own_schema(TABLE): ["a"]}, [])
    assert own_schema(TABLE) == Schema((ID, NAME))


def test_a_column_that_a_file_lacks_is_asked_for_all_the_same() -> None:
    """So that files with and without it are one group."""
    files = [file("with", *SAME), file("without", ("id", INT))]
    assert grouped(TABLE, *files) == ({plain(ID, NAME): ["with", "without"]}, [])


def test_a_renamed_column_is_found_by_position() -> None:
    old = file("old", ("id", INT), ("was", STRING))
    assert grouped(TABLE, old, by_position=True) == (
        {plain(ID, replace(NAME, name="was")): ["old"]}, [],
    )  # fmt: skip
    assert grouped(TABLE, old) == ({plain(ID, NAME): ["old"]}, [])


def test_a_name_that_moved_to_another_column_is_not_asked_for() -> None:
    """The file's `name` is the table's `id` by position: it would be read twice."""
    moved = file("moved", ("name", INT))
    assert grouped(TABLE, moved, by_position=True) == (
        {plain(replace(ID, name="name"), None): ["moved"]}, [],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ((("_col0", INT), ("_col1", STRING)), "ORC would match by position"),
        ((("x", INT),), "none of the table's columns is there"),
    ],
)
def test_what_spark_cannot_ask_for_by_name(
    columns: tuple[tuple[str, OrcType], ...], why: str
) -> None:
    assert grouped(TABLE, file("a", *columns)) == ({}, ["a"]), why


def test_a_part_of_a_file_is_for_another_reader() -> None:
    assert grouped(TABLE, replace(file("a", *SAME), length=50)) == ({}, ["a"])


def test_rows_without_ids_are_for_another_reader_where_ids_are_wanted() -> None:
    events = replace(file("events", *SAME), first=None)
    assert grouped(TABLE, file("rows", *SAME), events, row_ids=True) == (
        {Schema((ID, NAME)): ["events"]}, ["rows"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        ("bigint", INT, FileColumn("c", parse_type("bigint"), converted=False)),
        ("double", INT, FileColumn("c", parse_type("double"), converted=True)),
        ("varchar(3)", STRING, FileColumn("c", parse_type("varchar(3)"), cut=True, converted=True)),
        ("varchar(3)", OrcType(16, length=3), FileColumn("c", parse_type("varchar(3)"))),
        ("char(3)", OrcType(17, length=2), FileColumn("c", parse_type("char(3)"), converted=True)),
    ],
)  # fmt: skip
def test_values_of_another_type(now: str, then: OrcType, expected: FileColumn) -> None:
    """Statistics of a file are those of what is seen, unless its values are converted."""
    found, _ = grouped(table(Path("/w/t"), f"c {now}"), file("a", ("c", then)))
    assert found == {plain(expected): ["a"]}


def test_fields_are_spelled_as_in_the_file() -> None:
    inner = OrcType(12, (2, 3), ("B", "a"))
    root = OrcType(12, (1,), ("s",))
    tail = FileTail(100, 1, (), {}, ("s",), "NONE", 0, types=(root, inner, INT, STRING))
    found, _ = grouped(
        table(Path("/w/t"), "s struct<a:string,b:int>"),
        replace(file("a", ("s", INT)), tail=tail),
    )
    [schema] = found
    [column] = schema.columns
    assert column is not None
    assert str(column.type) == "struct<a:string,B:int>"
    assert column.converted


def test_what_cannot_become_what_it_is_now_is_an_error() -> None:
    with pytest.raises(StorageError, match='column "id" of type int cannot be read'):
        grouped(TABLE, file("a", ("id", OrcType(15)), ("name", STRING)))


def test_a_column_without_a_type_is_of_no_file() -> None:
    void = replace(
        TABLE,
        columns=(*TABLE.columns, replace(TABLE.columns[0], name="v", type=PrimitiveType("void"))),
    )
    assert grouped(void, file("a", *SAME)) == ({plain(ID, NAME, None): ["a"]}, [])

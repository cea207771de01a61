"""By what the reader of insert files may skip stripes."""

from __future__ import annotations

from pathlib import Path

from acidsql.engines.spark.events import in_files
from acidsql.engines.spark.groups import FileColumn, own_schema
from acidsql.model.predicate import Predicate
from acidsql.model.types import parse_type
from tests.unit.engines.tables import columns, table

TABLE = table(Path("/w/t"), "a int, b string, c int")
A, B, C = (Predicate(column=name, operator=">", values=("1",)) for name in "abc")


def test_files_of_now_are_searched_by_the_tables_columns() -> None:
    assert in_files(TABLE, [A, B], own_schema(TABLE).columns) == (TABLE, [A, B])


def test_older_files_are_searched_by_the_names_and_values_they_hold() -> None:
    """Column a was called x, b was an int, and c came later."""
    found = [
        FileColumn("x", parse_type("int")),
        FileColumn("b", parse_type("string"), converted=True),
        None,
    ]
    there, predicates = in_files(TABLE, [A, B, C], found)
    assert there.columns == columns("x int")
    assert predicates == [Predicate(column="x", operator=">", values=("1",))]

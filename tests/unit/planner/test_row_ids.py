"""Which tables of a fragment show their row ids, where some of them have only NULLs."""

import pytest

from acidsql.grammar.parse import parse
from acidsql.model.names import TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.planner.text import Lowering

COLUMNS = (Column("k", parse_type("int")),)
ACID = {"transactional": "true"}
TABLES = {
    name: Table(TableName("d", name), COLUMNS, f"/{name}", parameters=parameters)
    for name, parameters in (("t", ACID), ("o", {}))
}


class TwoTables:
    """The Names port over a full-ACID table t, a plain table o and a frame f."""

    database = "d"
    temporary_tables = {}  # noqa: RUF012

    def find_table(self, name):
        return TABLES.get(name.table)

    def find_view(self, name):
        return None

    def is_frame(self, name):
        return name == "f"

    def is_temporary_view(self, name):
        return False


@pytest.mark.parametrize(
    ("changes_rows", "sql", "shown"),
    [
        (False, "SELECT row__id FROM o", [True]),
        (False, "SELECT row__id FROM o, t", [False, True]),
        (False, "SELECT row__id, o.row__id FROM o, t", [True, True]),
        (False, "SELECT row__id FROM o, f", [False, False]),
        (True, "SELECT row__id FROM o", [False]),
        (True, "SELECT o.row__id FROM o", [False]),
    ],
)
def test_the_row_ids_of_a_plain_table_take_the_place_of_no_others(sql, *, changes_rows, shown):
    lowered = Lowering(TwoTables(), {}, changes_rows=changes_rows).text(parse(sql).source)
    assert [bool(getattr(source, "hidden", ())) for source in lowered.sources] == shown

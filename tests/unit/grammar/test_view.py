"""The query inside of Hive's renaming of columns."""

import pytest

from acidsql.grammar.view import unwrapped
from acidsql.model.names import TableName
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.model.view import View

INNER = "SELECT `t`.`c`, count(*) FROM `default`.`t` GROUP BY `t`.`c`"


def view(text, original="SELECT c, count(*) FROM t GROUP BY c"):
    columns = tuple(Column(name, parse_type("int")) for name in ("x", "y"))
    return View(TableName("default", "v"), columns, original, text)


@pytest.mark.parametrize("alias", ["`default.v`", "`v`", "v"])
def test_names_of_hives_own_are_read_by_position(alias):
    assert unwrapped(view(f"SELECT `c` AS `x`, `_c1` AS `y` FROM ({INNER}) {alias}")) == INNER


@pytest.mark.parametrize(
    "text",
    [
        INNER,
        f"SELECT `c` AS `x`, `n` AS `y` FROM ({INNER}) `default.v`",
        f"SELECT `_c1` AS `x`, `c` AS `y` FROM ({INNER}) `default.v`",
        f"SELECT `c` AS `y`, `_c1` AS `x` FROM ({INNER}) `default.v`",
        f"SELECT `c` AS `x`, `_c1` AS `y` FROM ({INNER}) `other`",
        f"SELECT `c` AS `x`, `_c1` AS `y` FROM ({INNER}) `v` LIMIT 1",
        f"SELECT `c` AS `x`, `_c1` AS `y` FROM ({INNER}) `v`, u",
        f"SELECT DISTINCT `c` AS `x`, `_c1` AS `y` FROM ({INNER}) `v`",
        f"SELECT `c` AS `x`, `_c1` + 1 AS `y` FROM ({INNER}) `v`",
        "SELECT `c` AS `x`, `_c1` AS `y` FROM `v`",
        "SELECT `c` AS `x`, `_c1` AS `y` FROM () `v`",
        "SELECT `c` AS",
        "",
    ],
)
def test_other_texts_are_read_as_they_are(text):
    assert unwrapped(view(text)) is None


def test_a_name_that_the_user_wrote_is_no_place():
    text = f"SELECT `c` AS `x`, `_c1` AS `y` FROM ({INNER}) `v`"
    assert unwrapped(view(text, original=text)) is None

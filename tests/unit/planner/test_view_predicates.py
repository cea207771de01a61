"""Predicates around a view that are handed down to the tables in it."""

import pytest

from acidsql.grammar.parse import parse
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.model.view import View
from acidsql.planner.view_predicates import handed_down

INT, TEXT = parse_type("int"), parse_type("string")
T = Table(TableName("d", "t"), (Column("k", INT), Column("v", TEXT)), "/t")
ONE = Predicate(column="x", operator="=", values=("1",))


def down(text, *kinds, tables=(T,)):
    columns = tuple(Column(name, kind) for name, kind in zip("xyz", kinds, strict=False))
    view = View(TableName("d", "v"), columns, text, text)
    return handed_down(view, parse(text).source, tables, [ONE])


def test_a_column_gets_the_predicates_of_its_place():
    expected = {0: (Predicate(column="k", operator="=", values=("1",)),)}
    assert down("SELECT k FROM d.t", INT) == expected
    assert down("SELECT r.k, v FROM d.t AS r WHERE v > 'a' ORDER BY v", INT, TEXT) == expected
    assert down("SELECT x.k FROM (SELECT k, v FROM d.t) AS x WHERE v > 'a'", INT) == expected
    other = {0: (Predicate(column="v", operator="=", values=("1",)),)}
    assert down("SELECT v, k FROM d.t", TEXT, INT) == other


def test_a_column_that_has_another_type_now_gets_none():
    """The text of the value was made for the type that the view has."""
    assert down("SELECT k FROM d.t", parse_type("decimal(3,1)")) == {}
    assert down("SELECT v FROM d.t", INT) == {}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM d.t LIMIT 3",
        "SELECT k FROM d.t OFFSET 1",
        "SELECT max(k) FROM d.t",
        "SELECT k + 0 AS k FROM d.t",
        "SELECT (SELECT k) AS k FROM d.t",
        "SELECT k FROM d.t GROUP BY k HAVING count(*) > 1",
        "SELECT k FROM d.t LATERAL VIEW explode(array(1)) e AS k2",
        "SELECT k FROM (SELECT * FROM d.t)",
        "SELECT k FROM (SELECT v, k FROM d.t) AS x (k, v)",
        "SELECT k FROM (SELECT DISTINCT k, v FROM d.t)",
        "SELECT k FROM (SELECT k FROM d.t LIMIT 1)",
        "SELECT k FROM (SELECT k FROM d.t TABLESAMPLE (1 ROWS))",
        "SELECT k FROM (SELECT k FROM d.t AS x (k, v))",
        "SELECT k FROM (SELECT k FROM d.t) TABLESAMPLE (1 ROWS)",
        "SELECT k FROM (SELECT k FROM d.t JOIN d.t USING (k))",
        "SELECT k FROM (SELECT length(v) AS k FROM d.t)",
        "SELECT k FROM d.t TABLESAMPLE (1 ROWS)",
        "WITH w AS (SELECT 1) SELECT k FROM d.t",
        "SELECT * FROM d.t",
        "VALUES (1)",
    ],
)
def test_what_makes_rows_of_several_gets_none(text):
    assert down(text, INT) == {}


def test_of_several_tables_the_column_says_which():
    tables = (T, T)
    expected = {1: (Predicate(column="k", operator="=", values=("1",)),)}
    assert (
        down("SELECT b.k FROM d.t a FULL JOIN d.t b ON a.v = b.v", INT, tables=tables) == expected
    )
    assert down("SELECT k FROM d.t a JOIN d.t b USING (k)", INT, tables=tables) == {}
    assert down("SELECT t.k FROM d.t JOIN d.t ON true", INT, tables=tables) == {}

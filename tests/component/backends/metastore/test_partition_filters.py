"""What is said in the metastore's filter language, and what had better not be."""

import pytest

from acidsql.backends.metastore.partition_filters import filter_text
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type

KINDS = {"s": "string", "n": "bigint", "d": "date", "x": "decimal(5,2)", "date": "string"}
TABLE = Table(
    TableName("default", "t"),
    (Column("id", parse_type("int")),),
    "/t",
    tuple(Column(name, parse_type(kind)) for name, kind in KINDS.items()),
)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Predicate("n", "=", ("7",)), "n = 7"),
        (Predicate("n", ">=", ("-7",)), "n >= -7"),
        (Predicate("n", "in", ("1", "2")), "(n = 1 or n = 2)"),
        (Predicate("s", "=", ("eu west/1",)), 's = "eu west/1"'),
        (Predicate("s", "in", ("eu",)), 's = "eu"'),
        pytest.param(Predicate("s", "<", ("eu",)), "", id="collations differ"),
        pytest.param(Predicate("s", "=", ('a"b',)), "", id="no way to quote it"),
        pytest.param(Predicate("s", "=", ("Zürich",)), "", id="may be another character set"),
        pytest.param(Predicate("s", "in", ("eu", "ü")), "", id="one of several"),
        pytest.param(Predicate("d", "=", ("2026-01-01",)), "", id="a date"),
        pytest.param(Predicate("x", "=", ("1.50",)), "", id="a decimal"),
        pytest.param(Predicate("date", "=", ("a",)), "", id="a word of the language"),
        pytest.param(Predicate("id", "=", ("7",)), "", id="no partition column"),
        pytest.param(Predicate("n", "in", tuple(map(str, range(101)))), "", id="too long"),
    ],
)
def test_one_predicate(predicate: Predicate, text: str) -> None:
    assert filter_text(TABLE, [predicate]) == text


def test_several_predicates_all_hold() -> None:
    some = [Predicate("n", ">", ("1",)), Predicate("d", "=", ("x",)), Predicate("s", "=", ("a",))]
    assert filter_text(TABLE, some) == 'n > 1 and s = "a"'

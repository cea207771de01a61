"""Predicates as Spark's conditions; what Spark might compare otherwise is left to the query."""

import pytest

from acidsql.engines.spark.conditions import conditions
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column
from acidsql.model.types import parse_type


@pytest.mark.parametrize(
    ("kind", "operator", "values", "texts"),
    [
        ("bigint", ">=", ("-7",), ["row.c >= (-7)"]),
        ("tinyint", "in", ("1", "300"), ["row.c in (1, 300)"]),
        ("date", "<", ("0001-01-01",), ["row.c < (date'0001-01-01')"]),
        ("string", "=", ("it's \\",), ["row.c = ('it\\'s \\\\')"]),
        ("varchar(3)", "=", ("a",), ["row.c = ('a')"]),
        ("char(3)", "=", ("a",), []),
        ("decimal(5,2)", "=", ("1.5",), ["row.c = (cast('1.5' as decimal(5,2)))"]),
        (
            "decimal(9,9)",
            "<=",
            ("0.000000001",),
            ["row.c <= (cast('0.000000001' as decimal(9,9)))"],
        ),
        pytest.param("decimal(5,2)", "=", ("1.555",), [], id="more decimals than the column"),
        pytest.param("decimal(5,2)", "<", ("1000",), [], id="beyond the column"),
        pytest.param("decimal(5,2)", "<", ("1" * 37,), [], id="far beyond the column"),
        pytest.param("decimal(5,2)", "<", (f"0.{'1' * 36}",), [], id="far more decimals"),
        pytest.param("decimal(38,18)", "=", ("1",), [], id="Spark may round"),
        pytest.param("decimal(5,2)", "in", ("1", "1.555"), [], id="one of several"),
    ],
)
def test_one_predicate(kind: str, operator: str, values: tuple[str, ...], texts: list[str]) -> None:
    predicate = Predicate("c", operator, values)  # type: ignore[arg-type]
    assert list(conditions([predicate], [Column("c", parse_type(kind))], {"c": "row.c"})) == texts


def test_several_predicates_all_hold() -> None:
    columns = [Column("a", parse_type("int")), Column("b", parse_type("int"))]
    some = [Predicate("b", ">", ("1",)), Predicate("d", "=", ("x",)), Predicate("a", "=", ("2",))]
    assert list(conditions(some, columns, {"a": "x", "b": "y"})) == ["y > (1)", "x = (2)"]

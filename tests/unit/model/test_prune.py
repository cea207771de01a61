"""Which partitions predicates leave; what is not certain stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.model.predicate import Operator, Predicate
from acidsql.model.prune import prune_partitions, whole_partitions
from tests.unit.engines.tables import snapshot, table


def left(
    kind: str, values: list[str], *predicates: tuple[str, Operator, tuple[str, ...]]
) -> list[str]:
    of = table(Path("/t"), "k int", f"p {kind}")
    partitions = snapshot(of, 1, partitions=[f"p={v}" for v in values]).partitions
    asked = [Predicate(column=c, operator=o, values=v) for c, o, v in predicates]
    kept = prune_partitions(of, partitions, asked)
    return [str(p.name).removeprefix("p=") for p in kept]


NULL = "__HIVE_DEFAULT_PARTITION__"
NUMBERS = ["-10", "-9", "0", "007", "10", NULL]


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("=", ("7",), ["007"]),
        ("=", ("3",), []),
        ("in", ("-9", "10"), ["-9", "10"]),
        ("<", ("0",), ["-10", "-9"]),
        ("<=", ("0",), ["-10", "-9", "0"]),
        (">", ("7",), ["10"]),
        (">=", ("7",), ["007", "10"]),
    ],
)
def test_numbers_compare_as_numbers(
    operator: Operator, values: tuple[str, ...], expected: list[str]
) -> None:
    assert left("int", NUMBERS, ("p", operator, values)) == expected
    assert left("decimal(5,2)", NUMBERS, ("p", operator, values)) == expected


def test_texts_and_dates_compare_as_texts() -> None:
    assert left("string", ["a", "B", "ä", NULL], ("p", ">", ("a",))) == ["ä"]
    assert left("date", ["2020-01-31", "2020-02-01"], ("p", "<", ("2020-02-01",))) == ["2020-01-31"]
    # Spark reads these texts as dates, too.
    odd = ["2020-2-1", "2020-02-1"]
    assert left("date", ["2020-01-31", *odd], ("p", "=", ("2020-02-01",))) == odd


def test_escaped_values_are_compared_unescaped() -> None:
    assert left("string", ["a%2Fb", "c"], ("p", "=", ("a/b",))) == ["a%2Fb"]


def test_what_is_no_value_of_the_type_stays() -> None:
    assert left("int", ["ten", "1"], ("p", "=", ("1",))) == ["ten", "1"]
    assert left("boolean", ["true", "false"], ("p", "=", ("true",))) == ["true", "false"]


def test_what_is_asked_for_and_no_value_of_the_type_says_nothing() -> None:
    assert left("int", ["1", "2"], ("p", "in", ("1", "ten"))) == ["1", "2"]


def test_other_columns_say_nothing() -> None:
    assert left("int", ["1", "2"], ("k", "=", ("1",))) == ["1", "2"]


def test_all_predicates_must_hold() -> None:
    assert left("int", ["1", "2", "3"], ("p", ">", ("1",)), ("p", "<", ("3",))) == ["2"]


def test_a_table_without_partitions_is_one_directory() -> None:
    of = table(Path("/t"), "k int")
    places = snapshot(of, 1).partitions
    asked = [Predicate(column="k", operator="=", values=("1",))]
    assert prune_partitions(of, places, asked) == list(places)


@pytest.mark.parametrize(
    ("kind", "values", "wanted", "expected"),
    [
        ("int", ["7", "-7", "0", NULL], "7", ["7"]),
        ("int", ["007", "8"], "7", None),
        ("int", ["x", "8"], "8", None),
        ("int", ["-0"], "0", None),
        ("int", ["٧"], "7", None),
        ("tinyint", ["300"], "300", None),
        ("date", ["2020-01-31", "2020-02-01", NULL], "2020-02-01", ["2020-02-01"]),
        ("date", ["2020-13-01"], "2020-13-01", None),
        ("string", ["a", "A", NULL], "a", ["a"]),
        ("decimal(5,2)", ["1.5"], "1.5", None),
        ("varchar(3)", ["abcd"], "abcd", None),
        ("int", ["8", NULL], "7", []),
    ],
)
def test_whole_partitions_are_those_in_which_it_is_certain(
    kind: str, values: list[str], wanted: str, expected: list[str] | None
) -> None:
    of = table(Path("/t"), "k int", f"p {kind}")
    partitions = snapshot(of, 1, partitions=[f"p={v}" for v in values]).partitions
    kept = whole_partitions(of, partitions, [Predicate("p", "=", (wanted,))])
    names = None if kept is None else [str(p.name).removeprefix("p=") for p in kept]
    assert names == expected


def test_without_predicates_all_partitions_are_whole() -> None:
    of = table(Path("/t"), "k int", "p boolean")
    partitions = snapshot(of, 1, partitions=["p=true", f"p={NULL}"]).partitions
    assert whole_partitions(of, partitions, []) == list(partitions)

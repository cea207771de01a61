"""Every fragment is the user's own text, and every place in it is exact."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import DependencyError, SqlSyntaxError, UnsupportedStatementError
from acidsql.grammar.dialect import new_parser
from acidsql.grammar.escapes import string_value
from acidsql.grammar.parse import parse
from acidsql.model.types import PrimitiveType
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.statements import Delete, Insert, Merge, Update
from acidsql.statements.fragment import Fragment, TableRef
from acidsql.statements.insert import ValueList

SPACES = st.sampled_from([" ", "\n", "\t ", " /* ' ; ? */ ", " -- :x `\n", "  "])
EXPRESSIONS = [
    "a",
    "t . b",
    "'it\\'s :x ?'",
    "?",
    ":p",
    "-1.5e3",
    "CASE WHEN a > 1 THEN 'x' END",
    "(SELECT max(v) FROM db.`s t` AS x WHERE x.a = :q)",
    "cast(a AS struct<f:int,g:array<string>>)",
    "(SELECT count(*) FROM s)",
    "row__id.writeid",
    "é",
    "a IN (1, ?, 3)",
]
QUERIES = [
    "SELECT * FROM s",
    "SELECT s.*, u.a FROM db.s JOIN u ON s.a = u.a WHERE s.b = ?",
    "WITH t AS (SELECT * FROM t) SELECT :p, a FROM t",
    "TABLE s",
    "(SELECT a FROM s) UNION ALL SELECT ? FROM u",
    "VALUES (1, ?), (:p, 'x')",
]
expressions = st.sampled_from(EXPRESSIONS)
TEMPLATES = [
    "UPDATE @db . t@AS@x@SET@a =@{e}@,@b={e}@WHERE@{e}",
    "DELETE@FROM@t@WHERE@{e}",
    "INSERT@INTO@t@(a, b)@VALUES@({e}@,@{e}),({e},{e}@)",
    "INSERT@INTO@t@{q}",
    "{q}",
    "MERGE INTO t@USING@(@{q}@)@AS s@ON@{e}@WHEN@MATCHED AND {e}@THEN@DELETE@"
    "WHEN NOT MATCHED@THEN INSERT VALUES (@{e},@{e})",
    "EXPLAIN@UPDATE t SET a = {e}",
]


def refill(fragment: Fragment) -> str:
    """The fragment with each place filled with what stands there."""
    return fragment.fill(
        table=lambda _, ref: (fragment.text[ref.start : ref.end], ""),
        parameter=lambda name: "?" if name.startswith("_") else f":{name}",
        star=lambda star: fragment.text[star.start : star.end],
    )


@st.composite
def statements(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEMPLATES))
    while "{e}" in text:
        text = text.replace("{e}", draw(expressions), 1)
    while "{q}" in text:
        text = text.replace("{q}", draw(st.sampled_from(QUERIES)), 1)
    while "@" in text:
        text = text.replace("@", draw(SPACES), 1)
    return text


def fragments(value: Any) -> Iterator[Fragment]:
    """Every fragment of a statement, outermost first."""
    if isinstance(value, Fragment):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from fragments(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from fragments(getattr(value, field.name))


def offset(text: str, line: int, column: int) -> int:
    return sum(len(before) + 1 for before in text.split("\n")[: line - 1]) + column - 1


@given(statements())
def test_a_fragment_is_a_slice_of_the_statement(text: str) -> None:
    found = list(fragments(parse(text)))
    assert found
    for fragment in found:
        at = offset(text, fragment.line, fragment.column)
        assert text[at : at + len(fragment.text)] == fragment.text


@given(statements())
def test_places_are_those_of_the_names_and_parameters(text: str) -> None:
    for fragment in fragments(parse(text)):
        base = offset(text, fragment.line, fragment.column)
        for ref in fragment.tables:
            written = fragment.text[ref.start : ref.end]
            assert written.replace("`", "").split(".")[-1] == ref.table
            assert base + ref.start == offset(text, ref.line, ref.column)
        for place in fragment.parameters:
            written = fragment.text[place.start : place.end]
            assert written == ("?" if place.name.startswith("_") else f":{place.name}")
        for star in fragment.stars:
            assert fragment.text[star.start : star.end].endswith("*")


@given(statements())
def test_filling_in_what_is_there_changes_nothing(text: str) -> None:
    for fragment in fragments(parse(text)):
        assert refill(fragment) == fragment.text


@given(statements())
def test_question_marks_are_numbered_over_the_statement(text: str) -> None:
    statement = parse(text)
    names = [p.name for f in fragments(statement) for p in f.parameters if p.name.startswith("_")]
    assert sorted(names) == sorted(f"_{n}" for n in range(1, len(names) + 1))


@given(statements(), st.integers(1, 50), st.integers(1, 50))
def test_places_count_from_the_place_in_the_script(text: str, line: int, column: int) -> None:
    plain, moved = fragments(parse(text)), fragments(parse(text, line, column))
    for a, b in zip(plain, moved, strict=True):
        assert b.line == a.line + line - 1
        assert b.column == (a.column + column - 1 if a.line == 1 else a.column)


def test_an_error_counts_from_the_place_in_the_script() -> None:
    with pytest.raises(UnsupportedStatementError) as caught:
        parse("UNDROP TABLE t", 7, 5)
    assert (caught.value.line, caught.value.column) == (7, 5)
    with pytest.raises(SqlSyntaxError) as second:
        parse("SELECT a\n  FROM t WHERE )", 7, 5)
    assert (second.value.line, second.value.column) == (8, 16)


def test_the_source_table_of_merge_covers_its_text() -> None:
    statement = parse("MERGE INTO t USING db . `s` AS x ON t.a = x.a WHEN MATCHED THEN DELETE")
    assert isinstance(statement, Merge)
    assert statement.source.text == "db . `s`"
    assert statement.source.tables == (TableRef("db", "s", "x", 0, 8, 1, 20),)


def test_the_target_stands_at_its_place_in_the_statement() -> None:
    text = "UPDATE /* x */ `my db` . t AS u SET a = 1"
    statement = parse(text)
    assert isinstance(statement, Update)
    assert text[statement.target.start : statement.target.end] == "`my db` . t"


def test_rows_of_values_have_trees() -> None:
    statement = parse(r"INSERT INTO t VALUES (1, -2, 'a\tb', NULL, true, DATE '2026-01-01', x + 1)")
    assert isinstance(statement, Insert)
    assert isinstance(statement.source, ValueList)
    [values] = statement.source.rows
    trees = [value.tree for value in values if isinstance(value, Fragment)]
    assert [tree.key for tree in trees] == [
        "literal",
        "neg",
        "literal",
        "null",
        "boolean",
        "cast",
        "add",
    ]
    assert trees[2].name == "a\tb"


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'a\\b'", "a\\b"),
        (r"'\n\0\Z'", "\n\0\x1a"),
        (r"'\101\x\201\18'", "Ax20118"),
        (r"'\ud83d\ude00\ud83'", "😀ud83"),
        (r"'\U0001F600'", "😀"),
        (r"'\%\_'", r"\%\_"),
        (r"R'\n'", r"\n"),
        (r'"it\"s"', 'it"s'),
    ],
)
def test_string_values_are_sparks(literal: str, value: str) -> None:
    assert string_value(literal) == value


class CompiledParser:
    """What the package sqlglotc makes of a parser: a subclass in Python has no objects."""

    def __init__(self, **_: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")


def test_a_parser_that_cannot_be_extended_is_named() -> None:
    with pytest.raises(DependencyError, match="interpreted classes") as raised:
        new_parser(CompiledParser)  # type: ignore[arg-type]
    assert "pip uninstall sqlglotc" in str(raised.value)


@pytest.mark.parametrize("number", ["²", "٣", "1" * 5000])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (c char({}))",
        "CREATE TABLE t (c decimal({}))",
        "CREATE TABLE t (c int) CLUSTERED BY (c) INTO {} BUCKETS",
        "CREATE TABLE t (c int) ROW FORMAT DELIMITED FIELDS TERMINATED BY '{}' STORED AS TEXTFILE",
        "SELECT * FROM t TABLESAMPLE (BUCKET {} OUT OF 4)",
        "ABORT TRANSACTIONS {}",
    ],
)
def test_what_is_no_number_for_spark(statement: str, number: str) -> None:
    with pytest.raises((SqlSyntaxError, UnsupportedStatementError)):
        parse(statement.format(number))


@pytest.mark.parametrize("cell", ["٣", "-٣", "٣.٥", "²"])
def test_no_digits_of_another_script_in_values(cell: str) -> None:
    statement = parse(f"INSERT INTO t VALUES ({cell})")
    assert isinstance(statement, Insert)
    assert isinstance(statement.source, ValueList)
    [[value]] = statement.source.rows
    assert isinstance(value, Fragment)
    with pytest.raises(NotLiteral):
        cell_text(value, PrimitiveType("int"), {}, "c")


@pytest.mark.parametrize(
    "literal", [r"'a\101'", r"'\u0041'", r"'\d\%'", r"'\U0001F600\Z'", r"'\v'", r"'\''"]
)
def test_strings_of_conditions_have_the_values_of_spark(literal: str) -> None:
    """With each version of sqlglot: partitions and files are left out by these values."""
    statement = parse(f"DELETE FROM t WHERE s = {literal}")
    assert isinstance(statement, Delete)
    assert statement.where is not None
    assert statement.where.tree.right.name == string_value(literal)

"""acidsql/grammar/runs.py: a run is planned as the same constants are that are read one by one

A comment keeps constants from being a run, and changes nothing else.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import AcidSqlError
from acidsql.grammar.lexer import Kind, lex
from acidsql.grammar.parse import parse
from acidsql.grammar.runs import RUN_MIN
from acidsql.statements.fragment import Constant
from acidsql.statements.insert import Insert, ValueList
from grammar_tests.planning import plan

TABLES = [
    "t (i int, s string, d decimal(8,2), f double, b boolean, day date, at timestamp)"
    " partitioned by (p int)",
    "l (i bigint, s string, d decimal(8,2), day date) partitioned by (p int, q string, r date)",
]
NUMBERS = st.one_of(
    st.integers(-(10**20) + 1, 10**20 - 1).map(str),
    st.decimals(-(10**6), 10**6, places=2).map(str),
    st.sampled_from(["007", "-0", "- 5", "-0.00", "0.10", "12345678901234567890"]),
)
STRINGS = st.one_of(
    st.text(st.sampled_from("aé表 ,()'\"\n-;/*")).map(lambda t: f"'{t.replace(chr(39), '')}'"),
    st.sampled_from(['"a\'b"', "''", "'2024-02-29'", "'2024-02-30'", "'12'", "'-1.5'", "'true'"]),
)
TIMES = ["TIMESTAMP '2024-01-31 00:00:59'", "timestamp'2024-12-01 23:59:59.05'"]
DAYS = ["DATE '2024-01-31'", "date'2024-12-01'"]
OTHERS = st.sampled_from(["NULL", "null", "TRUE", "False", *DAYS, *TIMES])
CELLS = st.one_of(NUMBERS, STRINGS, OTHERS)


def outcome(sql: str) -> str:
    """The plan of a statement, or its error, without the comment."""
    try:
        found = repr(plan(sql, TABLES))
    except AcidSqlError as error:
        found = f"{type(error).__name__} {error.message} {error.detail} {error.line}"
    return " ".join(found.replace("/**/", " ").split())


def has_run(sql: str) -> bool:
    return any(token.kind is Kind.RUN for token in lex(sql, runs=True))


@given(
    st.sampled_from(["i", "s", "d", "f", "b", "day", "at"]),
    st.lists(CELLS, min_size=1, max_size=4),
    st.sampled_from([" ", "\n ", ""]),
)
def test_rows(column: str, cells: list[str], space: str) -> None:
    rows = f",{space}".join(f"({space}{cell},{space}7)" for cell in cells * RUN_MIN)
    run, others = (
        f"INSERT INTO t ({column}, p) VALUES{between}{rows}" for between in ("    ", "/**/")
    )
    assert has_run(run)
    assert not has_run(others)
    assert outcome(run) == outcome(others)


@pytest.mark.parametrize(
    "day", ["2024-13-01", "2023-02-29", "2024-02-29", "0000-01-01", "2024-04-31"]
)
@pytest.mark.parametrize("column", ["i", "s", "day"])
def test_days_that_a_run_does_not_know(column: str, day: str) -> None:
    rows = ", ".join([f"(DATE '{day}', 7)"] * RUN_MIN)
    assert not has_run(f"INSERT INTO t ({column}, p) VALUES    {rows}")
    is_there = day == "2024-02-29" and column != "i"
    assert ("does not fit" in outcome(f"INSERT INTO t ({column}, p) VALUES {rows}")) != is_there


@given(
    st.sampled_from(["i", "s", "d", "day", "p", "q", "r"]),
    st.lists(st.one_of(NUMBERS, STRINGS), min_size=1, max_size=4),
)
def test_items(column: str, items: list[str]) -> None:
    listed = ", ".join(items * RUN_MIN)
    for statement in ("SELECT * FROM l WHERE {}", "DELETE FROM l WHERE i = 1 AND l.{}"):
        run = statement.format(f"{column} IN (    {listed})")
        others = statement.format(f"{column} IN (/**/{listed})")
        assert has_run(run)
        assert not has_run(others)
        assert outcome(run) == outcome(others)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t (i, p) VALUES {rows}, (now(), 2)",
        "INSERT INTO t (i, p) VALUES {rows}, (3, :x)",
        "INSERT INTO t (i, p) VALUES {rows}, (DEFAULT, 3)",
        "INSERT INTO t (i, p) VALUES {rows}, (DEFAULT, now())",
        "INSERT INTO t BY NAME SELECT * FROM VALUES {rows} AS v (i, p)",
        "FROM (SELECT i FROM l WHERE i IN ({items})) x INSERT INTO t (i, p) SELECT i, 1"
        " INSERT INTO t (i, p) SELECT i, 2 WHERE i NOT IN ({items})",
        "INSERT INTO t (i, p) VALUES {rows} UNION ALL SELECT 1, 2",
        "SELECT * FROM VALUES {rows} AS v (a, b) WHERE a IN ({items}) OR b NOT IN ({items})",
        "SELECT * FROM l WHERE i IN ({items}) AND f(i, {items}) = ({items})",
        "SELECT i IN ({items}) FROM l JOIN t ON l.i IN ({items}) HAVING max(s) IN ({items})",
        "SELECT * FROM l WHERE i IN ({items}) AND i IN (SELECT i FROM t WHERE i IN ({items}))",
        "MERGE INTO l USING (VALUES {rows}) AS s (a, b) ON l.i = s.a AND l.i IN ({items})"
        " WHEN MATCHED THEN DELETE",
    ],
)
def test_in_all_places(sql: str) -> None:
    rows = ", ".join(f"({n}, {n})" for n in range(40))
    items = ", ".join(map(str, range(40)))
    run = sql.replace("VALUES {", "VALUES    {").replace("({items", "(    {items")
    others = sql.replace("VALUES {", "VALUES/**/{").replace("({items", "(/**/{items")
    run, others = (text.format(rows=rows, items=items) for text in (run, others))
    assert outcome(run) == outcome(others)


def test_a_row_of_another_width_is_refused_at_its_place() -> None:
    rows = "(1, 2), " * 50 + "(3), (4, 5)"
    with pytest.raises(AcidSqlError, match="row 51 of VALUES has 1 values, row 1 has 2") as info:
        parse(f"INSERT INTO t VALUES\n{rows}")
    assert (info.value.line, info.value.column) == (2, 401)


def test_a_value_of_a_run_that_does_not_fit_has_its_place() -> None:
    rows = "(1, 2),\n" * 50 + "(3, 'x')"
    with pytest.raises(AcidSqlError, match="'x' does not fit") as info:
        plan(f"INSERT INTO t (i, p) VALUES\n{rows}", TABLES)
    assert (info.value.line, info.value.column) == (52, 5)


def test_few_rows_and_items_are_no_run() -> None:
    assert not has_run("INSERT INTO t VALUES " + ", ".join(["(1)"] * (RUN_MIN - 1)))
    assert not has_run(f"SELECT a IN ({', '.join(['1'] * (RUN_MIN - 1))})")
    statement = parse("INSERT INTO t VALUES " + ", ".join(["(1)"] * RUN_MIN))
    assert isinstance(statement, Insert)
    assert isinstance(statement.source, ValueList)
    assert all(isinstance(cell, Constant) for row in statement.source.rows for cell in row)

"""Runs every golden; ACIDSQL_REWRITE_GOLDENS=1 rewrites what they expect."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql import statements
from acidsql.errors import SqlError
from acidsql.grammar.parse import parse
from acidsql.plans.explain import explain
from grammar_tests.golden import Case, read_cases, rewrite
from grammar_tests.planning import plan
from grammar_tests.render import render

HERE = Path(__file__).parent
REWRITE = os.environ.get("ACIDSQL_REWRITE_GOLDENS") == "1"


def run_parse(case: Case) -> str:
    """The statement."""
    return render(parse(case.sql))


def run_plan(case: Case) -> str:
    """The plan."""
    return explain(plan(case.sql, case.tables))


def run_refuse(case: Case) -> str:
    """The error and its hint; fails if the statement is accepted.

    Where tables are declared, a statement that parses is planned.
    """
    try:
        statement = parse(case.sql)
        if case.tables:
            statement = plan(case.sql, case.tables)
    except SqlError as error:
        code = f" [Hive error {error.code}]" if error.code is not None else ""
        lines = [f"error at {error.line}:{error.column}: {error.message}{code}"]
        if case.tables and error.detail:
            lines.append(f"detail: {error.detail}")
        if error.hint:
            lines.append(f"hint: {error.hint}")
        return "\n".join([*lines, f"({type(error).__name__})"])
    raise AssertionError(f"{case.id} is not refused:\n{render(statement)}")


COMMANDS: dict[str, Callable[[Case], str]] = {
    "parse": run_parse,
    "plan": run_plan,
    "refuse": run_refuse,
}

CASES = [case for path in sorted(HERE.glob("*/*.test")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_golden(case: Case) -> None:
    answer = COMMANDS[case.command](case)
    if REWRITE:
        rewrite(case.path, {_line_now(case): answer})
        return
    assert answer == case.expected


def _line_now(case: Case) -> int:
    """The line of the case in its file, which earlier rewrites may have moved."""
    ids = [other.line for other in CASES if other.path == case.path]
    return read_cases(case.path)[ids.index(case.line)].line


def test_every_statement_kind_has_a_file() -> None:
    kinds = {type(parse(case.sql)).__name__ for case in CASES if case.command == "parse"}
    classes = {name for name in statements.__all__ if isinstance(getattr(statements, name), type)}
    missing = classes - kinds
    assert not missing

"""Runs the cases: acidsql and Hive in turn, the same rows after every turn."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import AcidSqlError
from tests.integration.hive.cases import Case, Turn, read_cases
from tests.integration.hive.process import HiveError
from tests.integration.hive.shared import Row, Shared

pytestmark = pytest.mark.hive

CASES = [
    pytest.param(case, id=f"{path.stem}-{case.name.replace(' ', '-')}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.test"))
    for case in read_cases(path)
]


@pytest.mark.parametrize("case", CASES)
def test_case(case: Case, shared: Shared) -> None:
    before: dict[str, list[Row]] = {}
    for turn in case.turns:
        if turn.version in (None, shared.hive.version):
            take(turn, shared)
            before = compared(turn, shared, before)


def take(turn: Turn, shared: Shared) -> None:
    """One turn, its answer and its error."""
    match turn.who:
        case "rows":
            table, count = turn.text.split()
            assert len(shared.rows(table)) == int(count), turn.place
        case "keep":
            shared.keep(turn.text)
        case "copy":
            shared.copy(turn.text)
        case "files":
            table, pattern, count = turn.text.split()
            found = sorted(
                str(p.relative_to(shared.location(table)))
                for p in shared.location(table).rglob("*")
                if p.is_dir() and fnmatch.fnmatch(p.name, pattern)
            )
            assert len(found) == int(count), f"{turn.place}: {found}"
        case _:
            run = {"both": shared.both, "acidsql": shared.acidsql, "hive": shared.theirs}[turn.who]
            if turn.error is None:
                answer = run(turn.text)
                assert not turn.answer or [text(r) for r in answer] == turn.answer, turn.place
                return
            with pytest.raises((AcidSqlError, HiveError), match=re.escape(turn.error)):
                run(turn.text)


def text(row: Any) -> str:
    """A row of an answer: its values, separated by commas."""
    values = row.values() if isinstance(row, dict) else row
    return ", ".join(v if isinstance(v, str) else json.dumps(v, default=str) for v in values)


def compared(turn: Turn, shared: Shared, before: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The rows of every table, those the turn may have changed compared anew."""
    rows = dict(before)
    for table in shared.tables():
        name = table.name.table
        named = turn.text == "clean" or re.search(rf"\b{name}\b", turn.text, re.IGNORECASE)
        if turn.who in {"rows", "keep", "files", "copy"} or (name in rows and not named):
            continue
        try:
            # What Hive wrote it can read: then one of its readers is enough to compare with.
            rows[name] = shared.rows(name, vectorised=turn.who != "hive")
        except AssertionError as error:
            raise AssertionError(f"{turn.place}: {error}") from error
        if turn.text == "clean" or " COMPACT " in turn.text:
            assert rows[name] == before[name], f"{turn.place}: changed the rows of {name}"
    return rows

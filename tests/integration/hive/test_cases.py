"""Runs the cases: acidsql and Hive in turn, the same rows after every turn."""

from __future__ import annotations

import fnmatch
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import AcidSqlError
from tests.integration.hive.cases import AT_LENGTH, Case, Turn, read_cases
from tests.integration.hive.process import HiveError
from tests.integration.hive.shared import Row, Shared

pytestmark = pytest.mark.hive

CASES = [
    pytest.param(
        case,
        id=f"{path.stem}-{case.name.replace(' ', '-')}",
        marks=[pytest.mark.thorough] if case.is_thorough else [],
    )
    for path in sorted((Path(__file__).parent / "cases").glob("*.test"))
    for case in read_cases(path)
]


@pytest.mark.parametrize("case", CASES)
def test_case(case: Case, shared: Shared) -> None:
    turns = [turn for turn in case.turns if turn.version in (None, shared.hive.version)]
    taken: list[Turn] = []
    before: dict[str, list[Row]] = {}
    for turn, following in itertools.zip_longest(turns, turns[1:]):
        take(turn, shared)
        taken.append(turn)
        if AT_LENGTH or following is None or not goes_on(turn, following):
            before = compared(taken, shared, before, is_last=following is None)
            taken.clear()


def goes_on(turn: Turn, following: Turn) -> bool:
    """Whether the same hand goes on writing: all of its turns are then compared at once."""
    both = (turn, following)
    return turn.who == following.who in {"acidsql", "hive"} and not any(map(compacts, both))


def compacts(turn: Turn) -> bool:
    """Whether a turn may change directories, but no rows."""
    return turn.text == "clean" or " COMPACT " in turn.text


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


def compared(
    taken: list[Turn], shared: Shared, before: dict[str, list[Row]], *, is_last: bool
) -> dict[str, list[Row]]:
    """The rows of every table, those that the turns may have changed compared anew.

    At the end of a case all are.
    """
    turn = taken[-1]
    rows = dict(before)
    for table in shared.tables():
        name = table.name.table
        if not is_last and (
            looks(turn) or (name in rows and not any(names(t, name) for t in taken))
        ):
            continue
        if AT_LENGTH or is_last:
            read = shared.rows
        else:
            read = shared.rows_of_hive if turn.who == "hive" else shared.rows_in_turn
        try:
            rows[name] = read(name)
        except AssertionError as error:
            raise AssertionError(f"{turn.place}: {error}") from error
        if compacts(turn):
            same = without_ids if "'rebalance'" in turn.text else list
            assert same(rows[name]) == same(before[name]), f"{turn.place}: changed {name}"
    return rows


def without_ids(rows: list[Row]) -> list[str]:
    """The values of rows, sorted. A rebalance gives new row ids."""
    return sorted(repr(row[3:]) for row in rows)


def looks(turn: Turn) -> bool:
    """Whether a turn changes nothing."""
    return turn.who in {"rows", "keep", "files", "copy"}


def names(turn: Turn, table: str) -> bool:
    """Whether a turn may have changed a table."""
    return turn.text == "clean" or bool(re.search(rf"\b{table}\b", turn.text, re.IGNORECASE))

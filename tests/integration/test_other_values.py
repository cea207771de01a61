"""The expressions of docs/statements.md that give other values than in Hive.

`hive/test_other_values.py` asks Hive.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import acidsql
from acidsql.session.session import Session

DOCUMENT = Path(__file__).parents[2] / "docs" / "statements.md"
NUMBERS = "(SELECT 1 AS x UNION ALL SELECT 2 AS x) numbers"
"""What the expressions are computed of. The rows give the same value, or one value together."""


class Other(NamedTuple):
    """A line of the document: an expression, its values, and what gives Hive's value here."""

    expression: str
    hive: str
    ours: str
    instead: str


def documented() -> list[Other]:
    text = DOCUMENT.read_text()
    table = text[text.index("| expression | Hive | acidsql | as in Hive |") :].partition("\n\n")[0]
    lines = [re.findall(r"[^|]+", line) for line in table.splitlines()[2:]]
    return [Other(*(cell.strip().strip("`") for cell in line)) for line in lines]


def shown(value: Any) -> str:
    """A value as the document has it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case "":
            return "no character"
        case float() if math.isnan(value):
            return "NaN"
        case float() if value == int(value):
            return str(int(value))
    return str(value)


@pytest.fixture
def session(spark: Any, tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path, spark=spark) as session:
        yield session


def test_what_acidsql_gives(session: Session) -> None:
    others = documented()
    assert len(others) == 20
    for other in others:
        [(value, *_), *_] = session.execute(f"SELECT {other.expression} FROM {NUMBERS}").fetchall()
        assert shown(value) == other.ours != other.hive, other.expression


def test_what_gives_the_value_of_hive(session: Session) -> None:
    known = [other for other in documented() if other.instead != "–"]
    assert len(known) == 14
    for other in known:
        [(value, *_), *_] = session.execute(f"SELECT {other.instead} FROM {NUMBERS}").fetchall()
        assert shown(value) == other.hive, other.instead


def test_what_is_null_belongs_to(session: Session) -> None:
    assert session.execute("SELECT 1 <> NULL IS NULL").fetchall() == [(True,)]

"""Cases: who does what in turn.

A file holds cases. `[name]` begins one; a case has a database of its own. Each line is a turn:

    both> CREATE TABLE …          a definition, once for each store
    acidsql> INSERT …             a statement of acidsql; several with semicolons: a transaction,
                                  or one after the other if the first is a CREATE TABLE
    hive> UPDATE …                a statement of Hive; several with semicolons: one after the other
    hive> clean                   one round of a cleaner; ALTER TABLE … COMPACT runs the worker, too
    rows t 3                      how many rows a table has
    keep t                        from now on its rows of now are read after every turn, too, by
                                  read_acid under Hive's snapshot of now, until a turn cleans
    files t base_* 1              how many directories of a name there are below a table
    copy t                        its files are copied to {outside}/t, which is no table's

In a statement {database} is the name of the database, {directory} its directory, {outside} one
outside of every warehouse. A table that only
one of them has is that one's affair. All other tables must have the same rows in acidsql and in
Hive, full-ACID ones under the same row ids: before the other one's turn, a compaction or cleaning,
which must change none, by one of Hive's two readers in turn, and at the end of the case by both.
`make thorough` compares after every turn by both. CHECK TABLE must find nothing after any turn.
Indented lines go on with the turn. `| text` behind a turn is what it answers, one line per row; `!
text` is a part of the error it ends with. `[name] hive 4` is a case for that version alone, and so
is a turn that begins `hive 4>`. `[name] thorough` runs in `make thorough` alone. `#` begins a
comment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

AT_LENGTH = "ACIDSQL_EACH_TURN" in os.environ
"""As in `make thorough`: every turn is compared, by all readers, and logic files are whole."""

_CASE = re.compile(r"\[([\w ]+)\](?: hive ([34]))?( thorough)?")
_TURN = re.compile(r"(both|acidsql|hive|rows|keep|files|copy)(?: ([34]))?>? (.+)")


@dataclass
class Turn:
    """One line of a case. ``version`` None is for every Hive."""

    place: str
    who: str
    text: str
    version: int | None = None
    answer: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass
class Case:
    """The turns of one case."""

    name: str
    version: int | None
    is_thorough: bool
    turns: list[Turn] = field(default_factory=list)


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file. AssertionError for a line that is not understood."""
    case: Case | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        begun = _CASE.fullmatch(line)
        if begun is not None:
            if case is not None:
                yield case
            version = int(begun[2]) if begun[2] else None
            case = Case(begun[1], version, is_thorough=begun[3] is not None)
            continue
        assert case is not None, f"{place}: no case has begun"
        _read_line(line, place, case)
    assert case is not None, f"{path.name} has no case"
    yield case


def _read_line(line: str, place: str, case: Case) -> None:
    match line[0]:
        case " ":
            case.turns[-1].text += " " + line.strip()
        case "|":
            case.turns[-1].answer.append(line[1:].strip())
        case "!":
            case.turns[-1].error = line[1:].strip()
        case _:
            turn = _TURN.fullmatch(line)
            assert turn is not None, f"{place}: not understood"
            version = int(turn[2]) if turn[2] else None
            case.turns.append(Turn(place, turn[1], turn[3], version))

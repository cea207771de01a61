"""Golden files: text ↔ cases.

A case is a command line, SQL lines, ``----`` and the expected lines; a blank line ends it. Lines
that start with ``#`` before a command say why the case exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SEPARATOR = "----"


@dataclass(frozen=True)
class Case:
    """One case; ``first`` and ``last`` (exclusive) are the lines of its expected part, from 0."""

    path: Path
    line: int
    command: str
    sql: str
    expected: str
    first: int
    last: int
    tables: tuple[str, ...]
    """The text of the ``table`` blocks above the case, in this file."""

    @property
    def id(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}:{self.line}"


def read_cases(path: Path) -> list[Case]:
    """The cases of a file; ``table`` blocks are not cases but belong to all that follow."""
    lines = path.read_text().split("\n")
    cases: list[Case] = []
    tables: list[str] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            at += 1
            continue
        start = at
        while at < len(lines) and lines[at] != SEPARATOR:
            at += 1
        assert at < len(lines), f"{path}:{start + 1}: no {SEPARATOR} ends the SQL"
        command, sql = lines[start], "\n".join(lines[start + 1 : at])
        first = at + 1
        at = first
        while at < len(lines) and lines[at].strip():
            at += 1
        if command == "table":
            tables += sql.split("\n")
            continue
        expected = "\n".join(lines[first:at])
        cases.append(Case(path, start + 1, command, sql, expected, first, at, tuple(tables)))
    return cases


def rewrite(path: Path, results: dict[int, str]) -> None:
    """Write new expected parts into a file; the key is the line of the case."""
    lines = path.read_text().split("\n")
    for case in reversed(read_cases(path)):
        if case.line in results:
            lines[case.first : case.last] = results[case.line].split("\n")
    path.write_text("\n".join(lines))

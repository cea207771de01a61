"""Logic test files: text ↔ records.

The first line is ``# backends: memory sqlite postgres``, or some of them: `make test` takes one of
them, by turns, and the others are `thorough`. ``# each backend: …`` is for a file about what the
store itself keeps, in which one store may be right and another wrong: it runs on all.

The line ``# longer:`` stands before the records that only a `thorough` run carries out: it and all
records below it.

A record is a directive, the lines of its SQL and, after ``----``, the lines it expects; a blank
line ends it. Lines that start with ``#`` before a directive say why the record exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.text_blocks import SEPARATOR, blocks

BACKENDS = "# backends:"
EACH = "# each backend:"
LONGER = "# longer:"


@dataclass(frozen=True)
class Record:
    """One record; ``first`` and ``last`` (exclusive) are its lines, from 0."""

    path: Path
    first: int
    last: int
    directive: str
    sql: str
    expected: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.first + 1}"


def backends(path: Path) -> list[str]:
    """The stores a file runs on."""
    first = _first_line(path)
    assert first.startswith((BACKENDS, EACH)), f"{path}:1: the first line is not '{BACKENDS} …'"
    return first.partition(":")[2].split()


def is_for_each(path: Path) -> bool:
    """Whether the stores do not take turns with a file, because it shows what they keep."""
    return _first_line(path).startswith(EACH)


def has_longer(path: Path) -> bool:
    """Whether the file has records that only a `thorough` run carries out."""
    return LONGER in path.read_text().split("\n")


def _first_line(path: Path) -> str:
    return path.read_text().split("\n", 1)[0]


def read_records(path: Path, *, whole: bool = True) -> list[Record]:
    """The records of a file in their order; those above ``# longer:`` if not ``whole``."""
    lines = path.read_text().split("\n")
    if not whole and LONGER in lines:
        del lines[lines.index(LONGER) :]
    records = []
    for first, end in blocks(lines):
        body = lines[first + 1 : end]
        cut = body.index(SEPARATOR) if SEPARATOR in body else len(body)
        sql = "\n".join(body[:cut])
        records.append(Record(path, first, end, lines[first], sql, tuple(body[cut + 1 :])))
    return records


def rewrite(path: Path, answers: dict[int, tuple[str, tuple[str, ...]]]) -> None:
    """Write directives and expected lines as they came out; the key is a record's first line."""
    lines = path.read_text().split("\n")
    for record in reversed(read_records(path)):
        if record.first not in answers:
            continue
        directive, expected = answers[record.first]
        rows = [SEPARATOR, *expected] if directive.startswith(("query", "layout")) else []
        sql = record.sql.split("\n") if record.sql else []
        lines[record.first : record.last] = [directive, *sql, *rows]
    path.write_text("\n".join(lines))

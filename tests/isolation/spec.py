"""Isolation specs: text ↔ sessions of named steps, and the orders to run them in.

A block ends at a blank line; lines that start with ``#`` say why. ``config`` holds properties of
all sessions, ``setup`` SQL that ends in semicolons, ``session NAME`` one step per line (its name,
then its SQL), ``permutation`` names steps in order and has, after ``----``, what happened. A
``longer permutation`` shows at length what others show, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.text_blocks import SEPARATOR, blocks

LONGER = "longer "


@dataclass(frozen=True)
class Step:
    """One statement of a session."""

    session: str
    name: str
    sql: str


@dataclass(frozen=True)
class Permutation:
    """An order of steps; ``line`` (from 1) is where it stands."""

    line: int
    steps: tuple[str, ...]
    expected: tuple[str, ...]
    is_longer: bool = False


@dataclass
class Spec:
    """One file."""

    path: Path
    config: dict[str, str] = field(default_factory=dict)
    setup: str = ""
    steps: dict[str, Step] = field(default_factory=dict)
    permutations: list[Permutation] = field(default_factory=list)


def read_spec(path: Path) -> Spec:
    """The spec in a file. ValueError for a block that is none."""
    spec = Spec(path)
    lines = path.read_text().split("\n")
    for first, end in blocks(lines):
        _read_block(spec, first + 1, lines[first], lines[first + 1 : end])
    return spec


def _read_block(spec: Spec, line: int, head: str, body: list[str]) -> None:
    kind, _, rest = head.removeprefix(LONGER).partition(" ")
    match kind:
        case "config":
            spec.config.update(text.split(" = ", 1) for text in body)
        case "setup":
            spec.setup = "\n".join(body)
        case "session":
            for text in body:
                name, sql = text.split(None, 1)
                if name in spec.steps:
                    raise ValueError(f"{spec.path}:{line}: two steps are named {name}")
                spec.steps[name] = Step(rest, name, sql)
        case "permutation":
            cut = body.index(SEPARATOR)
            steps = tuple(" ".join([rest, *body[:cut]]).split())
            expected, is_longer = tuple(body[cut + 1 :]), head.startswith(LONGER)
            spec.permutations.append(Permutation(line, steps, expected, is_longer))
        case _:
            raise ValueError(f"{spec.path}:{line}: {head!r} begins no block")


def rewrite(path: Path, answers: dict[int, tuple[str, ...]]) -> None:
    """Write what happened; the key is a permutation's line."""
    lines = path.read_text().split("\n")
    for line in sorted(answers, reverse=True):
        cut = lines.index(SEPARATOR, line - 1)
        end = next((n for n in range(cut, len(lines)) if not lines[n].strip()), len(lines))
        lines[cut + 1 : end] = answers[line]
    path.write_text("\n".join(lines))

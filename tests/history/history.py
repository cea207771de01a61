"""What transactions did to lists, as their clients saw it.

A list grows by appends alone, and every value is appended once, so that a list that somebody reads
tells in which order all its appends became visible (the list-append model of Elle, Kingsbury and
Alvaro, VLDB 2020).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any


class Outcome(Enum):
    """What the client knows at the end. Who was killed on the way to the answer knows nothing."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Append:
    """A value at the end of a list."""

    key: str
    value: int


@dataclass(frozen=True)
class Read:
    """A whole list."""

    key: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Transaction:
    """Operations in their order. The times are those of one clock of the machine.

    ``begin_ns`` comes before the transaction had a snapshot, ``end_ns`` after its end was answered.
    """

    name: str
    ops: tuple[Append | Read, ...]
    outcome: Outcome = Outcome.COMMITTED
    begin_ns: int | None = None
    end_ns: int | None = None


class Journal:
    """What one client did, line by line, so that nothing is lost when it is killed.

    An append is noted before it is asked for, a read when it is answered.
    """

    def __init__(self, path: str) -> None:
        self._stream = open(path, "a", buffering=1)  # noqa: SIM115 - as long as the process

    def note(self, kind: str, *what: object) -> None:
        self._stream.write(json.dumps([kind, *what]) + "\n")

    def close(self) -> None:
        self._stream.close()

    @staticmethod
    def read(line: str) -> list[Any]:
        """A note again: its kind, and what belongs to it."""
        note: list[Any] = json.loads(line)
        return note


def transactions(lines: Iterable[str]) -> list[Transaction]:
    """The transactions of one client's journal."""
    notes = [Journal.read(line) for line in lines]
    starts = [i for i, (kind, *_) in enumerate(notes) if kind == "begin"]
    return [_transaction(notes[i:j]) for i, j in pairwise([*starts, len(notes)])]


def _transaction(notes: list[list[Any]]) -> Transaction:
    [[_, name, begin_ns], *rest] = notes
    ops: list[Append | Read] = []
    # Without the wish to commit nothing is committed.
    outcome, end_ns = Outcome.ABORTED, None
    for kind, *what in rest:
        match kind:
            case "append":
                ops.append(Append(*what))
            case "read":
                key, values = what
                ops.append(Read(key, tuple(values)))
            case "commit":
                outcome = Outcome.UNKNOWN
            case "end":
                outcome, end_ns = Outcome(what[0]), what[1]
    return Transaction(str(name), tuple(ops), outcome, begin_ns, end_ns)

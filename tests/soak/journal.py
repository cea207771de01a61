"""What a writer did, line by line, and what its rows may therefore be.

A change is noted before it is asked for, and its end when that is known. So whoever reads the
journal before and after a read of the tables knows all states that the read may show: those after
each change that ended meanwhile, and the one with the change whose end nobody knows yet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.soak.world import KEYS, TABLES

Changes = Mapping[str, Mapping[int, list[str]]]
"""By table and key: the values of all rows of the key from now on."""
State = dict[str, dict[int, list[str]]]
"""By table and key: the values of all rows of the key, sorted. Keys without rows are not there."""
DO, DONE, UNDONE, ERROR = "do", "done", "undone", "error"


class Journal:
    """The journal of one writer, that writer being this process, or the next one of its number."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        # The line that a killed predecessor was about to write was never acted upon.
        data = path.read_bytes()
        os.truncate(path, data.rfind(b"\n") + 1)

    def note(self, kind: str, *what: object) -> None:
        """Add a line, which other processes see at once."""
        os.write(self._file, json.dumps([kind, *what]).encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


class Follower:
    """Reads the journal of writer ``number`` as it grows."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self._read_bytes = 0
        self.state: State = {table: {} for table in TABLES}
        self.pending: State | None = None
        """The state after the change whose end nobody knows yet."""
        self.errors: list[tuple[str, str]] = []
        self.changes = 0

    def states(self) -> list[State]:
        """All states of the time from the last call to this one."""
        lines = self._new_lines()
        undone = {what[0] for kind, *what in lines if kind == UNDONE}
        found = [self.state]
        if self.pending is not None and self.changes not in undone:
            found.append(self.pending)
        for kind, *what in lines:
            self._follow(kind, what)
            if kind == DO and what[0] not in undone:
                found.append(self._known_pending)
        return found

    def _new_lines(self) -> list[list[Any]]:
        with self.path.open("rb") as file:
            file.seek(self._read_bytes)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def _follow(self, kind: str, what: list[Any]) -> None:
        match kind:
            case "do":
                assert self.pending is None, f"{self.path}: one change at a time"
                self.changes = what[0]
                self.pending = changed(self.state, decoded(what[1]))
            case "done":
                self.state, self.pending = self._known_pending, None
            case "undone":
                self.pending = None
            case "error":
                self.errors.append((what[0], what[1]))

    @property
    def _known_pending(self) -> State:
        assert self.pending is not None
        return self.pending


def decoded(changes: Mapping[str, Mapping[str, list[str]]]) -> Changes:
    """Changes as they were before JSON made texts of their keys."""
    return {t: {int(k): values for k, values in keys.items()} for t, keys in changes.items()}


def changed(state: State, changes: Changes) -> State:
    """The state after the changes.

    >>> changed({"a": {1: ["x"], 2: ["y"]}}, {"a": {1: [], 3: ["z", "w"]}})
    {'a': {2: ['y'], 3: ['w', 'z']}}
    """
    found = {table: dict(keys) for table, keys in state.items()}
    for table, keys in changes.items():
        for key, values in keys.items():
            found[table].pop(key, None)
            if values:
                found[table][key] = sorted(values)
    return found


def state_of(tables: Mapping[str, Iterable[tuple[Any, ...]]], number: int) -> State:
    """The rows of one writer, as they were read."""
    found: State = {table: {} for table in TABLES}
    for table, rows in tables.items():
        for key, value, *partition in rows:
            if key // KEYS == number:
                assert [int(p) for p in partition] in ([], [number]), "in a wrong partition"
                found[table].setdefault(key, []).append(value)
    return {table: {k: sorted(v) for k, v in keys.items()} for table, keys in found.items()}

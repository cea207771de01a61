"""The names in a directory that INSERT OVERWRITE DIRECTORY fills, and no other.

Each statement has a *generation*, one more than the last one. Its number is in all names::

    _acidsql_result_2_9f…            the mark of the statement
    rows_000000_2                    a file of its rows
    _acidsql_attempt_3_01…/000000_0  a file of a statement that is not done

Readers pass over names that begin with an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MARK = re.compile(r"_acidsql_result_([1-9]\d*)_[0-9a-f]{32}")
_ATTEMPT = re.compile(r"_acidsql_attempt_([1-9]\d*)_[0-9a-f]{32}")
_ROWS = re.compile(r"rows_\d{6,}_([1-9]\d*)")


def mark_name(generation: int, token: str) -> str:
    """The name of a mark; ``token`` is 32 hex digits."""
    return f"_acidsql_result_{generation}_{token}"


def attempt_name(generation: int, token: str) -> str:
    """The name of the directory in which a statement writes; ``token`` is 32 hex digits."""
    return f"_acidsql_attempt_{generation}_{token}"


def rows_name(number: int, generation: int) -> str:
    """The name of the n-th file of rows.

    >>> rows_name(0, 2)
    'rows_000000_2'
    """
    return f"rows_{number:06d}_{generation}"


@dataclass(frozen=True, slots=True)
class ResultDir:
    """What lies in a directory: ``entries`` are names with their generations.

    ``marks`` are those entries that are marks. ``foreign`` is a name that no such statement has
    given, or None.
    """

    entries: Mapping[str, int]
    marks: frozenset[str]
    foreign: str | None

    @property
    def generation(self) -> int:
        """That of the last statement that has begun to publish its files; 0 without one."""
        return max((self.entries[mark] for mark in self.marks), default=0)


def result_dir(files: Iterable[str], directories: Iterable[str]) -> ResultDir:
    """What a listing shows: the relative paths of all files, and the directories directly below.

    A file of rows without a mark of its generation or a later one is foreign.

    >>> mark, rows = mark_name(1, 32 * "a"), rows_name(0, 1)
    >>> result_dir([mark, rows], []).generation
    1
    >>> [result_dir(files, []).foreign for files in ([mark, rows], [rows], [mark, "000000_0"])]
    [None, 'rows_000000_1', '000000_0']
    """
    paths = list(files)
    marks = {path: int(match[1]) for path in paths if (match := _MARK.fullmatch(path))}
    last = max(marks.values(), default=0)
    entries = dict(marks)
    foreign = []
    for path in (*paths, *(f"{name}/" for name in directories)):
        name, is_below, _ = path.partition("/")
        match = (_ATTEMPT if is_below else _ROWS).fullmatch(name)
        if match and (is_below or int(match[1]) <= last):
            entries[name] = int(match[1])
        elif path not in marks:
            foreign.append(path)
    return ResultDir(entries, frozenset(marks), min(foreign, default=None))

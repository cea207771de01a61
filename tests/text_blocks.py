"""Text files of blocks with blank lines between them; a line of ``#`` between blocks says why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

SEPARATOR = "----"
"""Stands before what a block expects."""


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first line of each block and the one behind its last, from 0.

    >>> list(blocks(["# why", "a", "b", "", "c"]))
    [(1, 3), (4, 5)]
    """
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            at += 1
            continue
        first = at
        while at < len(lines) and lines[at].strip():
            at += 1
        yield first, at

"""Many statements: run them one by one, stop at the first error, stream the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from acidsql.grammar.split import split

T = TypeVar("T")


def run_script(text: str, execute: Callable[[str, int, int], T]) -> Iterator[T]:
    """The result of each statement, each executed only when it is asked for.

    ``execute`` takes a statement and the line and column at which it starts. Its first error ends
    the script, and so does text that cannot be split; what ran before stays done.
    """
    for statement in split(text):
        yield execute(statement.text, statement.line, statement.column)

"""Scripts: their statements run one by one and stop at the first error; results are streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.excerpt import show_place
from acidsql.grammar.split import split

T = TypeVar("T")

OWN_SCRIPTS: Mapping[str, str] = {"acidsql.allow.environment": "true"}
"""The configuration of those who run their own scripts, at a terminal or in a notebook."""


def run_script(text: str, execute: Callable[[str, int, int], T]) -> Iterator[T]:
    """The result of each statement. A statement runs when its result is asked for.

    ``execute`` takes a statement and the line and column at which that statement starts. The first
    error ends the script, and so does text that cannot be split. Statements that ran before the
    error stay done.
    """
    statements = split(text)
    while True:
        try:
            statement = next(statements, None)
        except SqlSyntaxError as error:
            show_place(error, text)
            raise
        if statement is None:
            return
        yield execute(statement.text, statement.line, statement.column)

"""What a caller binds to the parameters of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import AnalysisError
from acidsql.grammar.lexer import Source

Args = Mapping[str, Any] | Sequence[Any] | None
"""Values for ``:name``, by name, or for each ``?``, in order."""


def named_arguments(args: Args, sql: str) -> dict[str, Any]:
    """Parameters by name; the n-th ``?`` is called ``_n``.

    AnalysisError for a text in the place of a list, for one that is no Unicode, and for a list
    that has not one value for each ``?`` of the statement.

    >>> named_arguments([7], "SELECT '?', ?")
    {'_1': 7}
    """
    if args is None:
        return {}
    if isinstance(args, str | bytes):
        raise AnalysisError("args is a list or a dict, not a text", hint="Write [value].")
    if isinstance(args, Mapping):
        named = dict(args)
    else:
        named = {f"_{number}": value for number, value in enumerate(args, 1)}
        marks = len(Source(sql).question_marks)
        if len(named) != marks:
            raise AnalysisError(
                f"{len(named)} values for {marks} parameters",
                hint="A list has one value for each ?; values for :name come in a dict.",
            )
    for name, value in named.items():
        if isinstance(value, str):
            check_text(value, f'parameter "{name}"')
    return named


def check_text(text: str, what: str) -> None:
    """AnalysisError for a text that cannot be stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AnalysisError(f"{what} is no Unicode text", detail=str(error)) from None

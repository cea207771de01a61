"""What a caller gives: the values of parameters, and arguments that are what they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import AnalysisError, ConfigError
from acidsql.grammar.lexer import Source

Args = Mapping[str, Any] | Sequence[Any] | None
"""Values for ``:name``, by name, or for each ``?``, in order."""


def named_arguments(args: Args, sql: str) -> dict[str, Any]:
    """Parameters by name; the n-th ``?`` is called ``_n``.

    AnalysisError for anything but a mapping of names, a sequence or an array, for a text that is
    no Unicode, and for a list that has not one value for each ``?`` of the statement.

    >>> named_arguments([7], "SELECT '?', ?")
    {'_1': 7}
    """
    if args is None:
        return {}
    if isinstance(args, str | bytes):
        raise AnalysisError("args is a list or a dict, not a text", hint="Write [value].")
    if isinstance(args, Mapping):
        named = dict(args)
        for name in named:
            if not isinstance(name, str):
                raise AnalysisError(
                    f"a name in args is {_kind(name)}, not a text",
                    hint="Values for ? come in a list.",
                )
    elif not isinstance(args, Sequence) and not hasattr(args, "__array__"):
        raise AnalysisError(
            f"args is {_kind(args)}, not a list or a dict", hint="Write list(args), in its order."
        )
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


def require_text(value: object, what: str) -> None:
    """ConfigError for what is no text, AnalysisError for one that cannot be stored."""
    if not isinstance(value, str):
        raise ConfigError(f"{what} is a text, not {_kind(value)}")
    check_text(value, what)


def require_count(value: object, what: str, least: int = 0) -> None:
    """ConfigError unless it is a whole number, and not below ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        given = value if isinstance(value, int) else _kind(value)
        raise ConfigError(f"{what} is a whole number from {least} on, not {given}")


def require_mapping(value: object, what: str) -> None:
    """ConfigError unless its keys are texts, and its values texts, numbers, True or False."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} is a dict, not {_kind(value)}")
    for key, item in value.items():
        require_text(key, f"a key of {what}")
        if not isinstance(item, str | int | float):
            raise ConfigError(f'"{key}" of {what} is a text, not {_kind(item)}')


def _kind(value: object) -> str:
    """What a value is, without asking it."""
    return "None" if value is None else f"of type {type(value).__name__}"


def check_text(text: str, what: str) -> None:
    """AnalysisError for a text that cannot be stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AnalysisError(f"{what} is no Unicode text", detail=str(error)) from None

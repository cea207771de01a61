"""What a caller binds to the parameters of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import AnalysisError

Args = Mapping[str, Any] | Sequence[Any] | None
"""Values for ``:name``, by name, or for each ``?``, in order."""


def named_arguments(args: Args) -> dict[str, Any]:
    """Parameters by name; the n-th ``?`` is called ``_n``.

    AnalysisError for a text in the place of a list, and for one that is no Unicode.
    """
    if args is None:
        return {}
    if isinstance(args, str | bytes):
        raise AnalysisError("args is a list or a dict, not a text", hint="Write [value].")
    named = (
        dict(args)
        if isinstance(args, Mapping)
        else {f"_{number}": value for number, value in enumerate(args, 1)}
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

"""The arguments of a caller: the values of parameters, and checks of types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import AnalysisError, ConfigError
from acidsql.session.plain_value import plain_value

Args = Mapping[str, Any] | Sequence[Any] | None
"""Values for parameters: a mapping for ``:name``, a sequence for each ``?`` in order."""


def named_arguments(args: Args) -> dict[str, Any]:
    """The values of the parameters by name; the n-th ``?`` is called ``_n``.

    Raises AnalysisError for anything but a mapping of names, a sequence or an array, and for a
    value that `plain_value` refuses.

    >>> named_arguments([7])
    {'_1': 7}
    """
    if args is None:
        return {}
    if isinstance(args, str | bytes):
        raise AnalysisError(
            "args must be a list or a dict, not a string", hint="Write [value] for one value."
        )
    if isinstance(args, Mapping):
        named = dict(args)
        for name in named:
            if not isinstance(name, str):
                raise AnalysisError(
                    f"a name in args must be a string, not {_kind(name)}",
                    hint="Pass values for ? in a list.",
                )
    elif not isinstance(args, Sequence) and not _is_row(args):
        raise AnalysisError(
            f"args must be a list or a dict, not {_kind(args)}",
            hint="Pass list(args), with the values in the order of the parameters.",
        )
    else:
        named = {f"_{number}": value for number, value in enumerate(args, 1)}
    return {name: plain_value(value, f'parameter "{name}"') for name, value in named.items()}


def _is_row(args: Any) -> bool:
    """Whether it is an array, or a column of a frame. A frame is none: a loop gives its names."""
    shape = getattr(args, "shape", ())
    return hasattr(args, "__array__") and isinstance(shape, tuple) and len(shape) == 1


def require_text(value: object, what: str) -> None:
    """ConfigError for a value that is not a string, AnalysisError for one that cannot be stored."""
    if not isinstance(value, str):
        raise ConfigError(f"{what} must be a string, not {_kind(value)}")
    check_text(value, what)


def require_count(value: object, what: str, least: int = 0) -> None:
    """ConfigError unless the value is a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        given = value if isinstance(value, int) else _kind(value)
        raise ConfigError(f"{what} must be a whole number of at least {least}, not {given}")


def require_mapping(value: object, what: str) -> None:
    """ConfigError unless the value is a mapping from strings to strings, numbers or booleans."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} must be a dict, not {_kind(value)}")
    for key, item in value.items():
        require_text(key, f"a key of {what}")
        if not isinstance(item, str | int | float):
            raise ConfigError(f'"{key}" of {what} must be a string, not {_kind(item)}')


def require_mapping_of_names(value: object, what: str) -> None:
    """ConfigError unless the value is a mapping from strings that differ not only in case."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} must be a dict, not {_kind(value)}")
    seen: set[str] = set()
    for key in value:
        require_text(key, f"a key of {what}")
        if key.lower() in seen:
            raise ConfigError(f'{what} names "{key}" twice')
        seen.add(key.lower())


def _kind(value: object) -> str:
    """The kind of a value for a message. Calls none of the value's methods: they may be hostile."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def check_text(text: str, what: str) -> None:
    """AnalysisError for a text that cannot be stored: one with a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AnalysisError(f"{what} is not valid Unicode", detail=str(error)) from None

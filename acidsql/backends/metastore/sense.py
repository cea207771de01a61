"""Answers that are whole, but make no sense: errors of ours, not of whatever met them first."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from acidsql.errors import StorageError

_MET = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, StopIteration,
    TypeError, ValueError,
)  # fmt: skip
"""What comes of a missing struct, a text in the place of a number, a list that is too short."""


class _HasPlace(Protocol):
    @property
    def place_name(self) -> str: ...


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=_HasPlace)
C = TypeVar("C", bound=type)


def sensible(verb: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A verb that raises StorageError where the metastore's answers make no sense."""

    @wraps(verb)
    def told(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(self, *args, **kwargs)
        except _MET as error:
            raise StorageError(
                f"the metastore {self.place_name} gave an answer that makes no sense",
                detail=f"In {verb.__name__}: {type(error).__name__}: {error}.",
            ) from error

    return told


def with_sensible_verbs(*ports: type) -> Callable[[C], C]:
    """A store's class, each verb of these ports made `sensible`. Blocks of a caller are not."""

    def changed(store: C) -> C:
        names = {name for port in ports for name in dir(port) if not name.startswith("_")}
        for name in sorted(names - {"committing", "close"}):
            verb: Any = getattr(store, name, None)
            if callable(verb):
                setattr(store, name, sensible(verb))
        return store

    return changed

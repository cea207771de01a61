"""Who is at fault: answers that are whole, but make no sense, and bugs of ours over those that do.

What is read of an answer is checked where it is read, and raises NonsenseError. So whatever else
a verb meets is no matter of the metastore.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, Protocol, TypeVar

from acidsql.errors import AcidSqlError, InternalError, StorageError

_log = logging.getLogger(__name__)


class _HasPlace(Protocol):
    @property
    def place_name(self) -> str: ...


T = TypeVar("T")
K = TypeVar("K")
C = TypeVar("C", bound=type)


class NonsenseError(StorageError):
    """A metastore answered, but what it says cannot be."""

    def __init__(self, detail: str) -> None:
        super().__init__("the metastore gave an answer that makes no sense", detail=detail)

    def tell_place(self, name: str) -> None:
        """Say whose answer it was."""
        self.message = f"the metastore {name} gave an answer that makes no sense"
        self.args = (self.message,)


# -- what is checked ----------------------------------------------------------------------------


def given(value: T | None, what: str) -> T:
    """A value of an answer, where it must have one. NonsenseError, naming ``what`` is missing.

    >>> given("t", "the name of a table")
    't'
    """
    if value is None:
        raise NonsenseError(f"It lacks {what}.")
    return value


def meaning_of(meanings: Mapping[K, T], value: K, what: str) -> T:
    """What a number or word of an answer stands for. NonsenseError if that is nothing.

    >>> meaning_of({1: "open"}, 1, "state of a transaction")
    'open'
    """
    try:
        return meanings[value]
    except KeyError:
        raise NonsenseError(f"{value!r} is no {what}.") from None


# -- what is left -------------------------------------------------------------------------------


@contextmanager
def _told(store: _HasPlace, verb: str) -> Iterator[None]:
    """Any exception as one of ours, with the fault laid where it is."""
    try:
        yield
    except NonsenseError as error:
        error.tell_place(store.place_name)
        raise
    except (AcidSqlError, MemoryError):
        raise
    except Exception as error:
        _log.exception("a bug in %s", verb)
        raise InternalError(
            f"acidsql itself failed in {verb}",
            detail=f"{type(error).__name__}: {error}.",
            hint="This is a bug; the log has its trace.",
        ) from error


def _telling(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A verb that raises NonsenseError with the place, and InternalError for bugs."""

    @wraps(verb)
    def told(self: _HasPlace, /, *args: Any, **kwargs: Any) -> Any:
        with _told(self, verb.__name__):
            return verb(self, *args, **kwargs)

    @wraps(verb)
    def told_one_by_one(self: _HasPlace, /, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with _told(self, verb.__name__):
            yield from verb(self, *args, **kwargs)

    return told_one_by_one if isgeneratorfunction(verb) else told


def with_telling_verbs(*ports: type) -> Callable[[C], C]:
    """A store's class, each verb of these ports told of as above. Blocks of a caller are not."""

    def changed(store: C) -> C:
        names = {name for port in ports for name in dir(port) if not name.startswith("_")}
        for name in sorted(names - {"committing", "close"}):
            verb: Any = getattr(store, name, None)
            if callable(verb):
                setattr(store, name, _telling(verb))
        return store

    return changed

"""Tells the metastore's faults from our own bugs.

An answer may be complete but make no sense. Every value of an answer is checked where it is read;
a bad value raises NonsenseError, the metastore's fault. So any other unexpected exception in a verb
is a bug of ours, an InternalError.
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
    """The answer of a metastore has a value that is missing or impossible."""

    def __init__(self, detail: str) -> None:
        super().__init__("the metastore gave an answer that makes no sense", detail=detail)

    def name_server(self, name: str) -> None:
        """Put the name of the server into the message."""
        self.message = f"the metastore {name} gave an answer that makes no sense"
        self.args = (self.message,)


# -- checks of answers --------------------------------------------------------------------------


def given(value: T | None, what: str) -> T:
    """A value that an answer must have. NonsenseError says that ``what`` is missing.

    >>> given("t", "the name of a table")
    't'
    """
    if value is None:
        raise NonsenseError(f"It lacks {what}.")
    return value


def meaning_of(meanings: Mapping[K, T], value: K, what: str) -> T:
    """The meaning of a number or word of an answer. NonsenseError if it has none.

    >>> meaning_of({1: "open"}, 1, "state of a transaction")
    'open'
    """
    try:
        return meanings[value]
    except KeyError:
        raise NonsenseError(f"{value!r} is no {what}.") from None


# -- everything else is a bug -------------------------------------------------------------------


@contextmanager
def _faults_assigned(store: _HasPlace, verb: str) -> Iterator[None]:
    """Turn exceptions of a verb into errors of ours: a NonsenseError with the server's name, and
    an InternalError for any other exception that is no AcidSqlError.
    """
    try:
        yield
    except NonsenseError as error:
        error.name_server(store.place_name)
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


def _with_faults_assigned(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A verb whose NonsenseErrors name the server, and whose bugs are InternalErrors."""

    @wraps(verb)
    def told(self: _HasPlace, /, *args: Any, **kwargs: Any) -> Any:
        with _faults_assigned(self, verb.__name__):
            return verb(self, *args, **kwargs)

    @wraps(verb)
    def told_one_by_one(self: _HasPlace, /, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with _faults_assigned(self, verb.__name__):
            yield from verb(self, *args, **kwargs)

    return told_one_by_one if isgeneratorfunction(verb) else told


def with_telling_verbs(*ports: type) -> Callable[[C], C]:
    """A decorator for a store's class that wraps each verb of these ports as above.

    ``committing`` is left out: the block inside of it is the caller's.
    """

    def changed(store: C) -> C:
        names = {name for port in ports for name in dir(port) if not name.startswith("_")}
        for name in sorted(names - {"committing", "close"}):
            verb: Any = getattr(store, name, None)
            if callable(verb):
                setattr(store, name, _with_faults_assigned(verb))
        return store

    return changed

"""The port of a database to the verbs, and how a verb becomes one store transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum, auto
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from acidsql.errors import CorruptFileError
from acidsql.model.ids import LockId

Row = tuple[Any, ...]
P = ParamSpec("P")
T = TypeVar("T")


class Mode(Enum):
    """The way in which a store transaction runs beside others."""

    READING = auto()
    """It changes nothing. All its queries see the state of one moment."""
    WRITING = auto()
    """Other store transactions write meanwhile. Queries named ``…_to_change`` lock their rows."""
    ALONE = auto()
    """No other store transaction writes meanwhile."""


class Answer(Protocol):
    """The answer of a query: known when it is read, and at the end of the store transaction."""

    def rows(self) -> list[Row]:
        """All rows."""
        ...

    def row(self) -> Row | None:
        """The first row, or None."""
        ...

    def value(self) -> Any:
        """The first column of the first row, or None."""
        ...


class SqlConnection(Protocol):
    """Named statements and store transactions of one database. Thread-safe.

    Each statement belongs to the store transaction that its thread has begun. Where the database
    refuses a statement, StorageError is raised, at the latest at the end of the verb. ``:now_ms``
    is the time of the store, which all its users share. ``path`` names the database for people,
    without credentials.

    The answer of a store transaction outlives a loss of power, unless the store transaction runs
    with ``durable=False``. Then other store transactions go on before its effect is on the disk.
    ``sync`` or a later store transaction puts the effect there. A client that can outlive the
    database gets no answer before that in any case.
    """

    @property
    def path(self) -> str: ...

    def run(self, query: str, /, **parameters: object) -> None:
        """Carry out a named statement."""
        ...

    def rows(self, query: str, /, **parameters: object) -> list[Row]:
        """All rows of a named query."""
        ...

    def row(self, query: str, /, **parameters: object) -> Row | None:
        """The first row of a named query, or None."""
        ...

    def value(self, query: str, /, **parameters: object) -> Any:
        """The first column of the first row, or None."""
        ...

    def ask(self, query: str, /, **parameters: object) -> Answer:
        """A named query whose answer is read later, so that more statements may travel with it."""
        ...

    def transaction(self, mode: Mode) -> AbstractContextManager[None]:
        """One store transaction for a block.

        Inside another store transaction of its thread, the block becomes a part of that one.
        """
        ...

    def carry_out(
        self, mode: Mode, work: Callable[[], T], *, repeatable: bool = True, durable: bool = True
    ) -> T:
        """One store transaction for a piece of work.

        The work is carried out again if the database is known to have undone it. ``repeatable``: it
        is also carried out again if the answer to the commit was lost, so it may be done twice.
        """
        ...

    def sync(self) -> None:
        """Wait until the effect of this client's store transactions is on the disk."""
        ...

    def await_release(self, lock_id: LockId, timeout_s: float) -> bool:
        """Wait until a lock is gone, at most for ``timeout_s`` seconds; whether it is known to be.

        Called outside of every store transaction. Where the database does not tell that a lock has
        gone, the wait lasts for the whole time.
        """
        ...

    def close(self) -> None:
        """Close the connections. Idempotent."""
        ...


class OverSql:
    """The base of classes whose verbs use a connection."""

    _sql: SqlConnection


S = TypeVar("S", bound=OverSql)


class Way(Protocol):
    """A decorator that makes a verb one store transaction."""

    def __call__(
        self, verb: Callable[Concatenate[S, P], T], /
    ) -> Callable[Concatenate[S, P], T]: ...


def reading(*, durable: bool = True) -> Way:
    """A verb that changes nothing.

    With ``durable=False`` its answer is a hint, which may be lost: a second verb checks it again.
    """
    return _way(Mode.READING, durable=durable)


def writing(*, repeatable: bool = True, durable: bool = True) -> Way:
    """A verb that locks the rows by which it decides.

    ``repeatable=False``: the caller has to know if the answer was lost.
    """
    return _way(Mode.WRITING, repeatable=repeatable, durable=durable)


def alone(*, repeatable: bool = True) -> Way:
    """A verb that decides by more than a few rows.

    ``repeatable=False``: a definition, whose repetition would be refused.
    """
    return _way(Mode.ALONE, repeatable=repeatable)


_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""Errors over rows that no verb has written: UnicodeDecodeError, OverflowError, …"""


def undamaged(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb that raises CorruptFileError where its rows make no sense.

    `reading`, `writing` and `alone` include it. A verb that reads an answer after the end of its
    store transaction names it.
    """

    @wraps(verb)
    def checked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(self, *args, **kwargs)
        except _DAMAGE as error:
            raise CorruptFileError(
                f"the transaction store {self._sql.path} has contents that no store can have",
                detail=f"{type(error).__name__}: {error}.",
                hint="It was damaged, or changed by another program. Restore it from a backup.",
            ) from error

    return checked


def _way(mode: Mode, *, repeatable: bool = True, durable: bool = True) -> Way:
    def way(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        @undamaged
        @wraps(verb)
        def carried_out(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work() -> T:
                return verb(self, *args, **kwargs)

            return self._sql.carry_out(mode, work, repeatable=repeatable, durable=durable)

        return carried_out

    return way

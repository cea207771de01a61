"""What the verbs need of a database, and how a verb becomes one store transaction."""

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
    """It changes nothing. All its queries see the same state, that of one moment."""
    WRITING = auto()
    """Others write meanwhile. Queries whose names end in ``_to_change`` lock the rows they find."""
    ALONE = auto()
    """No other store transaction writes meanwhile."""


class Answer(Protocol):
    """What a query answers: known at the end of its store transaction, or when it is read."""

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

    Each statement belongs to the store transaction that its thread has begun. Whatever the database
    refuses is raised as StorageError, at the latest at the end of the verb. ``:now_ms`` is the time
    of the store, which all its users share. ``path`` names the database for people, without
    credentials.

    What a store transaction answers outlives a loss of power, unless it runs with
    ``durable=False``. Then others go on before its effect is on the disk, and ``sync`` or a later
    store transaction puts it there. A client that can outlive the database gets no answer before
    that in any case.
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
        """A named query whose answer is not needed at once, so that others may go with it."""
        ...

    def transaction(self, mode: Mode) -> AbstractContextManager[None]:
        """One store transaction for a block; inside another one of its thread, a part of that."""
        ...

    def carry_out(
        self, mode: Mode, work: Callable[[], T], *, repeatable: bool = True, durable: bool = True
    ) -> T:
        """One store transaction for a piece of work, which is carried out again if it is known to
        be undone.

        ``repeatable``: it is also carried out again if the answer to the commit was lost, so that
        it may be done twice.
        """
        ...

    def sync(self) -> None:
        """Wait until what this client's store transactions did is on the disk."""
        ...

    def await_release(self, lock_id: LockId, timeout_s: float) -> bool:
        """Wait until a lock is gone, at most for ``timeout_s`` seconds; whether it is known to be
        gone. Outside of every store transaction. Where the database tells nobody, the wait lasts
        for the whole time.
        """
        ...

    def close(self) -> None:
        """Release what is open. Idempotent."""
        ...


class OverSql:
    """The base of what is made of verbs over a connection."""

    _sql: SqlConnection


S = TypeVar("S", bound=OverSql)


class Way(Protocol):
    """What makes a store transaction of a verb."""

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

    ``repeatable=False``: its caller has to know if the answer was lost.
    """
    return _way(Mode.WRITING, repeatable=repeatable, durable=durable)


def alone(*, repeatable: bool = True) -> Way:
    """A verb that decides by more than a few rows.

    ``repeatable=False``: a definition, whose repetition would be refused.
    """
    return _way(Mode.ALONE, repeatable=repeatable)


_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""What comes of rows that no verb of ours has written: UnicodeDecodeError, OverflowError, …"""


def undamaged(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb that raises CorruptFileError for whatever its rows cannot be made into.

    `reading`, `writing` and `alone` include it. A verb that reads an answer after the end of its
    store transaction names it.
    """

    @wraps(verb)
    def told(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(self, *args, **kwargs)
        except _DAMAGE as error:
            raise CorruptFileError(
                f"the transaction store {self._sql.path} holds what no store holds",
                detail=f"{type(error).__name__}: {error}.",
                hint="It was damaged, or changed by something else. Restore it from a backup.",
            ) from error

    return told


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

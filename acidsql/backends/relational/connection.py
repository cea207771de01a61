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
    """What one store transaction does to others of its time."""

    READING = auto()
    """All queries see the same state, that of one moment; nothing is changed."""
    GLANCING = auto()
    """Like READING, for a hint: what is read may be lost on power failure; a second verb checks."""
    WRITING = auto()
    """Rows that decide something are locked by the queries that say so in their names."""
    EARLY = auto()
    """Like WRITING, but others go on before it is on the disk; its verb answers afterwards.

    For what no reader is shown as committed.
    """
    UNSYNCED = auto()
    """Like WRITING; a loss of power may undo it if it ends every client, as it does beside a file.

    For what nothing outside of the store rests on until a later one has synced both.
    """
    ALONE = auto()
    """No other one writes meanwhile."""


class Answer(Protocol):
    """What a query answers, from the end of its store transaction on at the latest.

    Whoever looks while it lasts waits for the answer.
    """

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

    ``path`` says where it is, for people, without credentials.

    Every statement belongs to the store transaction that its thread has begun. StorageError for
    whatever the database refuses, at the latest at the end of the verb. ``:now_ms`` is the time of
    the store, which all its users share.
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

    def carry_out(self, mode: Mode, work: Callable[[], T], *, repeatable: bool) -> T:
        """The same for a piece of work that may be carried out again if it is known to be undone.

        ``repeatable``: also if it is not known, because the answer to the commit was lost.
        """
        ...

    def await_release(self, lock_id: LockId, timeout_s: float) -> bool:
        """Wait until a lock is gone, outside of every store transaction; at most for ``timeout_s``
        seconds, and as long as that where nothing tells. Whether it is known to be gone.
        """
        ...

    def close(self) -> None:
        """Release what is open. Idempotent."""
        ...


class OverSql:
    """The base of what is made of verbs over a connection."""

    _sql: SqlConnection


S = TypeVar("S", bound=OverSql)


def reading(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb that changes nothing."""
    return _one_transaction(verb, Mode.READING, repeatable=True)


def glancing(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb that changes nothing and whose answer is a hint: a second verb checks it again."""
    return _one_transaction(verb, Mode.GLANCING, repeatable=True)


def writing(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb that is idempotent or safe to retry; it locks the rows that it decides by."""
    return _one_transaction(verb, Mode.WRITING, repeatable=True)


def early(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb like those of `writing`, which everybody has to pass one after the other."""
    return _one_transaction(verb, Mode.EARLY, repeatable=True)


def unsynced(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb like those of `writing` whose effect may be lost on power failure."""
    return _one_transaction(verb, Mode.UNSYNCED, repeatable=True)


def writing_once(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb whose caller has to know if its answer was lost."""
    return _one_transaction(verb, Mode.WRITING, repeatable=False)


def alone(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """An idempotent verb that decides by more than a few rows."""
    return _one_transaction(verb, Mode.ALONE, repeatable=True)


def alone_once(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A definition: after a lost answer, a repetition would be refused."""
    return _one_transaction(verb, Mode.ALONE, repeatable=False)


_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""What comes of rows that no verb of ours has written: UnicodeDecodeError, OverflowError, …"""


def undamaged(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A verb that raises CorruptFileError for whatever its rows cannot be made into.

    Every verb of `reading`, `writing` and their kin is one; those that look at an answer when
    their store transaction has ended have to say so.
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


def _one_transaction(
    verb: Callable[Concatenate[S, P], T], mode: Mode, *, repeatable: bool
) -> Callable[Concatenate[S, P], T]:
    @undamaged
    @wraps(verb)
    def carried_out(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._sql.carry_out(mode, lambda: verb(self, *args, **kwargs), repeatable=repeatable)

    return carried_out

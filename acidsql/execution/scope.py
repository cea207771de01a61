"""What a statement about the catalog works on: a session without its engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from acidsql.model.names import TableName
from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.txn.transaction import OpenTxn


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where statements may not go: ``reserved`` are the store's own files, as local paths.

    ``roots`` are the directories below which everything lies that a user points to; none: all are.
    """

    reserved: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True)
class Scope:
    """The ports, what names mean, and who asks.

    ``transaction`` opens one that commits when its block ends. ``release`` ends this session's own
    unfinished reads of the tables it is asked about: it would wait for them itself. ``arguments``
    are the values of the statement's parameters. ``compared`` is what the session has looked
    through for ids that the store has not given out.
    """

    store: Store
    storage: Storage
    names: Names
    warehouse: str
    user: str
    transaction: Callable[[], AbstractContextManager[OpenTxn]]
    release: Callable[[Callable[[TableName], bool]], None]
    arguments: Arguments
    compared: set[Hashable] = field(default_factory=set)
    bounds: Bounds = UNBOUNDED

"""The Scope that a statement about the catalog works on: a session without its engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from acidsql.model.names import TableName
from acidsql.planner.names import Names
from acidsql.planner.predicates import Arguments
from acidsql.planner.rules import Rules
from acidsql.plans.sql_text import SqlText
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.settings import Settings
from acidsql.txn.commit import answer_asked_for
from acidsql.txn.entities import Reached, Written
from acidsql.txn.transaction import OpenTxn


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which paths statements may use.

    ``reserved`` are the store's own files, as local paths: no statement touches them. ``roots`` are
    the directories in which all lies that a user points to; without any, a path may lead anywhere.
    """

    reserved: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


UNBOUNDED = Bounds()


class Release(Protocol):
    """Ends this session's own unfinished reads of the tables that it is asked about.

    With ``moves`` the tables leave their directories, which others may get.
    """

    def __call__(self, holds: Callable[[TableName], bool], *, moves: bool = False) -> None:
        """Release the reads of each table for which ``holds`` is true."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The ports, what names mean, and the user.

    ``transaction`` opens a transaction that commits when its block ends. ``release`` ends this
    session's own unfinished reads of the tables that it is asked about, for which the statement
    would wait. ``arguments`` are the values of the statement's parameters. ``compared`` notes the
    tables and partitions in which the session has looked for ids that the store has not given out.
    ``settings`` are those in force. ``types`` gives the types of the columns of a query that names
    no table, without running it; it may start Spark.
    """

    store: Store
    storage: Storage
    names: Names
    warehouse: str
    user: str
    transaction: Callable[[], AbstractContextManager[OpenTxn]]
    release: Release
    arguments: Arguments
    settings: Settings
    types: Callable[[SqlText], list[str]]
    compared: set[Hashable] = field(default_factory=set)
    bounds: Bounds = UNBOUNDED

    @property
    def rules(self) -> Rules:
        """What the settings let a statement do."""
        return Rules(row_movement=self.settings.row_movement)

    @contextmanager
    def committing(
        self, txn: OpenTxn, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> Iterator[None]:
        """`Store.committing`. If its answer is lost, the store is asked whether it has committed.

        CommitStateUnknownError if that is not answered either.
        """
        step = self.store.committing(txn.txn_id, reached, written)
        if not self.store.commits_in_one_step:  # it has asked itself
            with step:
                yield
            return
        with answer_asked_for(txn.txn_id, self.store.heartbeat, step):
            yield

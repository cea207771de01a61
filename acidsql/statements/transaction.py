"""BEGIN, COMMIT, ROLLBACK, SET TRANSACTION, SET autocommit and ABORT TRANSACTIONS."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.ids import TxnId


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN | START TRANSACTION; ``read_only`` None leaves it to SET TRANSACTION."""

    read_only: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT [WORK]."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK [WORK]."""


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """SET TRANSACTION modes, for the next transaction or the one that has just begun.

    ``read_only`` None: the modes name only the isolation level, of which there is one.
    """

    read_only: bool | None


@dataclass(frozen=True, slots=True)
class SetAutocommit:
    """SET AUTOCOMMIT on | off."""

    on: bool


@dataclass(frozen=True, slots=True)
class AbortTransactions:
    """ABORT TRANSACTIONS id id …."""

    txn_ids: tuple[TxnId, ...]

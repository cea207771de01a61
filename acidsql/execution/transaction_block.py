"""A transaction block: the statements between BEGIN and COMMIT, or a single one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from acidsql.errors import (
    TxnAbortedError,
    TxnError,
    UnsupportedStatementError,
)
from acidsql.execution.commit import Uncommitted, commit, roll_back
from acidsql.model.ids import StatementId, WriteId
from acidsql.model.names import TableName
from acidsql.model.row_id import STATEMENT_ID_MAX
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import refuse_read_only
from acidsql.plans.plan import TableWrite, WritePlan, replaces, statement_count
from acidsql.ports.engine import Engine
from acidsql.ports.store import Store
from acidsql.txn.transaction import OpenTxn, error_line


class TransactionBlock:
    """An open transaction and what its statements have written.

    Each statement of an explicit block holds ``guard``, so they run one at a time.
    """

    def __init__(self, txn: OpenTxn, *, explicit: bool, read_only: bool = False) -> None:
        self.txn = txn
        self.explicit = explicit
        self.read_only = read_only
        self.guard = threading.RLock()
        self.uncommitted = Uncommitted()
        self.write_ids: dict[TableName, WriteId] = {}
        self.statements = 0
        """How many statements have begun."""
        self._next_statement_id = 0
        self._replaced: set[TableName] = set()
        self._let_go: set[TableName] = set()
        self._loss: BaseException | None = None

    def require_alive(self) -> None:
        """Raise TxnAbortedError if the transaction was lost: nothing runs until ROLLBACK."""
        if self._loss is None:
            return
        raise TxnAbortedError(
            f"transaction {self.txn.txn_id} was rolled back",
            detail=f"The cause: {error_line(self._loss)}",
            hint="ROLLBACK ends it; then start again.",
        )

    def admit(self, plan: TableWrite, target: Table) -> None:
        """Refuse a write that the transaction could not roll back, or not show to its own reads."""
        if self.read_only:
            raise TxnError(
                f"cannot execute {plan.kind.upper()} in a read-only transaction",
                hint="START TRANSACTION READ WRITE allows writes.",
            )
        refuse_read_only(target)
        if not self.explicit:
            return
        if target.kind is TableKind.PLAIN:
            raise UnsupportedStatementError(
                f"table {target.name} is not transactional: a write to it cannot be rolled back",
                hint="COMMIT first, or write to a transactional table.",
            )
        if target.name in self._replaced:
            raise UnsupportedStatementError(
                f"table {target.name} was overwritten in this transaction",
                detail="Its base hides everything else that has the transaction's write id.",
                hint="Let the overwrite be the last write to its table, or COMMIT before this one.",
            )

    def take_statement_ids(self, plan: WritePlan) -> StatementId:
        """The first of the statement ids the plan writes under, never used by another.

        Raises TxnError when there is none left: a row id has 12 bits for it.
        """
        first = self._next_statement_id
        if first + statement_count(plan) - 1 > STATEMENT_ID_MAX:
            raise TxnError(
                f"transaction {self.txn.txn_id} has no statement id left",
                detail=f"A transaction can write {STATEMENT_ID_MAX + 1} times.",
                hint="COMMIT, and go on in a new transaction.",
            )
        self._next_statement_id = first + statement_count(plan)
        return StatementId(first)

    def wrote(self, plan: TableWrite, write_id: WriteId) -> None:
        """Note what a statement has done to a target."""
        self.write_ids[plan.table] = write_id
        if replaces(plan):
            self._replaced.add(plan.table)

    def let_go(self, table: TableName) -> None:
        """Note that the session's lazy frames of a table were released, and may still be read."""
        self._let_go.add(table)

    def lose(self, error: BaseException, engine: Engine) -> None:
        """Roll everything back because of an error. Never raises."""
        self._loss = self._loss or error
        roll_back(self.txn, error, self.uncommitted, engine)

    def commit(
        self, store: Store, engine: Engine, pins: Callable[[TableName], bool] = lambda _: False
    ) -> None:
        """Make everything visible at once. Raises what `OpenTxn.commit` does: then nothing is
        visible.

        ``pins`` tells whether a lazy frame of the session pins the files of a table.
        """
        self.require_alive()

        def held(table: TableName) -> bool:
            return pins(table) or table in self._let_go

        try:
            commit(self.txn, self.uncommitted, store, engine, held)
        except BaseException as error:
            self._loss = error
            raise

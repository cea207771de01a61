"""The transaction state of a session: autocommit, and the open transaction block if there is one.

A block is an open transaction of several statements.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import assert_never

from acidsql.errors import (
    NoSuchTxnError,
    TxnAbortedError,
    TxnError,
    UnsupportedStatementError,
)
from acidsql.execution.leases import Leases
from acidsql.execution.result import Result
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.ports.engine import Engine
from acidsql.ports.store import Store
from acidsql.statements import (
    AbortCompactions,
    AbortTransactions,
    Begin,
    Cache,
    Check,
    Commit,
    CreateView,
    EngineAnswer,
    Explain,
    Query,
    Rollback,
    SetAutocommit,
    SetTransaction,
    Show,
    Statement,
    TransactionStatement,
    Use,
    WriteStatement,
)
from acidsql.txn.entities import TxnType
from acidsql.txn.transaction import TxnOpener

_ALLOWED = (
    WriteStatement
    | Query
    | Explain
    | Check
    | Cache
    | Show
    | EngineAnswer
    | Use
    | AbortTransactions
    | AbortCompactions
    | TransactionStatement
)


class TransactionControl:
    """The state that BEGIN, COMMIT, ROLLBACK, SET TRANSACTION and SET AUTOCOMMIT change."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        open_txn: TxnOpener,
        leases: Leases,
    ) -> None:
        self._store = store
        self._engine = engine
        self._open_txn = open_txn
        self._leases = leases
        self._block: TransactionBlock | None = None
        self._autocommit = True
        self._next_read_only = False
        self._guard = threading.RLock()

    @property
    def autocommit(self) -> bool:
        """Whether a statement outside of a block is a transaction of its own."""
        return self._autocommit

    @property
    def in_block(self) -> bool:
        """Whether a transaction block is open."""
        return self._block is not None

    @contextmanager
    def statement(self, statement: Statement | None = None) -> Iterator[TransactionBlock | None]:
        """The block that a statement runs in, or None for a transaction of its own.

        Without autocommit, a write or a query (or None, a read) begins a block if none is open. An
        error of the statement leaves the work of earlier statements as it was, unless it ends the
        transaction: an interrupt or an abort does.
        """
        starts = statement is None or isinstance(statement, WriteStatement | Query)
        with self._guard:
            block = self._block
            if block is None and starts and not self._autocommit:
                block = self.begin()
        if block is None:
            yield None
            return
        with block.guard:
            self._require_current(block)
            block.require_alive()
            if statement is not None:
                _refuse_in_block(statement)
            block.statements += 1
            try:
                yield block
            except (KeyboardInterrupt, TxnAbortedError, NoSuchTxnError) as error:
                block.lose(error, self._engine)
                raise

    def run(self, statement: TransactionStatement) -> Result:
        """Carry out a statement about the transaction itself, such as COMMIT."""
        match statement:
            case Begin():
                return _block_result("begin", self.begin(read_only=statement.read_only))
            case Commit():
                return self.commit()
            case Rollback():
                return self.rollback()
            case SetTransaction():
                self._set_modes(statement.read_only)
                return Result("set transaction", message="OK")
            case SetAutocommit():
                self._set_autocommit(statement.on)
                return Result("set autocommit", message="OK")
            case _:
                assert_never(statement)

    def begin(self, *, read_only: bool | None = None) -> TransactionBlock:
        """Open a block and take its one snapshot. TxnError if a block is open already."""
        with self._guard:
            if self._block is not None:
                raise TxnError(
                    f"transaction {self._block.txn.txn_id} is open already",
                    hint="COMMIT or ROLLBACK ends it; transactions do not nest.",
                    code=20007,
                )
            # The thread of the leases rolls the block back if the session is collected meanwhile.
            self._leases.start()
            chosen = self._next_read_only if read_only is None else read_only
            kind = TxnType.READ_ONLY if chosen else TxnType.DEFAULT
            txn = self._open_txn(kind, is_block=True)
            self._next_read_only = False
            self._block = TransactionBlock(txn, explicit=True, read_only=chosen)
            return self._block

    def commit(self) -> Result:
        """End the block. Everything that it wrote becomes visible at once, or nothing does."""
        with self._ended_block() as block:
            if block is None:
                return Result("commit", message="OK")
            block.commit(self._store, self._engine, self._leases.pins)
            return _block_result("commit", block)

    def rollback(self) -> Result:
        """End the block. Nothing that it wrote stays."""
        with self._ended_block() as block:
            if block is None:
                return Result("rollback", message="OK")
            block.lose(TxnError("ROLLBACK"), self._engine)
            return _block_result("rollback", block)

    def commit_if(self, block: TransactionBlock) -> None:
        """`commit`, unless a statement has ended the block already."""
        if self._block is block:
            self.commit()

    def rollback_if(self, block: TransactionBlock) -> None:
        """`rollback`, unless the block has ended already."""
        if self._block is block:
            self.rollback()

    def close(self) -> None:
        """Roll back the block, if one is open. Idempotent."""
        if self._block is not None:
            self.rollback()

    @contextmanager
    def _ended_block(self) -> Iterator[TransactionBlock | None]:
        """The open block, or None if autocommit is off and no statement has begun one.

        The block has ended when the ``with`` block is left. An interrupt before the ``with`` block
        is entered leaves it open. TxnError if no transaction can be ended.
        """
        block = self._block
        if block is None:
            if self._autocommit:
                raise TxnError("no transaction is open", hint="BEGIN starts one.", code=20008)
            yield None
            return
        with block.guard:
            self._require_current(block)
            try:
                yield block
            finally:
                self._block = None

    def _require_current(self, block: TransactionBlock) -> None:
        """TxnError if another thread ended the block while this one waited for its guard."""
        if self._block is not block:
            raise TxnError(
                f"transaction {block.txn.txn_id} was ended by another thread", hint="BEGIN again."
            )

    def _set_modes(self, read_only: bool | None) -> None:
        block = self._block
        if block is None:
            if read_only is not None:
                self._next_read_only = read_only
            return
        if block.statements:
            raise TxnError(
                "SET TRANSACTION must come before the first statement of the transaction",
                hint="COMMIT or ROLLBACK, then begin again.",
            )
        if read_only is None:
            return
        if block.txn.type is TxnType.READ_ONLY and not read_only:
            raise TxnError("the transaction was begun READ ONLY", hint="ROLLBACK, then BEGIN.")
        block.read_only = read_only

    def _set_autocommit(self, on: bool) -> None:
        if on and self._block is not None:
            # JDBC's setAutoCommit(true) commits, too. A lost transaction raises its error here.
            self.commit()
        self._autocommit = on


def _refuse_in_block(statement: Statement) -> None:
    is_temporary = isinstance(statement, CreateView) and statement.is_temporary
    if not (is_temporary or isinstance(statement, _ALLOWED)):
        raise UnsupportedStatementError(
            "CREATE, ALTER, DROP, COMMENT ON, MSCK, ANALYZE, VACUUM, EXPORT, IMPORT and INSERT"
            " OVERWRITE DIRECTORY are not allowed in a transaction",
            detail="It cannot be rolled back.",
            hint="COMMIT or ROLLBACK first.",
            code=20007,
        )


def _block_result(kind: str, block: TransactionBlock) -> Result:
    return Result(
        kind,
        txn_id=block.txn.txn_id,
        write_ids={str(table): int(number) for table, number in block.write_ids.items()},
        message="OK",
    )

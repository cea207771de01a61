"""The transaction state of a session: autocommit, or a block that is open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
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
    AbortTransactions,
    Begin,
    Check,
    Commit,
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
from acidsql.txn.transaction import OpenTxn

_ALLOWED = (
    WriteStatement | Query | Explain | Check | Show | Use | AbortTransactions | TransactionStatement
)


class TransactionControl:
    """What BEGIN, COMMIT, ROLLBACK, SET TRANSACTION and SET AUTOCOMMIT change."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        open_txn: Callable[[TxnType], OpenTxn],
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
        """The block a statement runs in, or None; without autocommit it may have to begin here.

        An error leaves what earlier statements did as it was, unless the transaction is lost.
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
        """Carry out a statement about the transaction itself."""
        match statement:
            case Begin():
                return _done("begin", self.begin(read_only=statement.read_only))
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
        """Open a block; its one snapshot is taken here. TxnError if one is open."""
        with self._guard:
            if self._block is not None:
                raise TxnError(
                    f"transaction {self._block.txn.txn_id} is open already",
                    hint="COMMIT or ROLLBACK ends it; transactions do not nest.",
                    code=20007,
                )
            # So that a session which is collected with the block open can have it rolled back.
            self._leases.start()
            chosen = self._next_read_only if read_only is None else read_only
            txn = self._open_txn(TxnType.READ_ONLY if chosen else TxnType.DEFAULT)
            try:
                _ = txn.valid_txns
            except BaseException as error:
                txn.abort_after(error)
                raise
            self._next_read_only = False
            self._block = TransactionBlock(txn, explicit=True, read_only=chosen)
            return self._block

    def commit(self) -> Result:
        """End the block; everything it wrote becomes visible at once, or nothing."""
        with self._ending() as block:
            if block is None:
                return Result("commit", message="OK")
            block.commit(self._store, self._engine, self._leases.pins)
            return _done("commit", block)

    def rollback(self) -> Result:
        """End the block; nothing it wrote stays."""
        with self._ending() as block:
            if block is None:
                return Result("rollback", message="OK")
            block.lose(TxnError("ROLLBACK"), self._engine)
            return _done("rollback", block)

    def commit_if(self, block: TransactionBlock) -> None:
        """`commit`, unless the block has been ended by a statement."""
        if self._block is block:
            self.commit()

    def rollback_if(self, block: TransactionBlock) -> None:
        """`rollback`, unless the block has ended."""
        if self._block is block:
            self.rollback()

    def close(self) -> None:
        """Roll back what is open. Idempotent."""
        if self._block is not None:
            self.rollback()

    @contextmanager
    def _ending(self) -> Iterator[TransactionBlock | None]:
        """The block, which has ended when this does; an interrupt before that leaves it open."""
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
        """Another thread may have ended the block while this one waited for it."""
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
            # As JDBC has it; a lost transaction says so here.
            self.commit()
        self._autocommit = on


def _refuse_in_block(statement: Statement) -> None:
    if not isinstance(statement, _ALLOWED):
        raise UnsupportedStatementError(
            "a statement about tables and their files is not allowed in a transaction",
            detail="It cannot be rolled back.",
            hint="COMMIT or ROLLBACK first.",
            code=20007,
        )


def _done(kind: str, block: TransactionBlock) -> Result:
    return Result(
        kind,
        txn_id=block.txn.txn_id,
        write_ids={str(table): int(number) for table, number in block.write_ids.items()},
        message="OK",
    )

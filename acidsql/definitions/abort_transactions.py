"""ABORT TRANSACTIONS."""

from __future__ import annotations

from acidsql.errors import NoSuchTxnError
from acidsql.execution.result import Result
from acidsql.statements import AbortTransactions
from acidsql.txn.manager import TxnManager

ABORTED_BY_COMMAND = "abort by query command"


def abort_transactions(statement: AbortTransactions, txns: TxnManager) -> Result:
    """Abort each of the transactions. One that is aborted already is no error.

    Nor is one that is unknown or committed, as in Hive: the message names it.
    """
    notes: list[str] = []
    for txn_id in statement.txn_ids:
        try:
            txns.abort_txn(txn_id, ABORTED_BY_COMMAND)
        except NoSuchTxnError as error:
            notes.append(f"{error.message.rstrip('.')}. Nothing was aborted for this id.")
    return Result("abort transactions", message="\n".join(["OK", *notes]))

"""ABORT TRANSACTIONS."""

from __future__ import annotations

from acidsql.errors import NoSuchTxnError
from acidsql.execution.result import Result
from acidsql.statements import AbortTransactions
from acidsql.txn.manager import TxnManager

ABORTED_BY_COMMAND = "abort by query command"


def abort_transactions(statement: AbortTransactions, txns: TxnManager) -> Result:
    """Abort each of the transactions. One that is aborted already is no error.

    Raises NoSuchTxnError if some are unknown or committed, after the others have been aborted.
    """
    missing: list[NoSuchTxnError] = []
    for txn_id in statement.txn_ids:
        try:
            txns.abort_txn(txn_id, ABORTED_BY_COMMAND)
        except NoSuchTxnError as error:
            missing.append(error)
    if missing:
        raise NoSuchTxnError(
            "; ".join(error.message for error in missing),
            hint="SHOW TRANSACTIONS lists the open transactions.",
            code=10262,
        )
    return Result("abort transactions", message="OK")

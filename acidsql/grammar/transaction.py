"""BEGIN, COMMIT, ROLLBACK, SET TRANSACTION, SET AUTOCOMMIT and ABORT."""

from __future__ import annotations

from acidsql.grammar.compact import parse_abort_compactions
from acidsql.grammar.cursor import Cursor
from acidsql.model.ids import TxnId
from acidsql.statements.compact import AbortCompactions
from acidsql.statements.transaction import (
    AbortTransactions,
    Begin,
    Commit,
    Rollback,
    SetAutocommit,
    SetTransaction,
)

_ISOLATION = "The only isolation level is SNAPSHOT."
_OTHER_LEVELS = ("READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE")
SAVEPOINT_HINT = (
    "A failed statement leaves the work of earlier statements as it was;"
    " ROLLBACK undoes the whole transaction."
)
_EXPECTED = "expected READ ONLY, READ WRITE or ISOLATION LEVEL SNAPSHOT"
_BEHIND_BEGIN = frozenset(
    {"ALTER", "ATOMIC", "BEGIN", "CALL", "CASE", "CREATE", "DECLARE", "DELETE", "DROP", "END"}
    | {"EXECUTE", "FOR", "FROM", "IF", "INSERT", "LEAVE", "LOOP", "MERGE", "NOT", "REPEAT"}
    | {"SELECT", "SET", "SHOW", "SIGNAL", "TRUNCATE", "UPDATE", "USE", "VALUES", "WHILE", "WITH"}
)
"""Words that begin a statement in a script of Spark's."""
_ON, _OFF = ("TRUE", "ON", "1"), ("FALSE", "OFF", "0")


def refuse_compound(cursor: Cursor) -> None:
    """Refuse BEGIN with a statement behind it: a script of Spark's, which ends with END."""
    if cursor.sees("BEGIN") and cursor.peek(1).word in _BEHIND_BEGIN:
        cursor.source.refuse(
            "BEGIN … END around statements is not supported",
            cursor.offset,
            hint="BEGIN is a statement of its own, which begins a transaction. COMMIT ends it.",
        )


def parse_begin(cursor: Cursor) -> Begin:
    """Parse ``BEGIN [WORK | TRANSACTION] [modes]`` or ``START TRANSACTION [modes]``."""
    if cursor.accept("START"):
        cursor.expect("TRANSACTION")
    else:
        cursor.expect("BEGIN")
        _optional_noun(cursor)
    return Begin(_modes(cursor))


def parse_commit(cursor: Cursor) -> Commit:
    """Parse ``COMMIT [WORK | TRANSACTION]``."""
    cursor.expect("COMMIT")
    _optional_noun(cursor)
    _refuse_chain(cursor)
    return Commit()


def parse_rollback(cursor: Cursor) -> Rollback:
    """Parse ``ROLLBACK [WORK | TRANSACTION]``."""
    start = cursor.offset
    cursor.expect("ROLLBACK")
    _optional_noun(cursor)
    if cursor.sees("TO"):
        cursor.source.refuse("savepoints are not supported", start, hint=SAVEPOINT_HINT)
    _refuse_chain(cursor)
    return Rollback()


def parse_set_transaction(cursor: Cursor) -> SetTransaction:
    """Parse ``TRANSACTION modes``, after SET."""
    cursor.expect("TRANSACTION")
    if cursor.done:
        cursor.unexpected(_EXPECTED)
    return SetTransaction(_modes(cursor))


def parse_set_autocommit(cursor: Cursor) -> SetAutocommit:
    """Parse ``AUTOCOMMIT TRUE | FALSE``, after SET."""
    cursor.expect("AUTOCOMMIT")
    cursor.accept("=")
    word = cursor.peek().text.upper()
    if word not in (*_ON, *_OFF):
        cursor.unexpected("expected TRUE or FALSE")
    cursor.step()
    return SetAutocommit(word in _ON)


def parse_abort(cursor: Cursor) -> AbortTransactions | AbortCompactions:
    """Parse ``ABORT TRANSACTIONS id id …`` or ``ABORT COMPACTIONS id id …``.

    Commas between the ids are allowed.
    """
    start = cursor.offset
    cursor.expect("ABORT")
    if cursor.sees("COMPACTIONS"):
        return parse_abort_compactions(cursor)
    if not cursor.sees("TRANSACTIONS"):
        cursor.source.refuse(
            f"ABORT {cursor.peek().word} is not supported".replace("  ", " "),
            start,
            hint="Write ABORT TRANSACTIONS and the ids that SHOW TRANSACTIONS lists, or ABORT"
            " COMPACTIONS and those that SHOW COMPACTIONS lists.",
        )
    cursor.step()
    ids = [TxnId(cursor.integer("the id of a transaction"))]
    while not cursor.done:
        cursor.accept(",")
        ids.append(TxnId(cursor.integer("the id of a transaction")))
    return AbortTransactions(tuple(dict.fromkeys(ids)))


def _optional_noun(cursor: Cursor) -> None:
    if not cursor.accept("WORK"):
        cursor.accept("TRANSACTION")


def _refuse_chain(cursor: Cursor) -> None:
    if cursor.sees("AND"):
        cursor.source.refuse(
            "AND CHAIN is not supported", cursor.offset, hint="Write BEGIN as the next statement."
        )


def _modes(cursor: Cursor) -> bool | None:
    """Parse a list of transaction modes. True for READ ONLY, False for READ WRITE, None without."""
    read_only: bool | None = None
    first = True
    while not cursor.done:
        if not first:
            cursor.accept(",")
        first = False
        start = cursor.offset
        if cursor.accept("READ"):
            if cursor.sees("ONLY") == (read_only is False) and read_only is not None:
                cursor.source.syntax_error("READ ONLY and READ WRITE exclude each other", start)
            read_only = cursor.accept("ONLY")
            if not read_only:
                cursor.expect("WRITE")
        elif cursor.accept("ISOLATION"):
            cursor.expect("LEVEL")
            _expect_snapshot(cursor)
        else:
            cursor.unexpected(_EXPECTED)
    return read_only


def _expect_snapshot(cursor: Cursor) -> None:
    for level in _OTHER_LEVELS:
        if cursor.sees(*level.split()):
            cursor.source.refuse(
                f"isolation level {level} is not supported", cursor.offset, hint=_ISOLATION
            )
    if not cursor.accept("SNAPSHOT"):
        cursor.unexpected("expected SNAPSHOT", hint=_ISOLATION)

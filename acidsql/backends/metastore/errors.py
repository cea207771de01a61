"""What a metastore answers instead of a result, in our words and with its own."""

from __future__ import annotations

import re
from typing import Any

from thriftpy2.thrift import TApplicationException

from acidsql.backends.metastore.idl import hms
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    DeadlockError,
    NoSuchLockError,
    NoSuchTxnError,
    StorageError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    TxnError,
    WriteConflictError,
)

_CONFLICT = re.compile(
    r"Aborting \[txnid:(?P<own>\d+),\d+\] due to a write conflict on "
    r"(?P<database>[^/]+)/(?P<table>[^/ ]+)(?:/(?P<partition>.+))? "
    r"committed by \[txnid:(?P<other>\d+),\d+\]"
)
_TOO_MANY = "Maximum allowed number of open transactions"


class NoConnectionError(StorageError):
    """No server could be reached, so nothing has happened."""


class LostAnswerError(StorageError):
    """The connection broke, or nothing came in time. Only if ``sent`` can anything have happened,
    and only if ``closed`` was it not for want of patience.
    """

    def __init__(self, message: str, *, detail: str, sent: bool, closed: bool) -> None:
        super().__init__(message, detail=detail)
        self.sent, self.closed = sent, closed


class UnknownMethodError(StorageError):
    """The server has no such method: it is older, or newer, than the one that has."""


class MetaError(StorageError):
    """The server failed (MetaException), or refused for a reason that only its words tell."""


class NoSuchObjectError(AnalysisError):
    """There is no such database, table or partition (NoSuchObjectException and the like)."""


class AlreadyThereError(AnalysisError):
    """There is such a database, table or partition already (AlreadyExistsException)."""


class RefusedError(AnalysisError):
    """What was asked for is not allowed or not right (InvalidOperationException and the like)."""


def not_connected(name: str, reason: str, *, accepted: bool = False) -> NoConnectionError:
    """No server of the metastore is to be talked to; ``accepted`` says that somebody is there."""
    hint = "A Hive Metastore must be listening there; its port is 9083 unless configured."
    if accepted:
        hint = (
            "The server may want TLS, another login or none, or HTTP: ssl, auth and transport in "
            "the URL."
        )
    return NoConnectionError(
        f"cannot connect to the metastore {name}", detail=_sentence(reason), hint=hint
    )


def unknown_method(name: str, methods: str) -> UnknownMethodError:
    """A server that has none of the methods that would do."""
    return UnknownMethodError(
        f"the metastore {name} has no {methods}", hint="Hive 3.1 and 4.x are supported."
    )


def lost_answer(
    name: str, method: str, reason: str, *, sent: bool, closed: bool
) -> LostAnswerError:
    """The connection broke in the middle of a call."""
    return LostAnswerError(
        f"the metastore {name} did not answer to {method}",
        detail=_sentence(reason),
        sent=sent,
        closed=closed,
    )


def failed(error: Exception, name: str, method: str) -> AcidSqlError:
    """What a thrift exception that a server sent says."""
    text = words(error)
    match error:
        case hms.NoSuchTxnException():
            gone = NoSuchTxnError(text, code=10262)
            gone.committed = "already committed" in text
            return gone
        case hms.TxnAbortedException():
            return _aborted(text)
        case hms.NoSuchLockException():
            return NoSuchLockError(text, code=10270)
        case hms.TxnOpenException():
            return TxnError(text, hint="Commit or abort the transaction.")
        case hms.NoSuchObjectException() | hms.UnknownDBException() | hms.UnknownTableException():
            return NoSuchObjectError(text)
        case hms.AlreadyExistsException():
            return AlreadyThereError(text)
        case (
            hms.InvalidOperationException()
            | hms.InvalidObjectException()
            | hms.InvalidInputException()
            | hms.ConfigValSecurityException()
        ):
            return RefusedError(f"the metastore {name} refused {method}", detail=_sentence(text))
        case TApplicationException(type=TApplicationException.UNKNOWN_METHOD):
            return unknown_method(name, method)
    if _TOO_MANY in text:
        return TooManyOpenTxnsError(text)
    # Of an exception that the method does not declare, a server says only that there was one.
    told = getattr(error, "type", None) != TApplicationException.INTERNAL_ERROR
    return MetaError(
        f"the metastore {name} failed in {method}",
        detail=_sentence(text),
        hint=None if told else "The metastore's log says why.",
    )


def _aborted(text: str) -> TxnAbortedError:
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        place = f"{conflict['database']}.{conflict['table']}"
        return WriteConflictError(
            text,
            table=place,
            partition=conflict["partition"],
            txn_id=int(conflict["own"]),
            other_txn_id=int(conflict["other"]),
        )
    kind = DeadlockError if "deadlock" in text.lower() else TxnAbortedError
    return kind(text, code=10263)


def words(error: Any) -> str:
    """The server's own words, in one line.

    >>> words(hms.MetaException(message="a  b"))
    'a b'
    """
    return " ".join((getattr(error, "message", None) or str(error) or type(error).__name__).split())


def reason_of(error: BaseException) -> str:
    """Why a connection broke, or did not come about."""
    if isinstance(error, TimeoutError):
        return "Nothing came in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(getattr(error, "message", None) or error) or type(error).__name__


def _sentence(text: str) -> str:
    return text.rstrip(".") + "."

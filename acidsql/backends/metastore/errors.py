"""The errors of a metastore's answers. They keep the server's own words."""

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
    PartitionExistsError,
    StorageError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    TxnError,
    WriteConflictError,
)
from acidsql.model.names import TableName
from acidsql.ports.catalog import Partition, partition_exists
from acidsql.ports.storage import without_login

_CONFLICT = re.compile(
    r"Aborting \[txnid:(?P<own>\d+),\d+\] due to a write conflict on "
    r"(?P<database>[^/]+)/(?P<table>[^/ ]+)(?:/(?P<partition>.+))? "
    r"committed by \[txnid:(?P<other>\d+),\d+\]"
)
_TOO_MANY = "Maximum allowed number of open transactions"


class NoConnectionError(StorageError):
    """No server could be reached, so nothing has happened."""


class LostAnswerError(StorageError):
    """The connection broke, or no answer came in time.

    ``sent``: the call was sent, so something may have happened. ``closed``: the connection broke;
    otherwise the time was up.
    """

    def __init__(self, message: str, *, detail: str, sent: bool, closed: bool) -> None:
        super().__init__(message, detail=detail)
        self.sent, self.closed = sent, closed


class UnknownMethodError(StorageError):
    """The server has no such method: it is of an older or newer version of Hive."""


class MetaError(StorageError):
    """The server failed (MetaException), or refused for a reason that only its message tells."""


class NoSuchObjectError(AnalysisError):
    """There is no such database, table or partition (NoSuchObjectException and the like)."""


class AlreadyThereError(AnalysisError):
    """The database, table or partition is there already (AlreadyExistsException)."""


class RefusedError(AnalysisError):
    """The request is not allowed or not valid (InvalidOperationException and the like)."""


def not_connected(name: str, reason: str, *, accepted: bool = False) -> NoConnectionError:
    """The error if no server can be talked to. ``accepted``: one has accepted a connection."""
    hint = "A Hive Metastore must be listening there; its port is 9083 unless configured."
    if accepted:
        hint = (
            "The server may expect TLS, another login or none, or HTTP: see the options ssl, auth "
            "and transport of the URL."
        )
    return NoConnectionError(
        f"cannot connect to the metastore {name}", detail=_sentence(reason), hint=hint
    )


def unknown_method(name: str, methods: str) -> UnknownMethodError:
    """The error for a server that has none of the methods that would do."""
    return UnknownMethodError(
        f"the metastore {name} has no {methods}", hint="Hive 3.1 and 4.x are supported."
    )


def lost_answer(
    name: str, method: str, reason: str, *, sent: bool, closed: bool
) -> LostAnswerError:
    """The error for a connection that broke in the middle of a call."""
    return LostAnswerError(
        f"the metastore {name} did not answer to {method}",
        detail=_sentence(reason),
        sent=sent,
        closed=closed,
    )


def made_elsewhere(table: TableName, partition: Partition) -> PartitionExistsError:
    """The error for a new partition that another client has made meanwhile, in another directory.

    Rows in the directory that it would have had would be in no partition.
    """
    error = partition_exists(table, partition.name)
    error.detail = f"Another client has made it in {without_login(partition.location)} meanwhile."
    error.hint = "Run the statement again."
    return error


def failed(error: Exception, name: str, method: str) -> AcidSqlError:
    """Our error for a Thrift exception that a server sent."""
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
    # For an exception that the method does not declare, the server sends no message.
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
    """The server's own message, in one line.

    >>> words(hms.MetaException(message="a  b"))
    'a b'
    """
    return " ".join((getattr(error, "message", None) or str(error) or type(error).__name__).split())


def reason_of(error: BaseException) -> str:
    """Why a connection broke, or could not be made."""
    if isinstance(error, TimeoutError):
        return "Nothing came in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(getattr(error, "message", None) or error) or type(error).__name__


def _sentence(text: str) -> str:
    return text.rstrip(".") + "."

"""Errors of acidsql for the driver's errors."""

from __future__ import annotations

import psycopg
from psycopg import errors

from acidsql.backends.postgres.url import Place
from acidsql.errors import StorageError, StoreNotWritableError
from acidsql.model.credentials import cover, secrets_of

_NOT_ALLOWED = (errors.InsufficientPrivilege, errors.InvalidSchemaName)
_UNDONE = (errors.DeadlockDetected, errors.SerializationFailure)
_CONNECT_HINTS = {
    "does not exist": "Create the database, or the user, or correct the URL.",
    "password": "The password may stand in the URL, in PGPASSWORD or in ~/.pgpass.",
    "Connection refused": "A server must be listening there.",
    "unrecognized configuration parameter": "The server must be PostgreSQL 12 or later.",
}


class NoConnectionError(StorageError):
    """No connection could be made, so nothing was carried out."""


def is_undone(error: psycopg.Error) -> bool:
    """Whether the server has rolled back for the sake of another store transaction."""
    return isinstance(error, _UNDONE)


def no_connection(error: psycopg.Error, place: Place) -> NoConnectionError:
    """The error with the server's reason as its detail."""
    text = _text(error, place)
    hint = next((hint for sign, hint in _CONNECT_HINTS.items() if sign in text), None)
    return NoConnectionError(
        f"cannot connect to the transaction store {place.name}",
        detail=text,
        hint=hint or "Server, database, user and password of the URL must be right.",
    )


def storage_error(error: psycopg.Error, place: Place, *, lost_commit: bool) -> StorageError:
    """The error of a store transaction. With ``lost_commit`` its commit may have succeeded."""
    text = _text(error, place)
    if lost_commit:
        return StorageError(
            f"the transaction store {place.name} did not answer to a commit", detail=text
        )
    if isinstance(error, errors.LockNotAvailable):
        return StorageError(
            f"the transaction store {place.name} is busy",
            detail=text,
            hint="Try again; if it stays busy, look for a session that hangs in pg_stat_activity.",
        )
    if isinstance(error, errors.DiskFull):
        return StoreNotWritableError(
            f"the disk of the transaction store {place.name} is full",
            detail=text,
            hint="Free some space on the server. Reads go on meanwhile.",
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreNotWritableError(
            f"the transaction store {place.name} cannot be written",
            detail=text,
            hint="It may be a standby, or default_transaction_read_only be on. Reads go on.",
        )
    hint = None
    if isinstance(error, _NOT_ALLOWED):
        hint = f"The user must own the schema {place.schema}, or be allowed to use and create it."
    return StorageError(f"cannot use the transaction store {place.name}", detail=text, hint=hint)


def _text(error: psycopg.Error, place: Place) -> str:
    """The driver's message as one sentence. A password in the message is covered."""
    text = cover(str(error), secrets_of(place.parameters))
    return " ".join(text.split()).rstrip(".") + "."

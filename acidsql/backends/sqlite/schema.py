"""The tables of a store in a SQLite file: made, brought to this release's version, and checked."""

from __future__ import annotations

import sqlite3

from acidsql.backends.relational.queries import load_migrations
from acidsql.backends.sqlite.busy import patiently
from acidsql.backends.sqlite.errors import damaged
from acidsql.backends.sqlite.store_file import StoreFile
from acidsql.errors import StorageError

DIALECT = "acidsql.backends.sqlite"
_LARGEST_CHECKED = 32 << 20
"""The size in bytes up to which a store is checked when it is opened: 100 ms for 10 MB or so."""


def connect(path: str, name: str, timeout_s: float) -> sqlite3.Connection:
    """A connection to a file with the tables of this release, which are made where they lack.

    ``name`` is the store's path in errors. StorageError if a newer release has changed the store.
    """
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        # Readers and the writer do not wait for each other.
        patiently(connection, "PRAGMA journal_mode = WAL", timeout_s=timeout_s)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, name, timeout_s)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, name: str, timeout_s: float) -> None:
    if schema_version(connection, timeout_s) == newest_version():
        return
    patiently(connection, "BEGIN IMMEDIATE", timeout_s=timeout_s)
    try:
        # The version is read again, because another process may have migrated while this one
        # waited.
        version = schema_version(connection, timeout_s)
        require_known(version, name)
        for number, statements in load_migrations(DIALECT):
            for statement in statements if number > version else ():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {newest_version():d}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def newest_version() -> int:
    """The schema version of this release."""
    return load_migrations(DIALECT)[-1][0]


def schema_version(connection: sqlite3.Connection, timeout_s: float) -> int:
    """The schema version of a store; 0 for an empty file."""
    (version,) = patiently(connection, "PRAGMA user_version", timeout_s=timeout_s).fetchone()
    return int(version)


def require_known(version: int, name: str) -> None:
    """StorageError for the schema version of a newer release."""
    if version > newest_version():
        raise StorageError(
            f"the transaction store {name} has schema version {version}",
            detail=f"This release knows versions up to {newest_version()}.",
            hint="Use a newer release.",
        )


def require_whole(connection: sqlite3.Connection, file: StoreFile, timeout_s: float) -> None:
    """CorruptFileError if pages do not fit together, or if a value is one that no row may have."""
    if file.size > _LARGEST_CHECKED:
        return
    (found,) = patiently(connection, "PRAGMA quick_check(1)", timeout_s=timeout_s).fetchone()
    if found != "ok":
        raise damaged(file.path, f"SQLite finds {found}.")

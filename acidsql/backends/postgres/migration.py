"""The schema of a store: made and brought up to date by the first session that opens it."""

from __future__ import annotations

from psycopg import Connection, sql

from acidsql.backends.postgres.queries import execute
from acidsql.backends.postgres.url import Place
from acidsql.backends.relational.connection import Row
from acidsql.backends.relational.queries import load_migrations
from acidsql.errors import MissingFileError, StorageError

DIALECT = "acidsql.backends.postgres"


def migrate(connection: Connection[Row], place: Place, *, must_exist: bool) -> bool:
    """Carry out the migrations that the schema lacks; whether the schema had no store before.

    StorageError if the schema is newer. MissingFileError if the store must exist and does not.
    """
    migrations = load_migrations(DIALECT)
    newest = migrations[-1][0]
    if _version(connection) == newest:
        # A user without the right to create can use a store that is up to date.
        return False
    with connection.transaction():
        execute(connection, "lock_schema", {"schema": place.schema})
        # The version is read again, because another process may have migrated while this one
        # waited.
        version = _version(connection)
        if version > newest:
            raise StorageError(
                f"the transaction store {place.name} has schema version {version}",
                detail=f"This release knows versions up to {newest}.",
                hint="Use a newer release.",
            )
        if not version and must_exist:
            raise MissingFileError(
                f"there is no transaction store {place.name}",
                hint="Check the URL; without must_exist (--must-exist) a new one is made.",
            )
        if not execute(connection, "schema_exists", {"schema": place.schema}).fetchone():
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(place.schema)))
        for number, statements in migrations:
            for statement in statements if number > version else ():
                connection.execute(statement.encode())
        execute(connection, "set_schema_version", {"version": newest})
        return not version


def _version(connection: Connection[Row]) -> int:
    """The schema version, 0 without a store. Only the schema of the store is searched."""
    row = execute(connection, "version_table").fetchone()
    if row is None or row[0] is None:
        return 0
    row = execute(connection, "schema_version").fetchone()
    return int(row[0]) if row is not None else 0

"""Databases."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.backends.relational.connection import OverSql, SqlConnection, alone, reading, writing
from acidsql.errors import StoreNotWritableError
from acidsql.model.names import DEFAULT_DATABASE
from acidsql.model.naming import Named, refuse_name
from acidsql.ports.catalog import (
    Database,
    database_exists,
    database_not_found,
    is_default_database,
    is_not_empty,
)


class RelationalDatabases(OverSql):
    """The verbs of `Catalog` about databases."""

    def __init__(self, sql: SqlConnection, warehouse: str) -> None:
        self._sql = sql
        try:
            self._place_default_database(warehouse)
        except StoreNotWritableError:
            if not self._has_default_database(located=bool(warehouse)):
                raise

    @reading()
    def _has_default_database(self, *, located: bool) -> bool:
        row = self._sql.row("database", name=DEFAULT_DATABASE)
        return row is not None and (bool(Database(*row).location) or not located)

    @writing()
    def _place_default_database(self, warehouse: str) -> None:
        self._sql.run("place_default_database", name=DEFAULT_DATABASE, location=warehouse)

    @alone(repeatable=False)
    def create_database(self, database: Database) -> None:
        name = database.name.lower()
        refuse_name(name, Named.DATABASE)
        if self._sql.row("database", name=name) is not None:
            raise database_exists(name)
        self._sql.run(
            "insert_database",
            name=name,
            location=database.location,
            comment=database.comment,
            owner=database.owner,
        )
        self._set_database_parameters(name, database.parameters)

    @writing()
    def set_database_parameters(self, name: str, parameters: Mapping[str, str]) -> None:
        self._set_database_parameters(self.database(name).name, parameters)

    def _set_database_parameters(self, name: str, parameters: Mapping[str, str]) -> None:
        for key, value in parameters.items():
            self._sql.run("set_database_parameter", name=name, key=key, value=value)

    @alone(repeatable=False)
    def drop_database(self, name: str) -> None:
        name = name.lower()
        home = self.database(name).name
        tables = [table for (table,) in self._sql.rows("names", database=home)]
        if name == DEFAULT_DATABASE:
            raise is_default_database()
        if tables:
            raise is_not_empty(name, tables)
        self._sql.run("delete_database", name=name)

    @reading()
    def database(self, name: str) -> Database:
        row = self._sql.row("database", name=name.lower())
        if row is None:
            raise database_not_found(name)
        name, location, comment, owner = row
        rows = self._sql.rows("database_parameters", name=name)
        parameters = {str(key): str(value) for key, value in rows}
        return Database(name, location, comment, owner, parameters=parameters)

    @reading()
    def databases(self) -> list[str]:
        return [name for (name,) in self._sql.rows("databases")]

"""Databases of a Hive Metastore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.errors import (
    AlreadyThereError,
    NoSuchObjectError,
    RefusedError,
    UnknownMethodError,
)
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.locations import location_of, place_of
from acidsql.backends.metastore.sense import given
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.naming import Named, refuse_name
from acidsql.ports.catalog import (
    Database,
    database_exists,
    database_not_found,
    is_default_database,
    is_not_empty,
)

_OF_DATABASE = "."
"""In locks of definitions: the database's own. No table has this name."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The server's warehouse directories. ``external`` is "" if it has none for external tables.

    ``translates``: the server makes plain tables external (Hive 4's metadata transformer).
    """

    managed: str
    external: str
    translates: bool = False


def database_from(struct: Any, roots: Roots) -> Database:
    """Our Database of the metastore's struct.

    The directory of its managed tables follows Hive's Warehouse.getDatabaseManagedPath.
    """
    name = given(struct.name, "the name of a database").lower()
    location = place_of(struct.locationUri)
    managed = location
    if struct.managedLocationUri:
        managed = place_of(struct.managedLocationUri)
    elif roots.external and f"{location}/".startswith(f"{roots.external}/"):
        below = "" if name == DEFAULT_DATABASE else f"/{name}.db"
        managed = f"{roots.managed}{below}"
    owner = struct.ownerName or ""
    return Database(
        name,
        location,
        struct.description or None,
        owner,
        managed,
        roots.translates,
        dict(struct.parameters or {}),
    )


def database_to(database: Database) -> Any:
    """The metastore's struct for a new database."""
    return hms.Database(
        name=database.name.lower(),
        description=database.comment,
        locationUri=location_of(database.location),
        parameters=dict(database.parameters),
        ownerName=database.owner,
        ownerType=hms.PrincipalType.USER,
    )


class MetastoreDatabases:
    """The verbs of `Catalog` about databases."""

    def __init__(
        self,
        client: MetastoreClient,
        definition_locked: Callable[[TableName], AbstractContextManager[None]],
    ) -> None:
        self._client = client
        self._definition_locked = definition_locked
        self._roots: Roots | None = None

    def create_database(self, database: Database) -> None:
        refuse_name(database.name.lower(), Named.DATABASE)
        try:
            self._client.call("create_database", database_to(database), repeatable=False)
        except AlreadyThereError:
            raise database_exists(database.name.lower()) from None

    def drop_database(self, name: str) -> None:
        name = name.lower()
        tables = self._names(name)
        if name == DEFAULT_DATABASE:
            raise is_default_database()
        if tables:
            raise is_not_empty(name, tables)
        try:
            self._client.call("drop_database", name, False, False, repeatable=False)
        except NoSuchObjectError:
            raise database_not_found(name) from None

    def set_database_parameters(self, name: str, parameters: Mapping[str, str]) -> None:
        name = name.lower()
        try:
            with self._definition_locked(TableName(name, _OF_DATABASE)):
                struct = self._client.call("get_database", name, keep_unknown=True)
                struct.parameters = {**(struct.parameters or {}), **parameters}
                self._client.call("alter_database", name, struct, keep_unknown=True)
        except NoSuchObjectError:
            raise database_not_found(name) from None

    def database(self, name: str) -> Database:
        name = name.lower()
        try:
            # Not get_database_req: that needs the name of the server's catalog.
            struct = self._client.call("get_database", name)
        except NoSuchObjectError:
            raise database_not_found(name) from None
        return database_from(struct, self._warehouse())

    def _warehouse(self) -> Roots:
        if self._roots is None:
            managed = self._configured("hive.metastore.warehouse.dir")
            external = self._configured("hive.metastore.warehouse.external.dir")
            self._roots = Roots(
                place_of(managed) if managed else "",
                place_of(external) if external else "",
                bool(self._configured("metastore.metadata.transformer.class")),
            )
        return self._roots

    def _configured(self, key: str) -> str:
        try:
            return str(self._client.call("get_config_value", key, "")).strip()
        except (RefusedError, UnknownMethodError):
            return ""  # then all tables of a database lie in its location

    def databases(self) -> list[str]:
        return sorted(self._client.call("get_all_databases"))

    def _names(self, database: str) -> list[str]:
        """Names of the tables and views of a database, sorted. Raises DatabaseNotFoundError."""
        return sorted(self._client.call("get_all_tables", self.database(database).name))

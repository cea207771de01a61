"""Converts databases between the metastore's structs and our `Database`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.locations import location_of, place_of
from acidsql.backends.metastore.sense import given
from acidsql.model.names import DEFAULT_DATABASE
from acidsql.ports.catalog import Database


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

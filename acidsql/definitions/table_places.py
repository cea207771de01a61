"""The directories of tables: where a database keeps them, and which ones a table has."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.definitions.removal import OwnPlace
from acidsql.execution.scope import Scope
from acidsql.model.names import DEFAULT_DATABASE
from acidsql.model.naming import is_path_part, table_path
from acidsql.model.table import Table, TableKind, is_external, kind_of
from acidsql.ports.catalog import Database


def places_of(table: Table, scope: Scope) -> list[OwnPlace]:
    """The directories of partitions that lie outside of the table's, then the table's own."""
    partitions = [p.location for p in scope.store.partitions(table.name)]
    outside = [p for p in partitions if not table.encloses(p)]
    database = scope.store.database(table.name.database)
    home = database_location(database, scope.warehouse, table.parameters)
    name = table.name.table
    is_chosen = not is_path_part(name) or table.location != table_path(home, name)
    levels = tuple(c.name for c in table.partition_columns)
    return [
        *(OwnPlace(place, is_chosen=True) for place in outside),
        OwnPlace(table.location, is_chosen, levels),
    ]


def database_location(database: Database, warehouse: str, parameters: Mapping[str, str]) -> str:
    """The directory in which a database keeps tables with such parameters."""
    if database.managed_location is None:
        return warehouse if database.name == DEFAULT_DATABASE else database.location
    plain = kind_of(parameters) is TableKind.PLAIN
    external = is_external(parameters) or (plain and database.plain_is_external)
    return database.location if external else database.managed_location

"""The meaning of names in a session: the answers to the planner's questions."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.table import Table
from acidsql.ports.engine import Engine
from acidsql.ports.store import Store


@dataclass(slots=True)
class SessionNames:
    """The Names of the planner (`planner.names.Names`) over a store and an engine.

    ``database`` is the current one; USE changes it.
    """

    store: Store
    engine: Engine
    database: str = DEFAULT_DATABASE

    def find_table(self, name: TableName) -> Table | None:
        """The catalog's table, or None."""
        return self.store.find_table(name)

    def is_frame(self, name: str) -> bool:
        """Whether a DataFrame is registered under this name."""
        return name.lower() in self.engine.frame_names()

    def is_view(self, name: str) -> bool:
        """Whether Spark has a temporary view of this name."""
        return self.engine.has_view(name)

    def table_names(self, database: str) -> list[str]:
        """The tables of a database, if it exists, to suggest from."""
        return self.store.tables(database) if database in self.store.databases() else []

    def leave_dropped_database(self) -> None:
        """Go on in the default database if the current one is gone."""
        if self.database not in self.store.databases():
            self.database = DEFAULT_DATABASE

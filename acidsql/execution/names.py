"""The meaning of names in a session: the answers to the planner's questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.table import Table
from acidsql.model.view import View
from acidsql.planner.names import temporary_tables_in
from acidsql.ports.catalog import names_in
from acidsql.ports.engine import Engine
from acidsql.ports.store import Store
from acidsql.statements.query import Query


@dataclass(slots=True)
class SessionNames:
    """The Names of the planner (`planner.names.Names`) over a store and an engine.

    ``database`` is the current one; USE changes it. ``view_query`` reads the text of a view.
    ``temporary_views`` are those of the session, by name. ``temporary_tables`` are its temporary
    tables: their names in the catalog, by those in statements.
    """

    store: Store
    engine: Engine
    view_query: Callable[[View], Query]
    database: str = DEFAULT_DATABASE
    temporary_views: dict[str, View] = field(default_factory=dict)
    temporary_tables: dict[TableName, TableName] = field(default_factory=dict)

    def find_table(self, name: TableName) -> Table | None:
        """The catalog's table, or None."""
        return self.store.find_table(name)

    def find_view(self, name: TableName) -> View | None:
        """The catalog's view, or the session's temporary view, or None."""
        if name.is_temporary:
            return self.temporary_views.get(name.table)
        return self.store.find_view(name)

    def query_of(self, view: View) -> Query:
        """The query of a view. UnsupportedStatementError if it is not understood."""
        return self.view_query(view)

    def is_frame(self, name: str) -> bool:
        """Whether a DataFrame is registered under this name."""
        return name.lower() in self.engine.frame_names()

    def is_temporary_view(self, name: str) -> bool:
        """Whether Spark has a temporary view of this name."""
        return self.engine.has_view(name)

    @property
    def keeps_spelling(self) -> bool:
        """Whether the store's types keep the capital letters of names of fields."""
        return self.store.keeps_spelling

    @property
    def temporary_names(self) -> list[str]:
        """The names of the session's temporary views, sorted."""
        return sorted(self.temporary_views)

    def table_names(self, database: str) -> list[str]:
        """The tables and views of a database, if it exists, to suggest from."""
        own = temporary_tables_in(database, self)
        return [*own, *names_in(self.store, database)] if database in self.store.databases() else []

    def leave_dropped_database(self) -> None:
        """Go on in the default database if the current one is gone."""
        if self.database not in self.store.databases():
            self.database = DEFAULT_DATABASE

"""Databases, tables and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql.backends.memory.state import MemoryState
from acidsql.catalog import (
    Database,
    Partition,
    database_exists,
    database_not_found,
    is_default_database,
    is_not_empty,
    table_exists,
    table_not_found,
)
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.table import Table


class MemoryCatalog(MemoryState):
    """The verbs of `Catalog`."""

    def create_database(self, database: Database) -> None:
        with self.guard:
            name = database.name.lower()
            if name in self.database_rows:
                raise database_exists(name)
            self.database_rows[name] = replace(database, name=name)

    def drop_database(self, name: str) -> None:
        with self.guard:
            name = name.lower()
            tables = self.tables(name)
            if name == DEFAULT_DATABASE:
                raise is_default_database()
            if tables:
                raise is_not_empty(name, tables)
            del self.database_rows[name]

    def database(self, name: str) -> Database:
        with self.guard:
            if name.lower() not in self.database_rows:
                raise database_not_found(name)
            return self.database_rows[name.lower()]

    def databases(self) -> list[str]:
        with self.guard:
            return sorted(self.database_rows)

    def create_table(self, table: Table) -> None:
        with self.guard:
            name = TableName.of(table.name.database, table.name.table)
            self.database(name.database)
            if name in self.table_rows:
                raise table_exists(name)
            self.table_rows[name] = replace(table, name=name, parameters=dict(table.parameters))

    def drop_table(self, name: TableName) -> None:
        with self.guard:
            name = self.table(name).name
            del self.table_rows[name]
            self.partition_rows.pop(name, None)
            self.write_ids.pop(name, None)
            self.next_write_ids.pop(name, None)
            place = (name.database, name.table)
            self.components = {c: None for c in self.components if (c.database, c.table) != place}
            self.completed = {c: None for c in self.completed if (c.database, c.table) != place}
            self.write_set = [w for w in self.write_set if (w.database, w.table) != place]
            self.compactions = {
                i: c for i, c in self.compactions.items() if (c.database, c.table) != place
            }

    def table(self, name: TableName) -> Table:
        table = self.find_table(name)
        if table is None:
            raise table_not_found(name)
        return table

    def find_table(self, name: TableName) -> Table | None:
        with self.guard:
            return self.table_rows.get(TableName.of(name.database, name.table))

    def tables(self, database: str) -> list[str]:
        with self.guard:
            home = self.database(database).name
            return sorted(name.table for name in self.table_rows if name.database == home)

    def partitions(self, name: TableName) -> list[Partition]:
        with self.guard:
            known = self.partition_rows.get(self.table(name).name, {})
            return [known[text] for text in sorted(known)]

    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        with self.guard:
            known = self.partition_rows.setdefault(self.table(name).name, {})
            for partition in partitions:
                known.setdefault(str(partition.name), partition)

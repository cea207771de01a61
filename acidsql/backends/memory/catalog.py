"""Databases, tables and partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from acidsql.backends.memory.state import MemoryState
from acidsql.model.names import DEFAULT_DATABASE, PartitionName, TableName
from acidsql.model.naming import Named, refuse_name
from acidsql.model.predicate import Predicate
from acidsql.model.prune import prune_partitions
from acidsql.model.statistics import Statistics
from acidsql.model.table import Table
from acidsql.model.view import View
from acidsql.ports.catalog import (
    Database,
    Partition,
    Place,
    all_places,
    database_exists,
    database_not_found,
    is_default_database,
    is_not_empty,
    names_in,
    partition_exists,
    partition_not_found,
    table_exists,
    table_not_found,
)
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import Compaction, WriteSetEntry


@dataclass(frozen=True, slots=True)
class _Place:
    """The place that a row of a transaction table names."""

    database: str
    table: str
    partition: str | None

    def of(self, name: TableName) -> bool:
        return (self.database, self.table) == (name.database, name.table)


_Row = TypeVar("_Row", TxnComponent, WriteSetEntry, Compaction)


def _moved(rows: Iterable[_Row], change: Callable[[_Place], _Place | None]) -> Iterator[_Row]:
    for row in rows:
        place = change(_Place(row.database, row.table, row.partition))
        if place is not None:
            yield replace(
                row, database=place.database, table=place.table, partition=place.partition
            )


class MemoryCatalog(MemoryState):
    """The verbs of `Catalog`."""

    def create_database(self, database: Database) -> None:
        with self.guard:
            name = database.name.lower()
            refuse_name(name, Named.DATABASE)
            if name in self.database_rows:
                raise database_exists(name)
            parameters = dict(database.parameters)
            self.database_rows[name] = replace(database, name=name, parameters=parameters)

    def drop_database(self, name: str) -> None:
        with self.guard:
            name = name.lower()
            tables = names_in(self, name)
            if name == DEFAULT_DATABASE:
                raise is_default_database()
            if tables:
                raise is_not_empty(name, tables)
            del self.database_rows[name]

    def set_database_parameters(self, name: str, parameters: Mapping[str, str]) -> None:
        with self.guard:
            known = self.database(name)
            merged = {**known.parameters, **parameters}
            self.database_rows[known.name] = replace(known, parameters=merged)

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
            name = self._free_name(table.name)
            self.table_rows[name] = replace(table, name=name, parameters=dict(table.parameters))

    def _free_name(self, name: TableName) -> TableName:
        """The name in lower case. Raises unless a new table or view may have it."""
        name = TableName.of(name.database, name.table)
        refuse_name(name.table, Named.TABLE)
        self.database(name.database)
        if name in self.table_rows or name in self.view_rows:
            raise table_exists(name)
        return name

    def drop_table(self, name: TableName) -> None:
        with self.guard:
            name = self.table(name).name
            del self.table_rows[name]
            self.partition_rows.pop(name, None)
            self.statistics_rows.pop(name, None)
            self._forget(name)

    def _forget(self, name: TableName) -> None:
        self.write_ids.pop(name, None)
        self.next_write_ids.pop(name, None)
        self._replace_places(lambda p: None if p.of(name) else p)

    def alter_table(self, table: Table) -> None:
        with self.guard:
            name = self.table(table.name).name
            self.statistics_rows.pop(name, None)
            self.table_rows[name] = replace(table, name=name, parameters=dict(table.parameters))

    def rename_table(self, name: TableName, table: Table, partitions: Sequence[Partition]) -> None:
        with self.guard:
            name = self.table(name).name
            self.create_table(table)
            new = TableName.of(table.name.database, table.name.table)
            self._forget(new)
            del self.table_rows[name]
            self.partition_rows.pop(name, None)
            self.statistics_rows.pop(name, None)
            self.partition_rows[new] = {str(p.name): p for p in partitions}
            if name in self.write_ids:
                self.write_ids[new] = self.write_ids.pop(name)
            if name in self.next_write_ids:
                self.next_write_ids[new] = self.next_write_ids.pop(name)
            self._replace_places(
                lambda p: _Place(new.database, new.table, p.partition) if p.of(name) else p
            )

    def _replace_places(self, change: Callable[[_Place], _Place | None]) -> None:
        """Change the places in the transaction tables. Rows whose new place is None are removed."""
        self.components = dict.fromkeys(_moved(self.components, change))
        self.completed = {
            moved: is_written
            for component, is_written in self.completed.items()
            for moved in _moved([component], change)
        }
        self.write_set = list(_moved(self.write_set, change))
        entries = _moved(self.compactions.values(), change)
        self.compactions = {c.compaction_id: c for c in entries}

    def _replace_partition(self, change: Callable[[_Place], _Place | None]) -> None:
        """Change places, but keep the components of open transactions.

        Those wait for their locks: they will write into the partition that takes this place.
        """
        waiting = set(self.open_txn_ids())
        kept = [c for c in self.components if c.txn_id in waiting]
        self._replace_places(change)
        moved = [c for c in self.components if c.txn_id not in waiting]
        self.components = dict.fromkeys([*kept, *moved])

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

    def create_view(self, view: View) -> None:
        with self.guard:
            name = self._free_name(view.name)
            self.view_rows[name] = replace(view, name=name, parameters=dict(view.parameters))

    def alter_view(self, view: View) -> None:
        with self.guard:
            name = self._view(view.name).name
            self.view_rows[name] = replace(view, name=name, parameters=dict(view.parameters))

    def rename_view(self, name: TableName, new: TableName) -> None:
        with self.guard:
            view = self._view(name)
            self.create_view(replace(view, name=new))
            del self.view_rows[view.name]

    def drop_view(self, name: TableName) -> None:
        with self.guard:
            del self.view_rows[self._view(name).name]

    def _view(self, name: TableName) -> View:
        view = self.find_view(name)
        if view is None:
            raise table_not_found(name)
        return view

    def find_view(self, name: TableName) -> View | None:
        with self.guard:
            return self.view_rows.get(TableName.of(name.database, name.table))

    def views(self, database: str) -> list[str]:
        with self.guard:
            home = self.database(database).name
            return sorted(name.table for name in self.view_rows if name.database == home)

    def partitions(self, name: TableName) -> list[Partition]:
        with self.guard:
            known = self.partition_rows.get(self.table(name).name, {})
            return [known[text] for text in sorted(known)]

    def partition_names(self, name: TableName) -> list[PartitionName]:
        return [p.name for p in self.partitions(name)]

    def partitions_for(self, table: Table, predicates: Sequence[Predicate]) -> list[Partition]:
        return prune_partitions(table, self.partitions(table.name), predicates)

    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        with self.guard:
            name = self.table(name).name
            if partitions:
                self.statistics_rows.pop(name, None)
            known = self.partition_rows.setdefault(name, {})
            for partition in partitions:
                known.setdefault(str(partition.name), partition)

    def drop_partitions(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        with self.guard:
            name = self.table(name).name
            self.statistics_rows.pop(name, None)
            known = self.partition_rows.get(name, {})
            gone = {str(p) for p in partitions}
            for text in gone:
                known.pop(text, None)
            self._replace_partition(lambda p: None if p.of(name) and p.partition in gone else p)

    def rename_partition(
        self, name: TableName, partition: PartitionName, renamed: Partition
    ) -> None:
        with self.guard:
            name = self.table(name).name
            known = self.partition_rows.get(name, {})
            old, new = str(partition), str(renamed.name)
            if old not in known:
                raise partition_not_found(name, partition)
            if new != old and new in known:
                raise partition_exists(name, renamed.name)
            self.statistics_rows.pop(name, None)
            del known[old]
            known[new] = renamed
            self._replace_partition(
                lambda p: replace(p, partition=new) if p.of(name) and p.partition == old else p
            )

    def places(self, location: str) -> Iterator[Place]:
        return all_places(self)

    keeps_spelling = False
    keeps_statistics = True

    def keep_statistics(
        self, name: TableName, kept: Mapping[PartitionName | None, Statistics]
    ) -> None:
        with self.guard:
            known = self.statistics_rows.setdefault(self.table(name).name, {})
            known.update((str(partition or ""), found) for partition, found in kept.items())

    def statistics(
        self, name: TableName, partition: PartitionName | None = None
    ) -> Statistics | None:
        with self.guard:
            known = self.statistics_rows.get(self.table(name).name, {})
            return known.get(str(partition or ""))

    def forget_statistics(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        """Do nothing: its statistics say of which write ids they are true."""

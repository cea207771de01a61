"""The Catalog port: databases, tables and partitions by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from acidsql.errors import (
    AnalysisError,
    DatabaseExistsError,
    DatabaseNotFoundError,
    PartitionExistsError,
    PartitionNotFoundError,
    TableExistsError,
    TableNotFoundError,
)
from acidsql.model.names import PartitionName, TableName
from acidsql.model.predicate import Predicate
from acidsql.model.table import Table, TableKind


@dataclass(frozen=True, slots=True)
class Database:
    """A database and the directory of its tables.

    Where the catalog tells, managed tables lie in ``managed_location`` and external ones in
    ``location``; with ``plain_is_external`` it makes external tables of all that are plain.
    """

    name: str
    location: str
    comment: str | None = None
    owner: str = ""
    managed_location: str | None = None
    plain_is_external: bool = False


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition and its directory."""

    name: PartitionName
    location: str


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of a table, or of a partition of it."""

    table: TableName
    kind: TableKind
    location: str
    is_partition: bool = False


class Catalog(Protocol):
    """Names are matched in lower case. ``default`` always exists.

    Reads are read-only. Creating, dropping and renaming are safe to retry: a repeated create raises
    the …Exists error, a repeated drop or rename the …NotFound error, and neither does harm.
    """

    def create_database(self, database: Database) -> None:
        """Raises DatabaseExistsError, or AnalysisError for what none may be called."""
        ...

    def drop_database(self, name: str) -> None:
        """Raises DatabaseNotFoundError; AnalysisError if it still has tables, or is ``default``."""
        ...

    def database(self, name: str) -> Database:
        """Raises DatabaseNotFoundError."""
        ...

    def databases(self) -> list[str]:
        """All names, sorted."""
        ...

    def create_table(self, table: Table) -> None:
        """Raises TableExistsError or DatabaseNotFoundError."""
        ...

    def drop_table(self, name: TableName) -> None:
        """Forget the table, its partitions, and its rows in the transaction tables.

        A table created under the same name later starts at write id 1 (Hive TxnHandler).
        Raises TableNotFoundError. Files are not touched.
        """
        ...

    def alter_table(self, table: Table) -> None:
        """Replace everything but the name and the partitions. Idempotent; TableNotFoundError."""
        ...

    def rename_table(self, name: TableName, table: Table, partitions: Sequence[Partition]) -> None:
        """Replace a table by one of another name, with its partitions where they are now.

        What the transaction tables know of it follows the name (Hive TxnHandler.onRename). Raises
        TableNotFoundError, TableExistsError or DatabaseNotFoundError.
        """
        ...

    def table(self, name: TableName) -> Table:
        """Raises TableNotFoundError."""
        ...

    def find_table(self, name: TableName) -> Table | None:
        """The table, or None."""
        ...

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database, sorted. Raises DatabaseNotFoundError."""
        ...

    def partitions(self, name: TableName) -> list[Partition]:
        """All partitions, sorted by name; [] for an unpartitioned table."""
        ...

    def partition_names(self, name: TableName) -> list[PartitionName]:
        """The names of all partitions, sorted as texts; where they lie is not asked for."""
        ...

    def partitions_for(self, table: Table, predicates: Sequence[Predicate]) -> list[Partition]:
        """Those that may hold rows which satisfy all of the predicates, sorted by name.

        A remote catalog need not tell of the others, which can be a hundred thousand.
        """
        ...

    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        """Add those that are not there yet; idempotent."""
        ...

    def drop_partitions(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        """Forget them, and their rows in the transaction tables; idempotent.

        Files are not touched.
        """
        ...

    def rename_partition(
        self, name: TableName, partition: PartitionName, renamed: Partition
    ) -> None:
        """Give a partition another name and location; its transaction rows follow.

        Raises PartitionNotFoundError, or PartitionExistsError.
        """
        ...

    def places(self, location: str) -> Iterator[Place]:
        """The directories in use, at least those that are, hold or lie in ``location``.

        A remote catalog need not tell of partitions, which can be a hundred thousand in each table.
        """
        ...

    def forget_statistics(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        """Row counts and the like are not to be believed any more: rows are being changed.

        ``partitions`` are those whose rows are; none in a table without partition columns. Said
        before the commit, by whoever writes. Idempotent; TableNotFoundError.
        """
        ...


def all_places(catalog: Catalog) -> Iterator[Place]:
    """The directory of every table and partition."""
    for database in catalog.databases():
        for table_name in catalog.tables(database):
            table = catalog.table(TableName(database, table_name))
            yield Place(table.name, table.kind, table.location)
            for partition in catalog.partitions(table.name):
                yield Place(table.name, table.kind, partition.location, is_partition=True)


def database_exists(name: str) -> DatabaseExistsError:
    """What `Catalog.create_database` raises."""
    return DatabaseExistsError(f"Database {name} already exists")


def database_not_found(name: str) -> DatabaseNotFoundError:
    """What every verb that names a database raises."""
    return DatabaseNotFoundError(f"Database does not exist: {name}", code=10072)


def is_default_database() -> AnalysisError:
    """The default database stays."""
    return AnalysisError("the database default cannot be dropped")


def is_not_empty(name: str, tables: Sequence[str]) -> AnalysisError:
    """A database is dropped after its tables."""
    return AnalysisError(
        f"database {name} is not empty",
        detail=f"It has the tables {', '.join(tables)}.",
        hint="DROP them first, or DROP DATABASE … CASCADE.",
    )


def table_exists(name: TableName) -> TableExistsError:
    """What `Catalog.create_table` raises."""
    return TableExistsError(f"Table already exists: {name}", code=10073)


def table_not_found(name: TableName) -> TableNotFoundError:
    """What every verb that names a table raises."""
    return TableNotFoundError(f"Table not found: {name}", code=10001)


def partition_exists(name: TableName, partition: PartitionName) -> PartitionExistsError:
    """What a verb raises that would make a second partition of one name."""
    return PartitionExistsError(f"Partition already exists: {name} {partition}", code=10118)


def partition_not_found(name: TableName, partition: PartitionName) -> PartitionNotFoundError:
    """What a verb raises that names a partition."""
    return PartitionNotFoundError(f"table {name} has no partition {partition}", code=10006)

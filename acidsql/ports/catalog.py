"""The Catalog port: databases, tables and partitions by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
from acidsql.model.statistics import Statistics
from acidsql.model.table import Table, TableKind
from acidsql.model.view import View


@dataclass(frozen=True, slots=True)
class Database:
    """A database and the directory of its tables.

    Some catalogs keep two directories: managed tables lie in ``managed_location`` and external ones
    in ``location``. With ``plain_is_external`` the catalog makes every plain table external.
    ``parameters`` are its DBPROPERTIES.
    """

    name: str
    location: str
    comment: str | None = None
    owner: str = ""
    managed_location: str | None = None
    plain_is_external: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition and its directory."""

    name: PartitionName
    location: str


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of a table or of one of its partitions."""

    table: TableName
    kind: TableKind
    location: str
    is_partition: bool = False


class Catalog(Protocol):
    """Names are matched in lower case. ``default`` always exists. Tables and views share names.

    Reads change nothing. Creating, dropping and renaming are safe to retry: a repeated create
    raises the …Exists error, a repeated drop or rename the …NotFound error; neither changes
    anything.
    """

    def create_database(self, database: Database) -> None:
        """Raises DatabaseExistsError, or AnalysisError for a name that no database may have."""
        ...

    def drop_database(self, name: str) -> None:
        """Raises DatabaseNotFoundError.

        AnalysisError if it still has tables or views, or is ``default``.
        """
        ...

    def set_database_parameters(self, name: str, parameters: Mapping[str, str]) -> None:
        """Set these parameters beside those that are there. Idempotent.

        Raises DatabaseNotFoundError.
        """
        ...

    def database(self, name: str) -> Database:
        """Raises DatabaseNotFoundError."""
        ...

    def databases(self) -> list[str]:
        """All names, sorted."""
        ...

    def create_table(self, table: Table) -> None:
        """Raises TableExistsError, also if a view has the name, or DatabaseNotFoundError."""
        ...

    def drop_table(self, name: TableName) -> None:
        """Forget the table, its partitions, and its records in the transaction tables.

        A table created under the same name later starts at write id 1 (Hive TxnHandler).
        Raises TableNotFoundError. Files are not touched.
        """
        ...

    def alter_table(self, table: Table) -> None:
        """Replace everything but the name and the partitions. Idempotent.

        Raises TableNotFoundError.
        """
        ...

    def rename_table(self, name: TableName, table: Table, partitions: Sequence[Partition]) -> None:
        """Replace a table by one of another name. ``partitions`` have their new directories.

        The table's records in the transaction tables get the new name (Hive TxnHandler.onRename).
        Raises TableNotFoundError, TableExistsError or DatabaseNotFoundError.
        """
        ...

    def table(self, name: TableName) -> Table:
        """Raises TableNotFoundError, also for a view."""
        ...

    def find_table(self, name: TableName) -> Table | None:
        """The table, or None, also for the name of a view."""
        ...

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database, sorted; views are left out.

        Raises DatabaseNotFoundError.
        """
        ...

    def create_view(self, view: View) -> None:
        """Raises TableExistsError, also if a table has the name, or DatabaseNotFoundError."""
        ...

    def alter_view(self, view: View) -> None:
        """Replace everything but the name. Idempotent. Raises TableNotFoundError."""
        ...

    def rename_view(self, name: TableName, new: TableName) -> None:
        """Raises TableNotFoundError, TableExistsError or DatabaseNotFoundError."""
        ...

    def drop_view(self, name: TableName) -> None:
        """Raises TableNotFoundError."""
        ...

    def find_view(self, name: TableName) -> View | None:
        """The view, or None, also for the name of a table."""
        ...

    def views(self, database: str) -> list[str]:
        """Names of the views of a database, sorted. Raises DatabaseNotFoundError."""
        ...

    def partitions(self, name: TableName) -> list[Partition]:
        """All partitions, sorted by name; [] for an unpartitioned table."""
        ...

    def partition_names(self, name: TableName) -> list[PartitionName]:
        """The names of all partitions, sorted as texts. Cheaper than `partitions`."""
        ...

    def partitions_for(self, table: Table, predicates: Sequence[Predicate]) -> list[Partition]:
        """The partitions that may hold rows which satisfy all predicates, sorted by name.

        A remote catalog need not send the others, of which there may be a hundred thousand.
        """
        ...

    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        """Add the partitions that are not there yet. Idempotent."""
        ...

    def drop_partitions(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        """Forget partitions and their records in the transaction tables. Idempotent.

        Files are not touched.
        """
        ...

    def rename_partition(
        self, name: TableName, partition: PartitionName, renamed: Partition
    ) -> None:
        """Give a partition another name and location. It may keep the name.

        Its records in the transaction tables get the new name. Raises PartitionNotFoundError or
        PartitionExistsError.
        """
        ...

    def places(self, location: str) -> Iterator[Place]:
        """The directories of tables and partitions that overlap with ``location``.

        Two directories overlap if they are equal or one lies in the other. Other directories may be
        among the answer. A remote catalog may leave out partitions, of which each table may have a
        hundred thousand.
        """
        ...

    @property
    def keeps_spelling(self) -> bool:
        """Whether names of fields in types of columns keep their capital letters."""
        ...

    @property
    def keeps_statistics(self) -> bool:
        """Whether `keep_statistics` does so. If not, `statistics` answers None."""
        ...

    def keep_statistics(
        self, name: TableName, kept: Mapping[PartitionName | None, Statistics]
    ) -> None:
        """Keep statistics of some partitions; those under None are of the whole table.

        Other ones of the table stay, until a verb changes the table's definition or partitions:
        such a verb forgets all of the table. Idempotent. Raises TableNotFoundError.
        """
        ...

    def statistics(
        self, name: TableName, partition: PartitionName | None = None
    ) -> Statistics | None:
        """What was kept of a partition, or of the whole table; None if there is nothing.

        Whether they are true of a snapshot is for the caller to find out (`Statistics.basis`).
        Raises TableNotFoundError.
        """
        ...

    def forget_statistics(self, name: TableName, partitions: Sequence[PartitionName]) -> None:
        """Mark statistics that Hive believes as wrong, since rows are being changed.

        Those of `keep_statistics` need no mark.

        ``partitions`` are those with changed rows; () for a table without partition columns. A
        writer calls this before its commit. Idempotent. Raises TableNotFoundError.
        """
        ...


def all_databases(catalog: Catalog) -> Iterator[Database]:
    """Every database, except perhaps one that is dropped meanwhile."""
    for name in catalog.databases():
        with suppress(DatabaseNotFoundError):
            yield catalog.database(name)


def all_places(catalog: Catalog) -> Iterator[Place]:
    """The directory of every table and partition; of what is dropped meanwhile, perhaps none."""
    for database in catalog.databases():
        with suppress(DatabaseNotFoundError):
            yield from _places_in(database, catalog)


def _places_in(database: str, catalog: Catalog) -> Iterator[Place]:
    for table_name in catalog.tables(database):
        table = catalog.find_table(TableName(database, table_name))
        if table is None:
            continue
        yield Place(table.name, table.kind, table.location)
        with suppress(TableNotFoundError):
            for partition in catalog.partitions(table.name):
                yield Place(table.name, table.kind, partition.location, is_partition=True)


def database_exists(name: str) -> DatabaseExistsError:
    """The error of `Catalog.create_database` for a name that is taken."""
    return DatabaseExistsError(f"Database {name} already exists")


def database_not_found(name: str) -> DatabaseNotFoundError:
    """The error of every verb for a database that is not there."""
    return DatabaseNotFoundError(f"Database does not exist: {name}", code=10072)


def is_default_database() -> AnalysisError:
    """The error for dropping the default database."""
    return AnalysisError("the database default cannot be dropped")


def is_not_empty(name: str, tables: Sequence[str]) -> AnalysisError:
    """The error for dropping a database that still has these tables and views."""
    return AnalysisError(
        f"database {name} is not empty",
        detail=f"Its tables are {', '.join(tables)}.",
        hint="DROP them first, or DROP DATABASE … CASCADE.",
    )


def table_exists(name: TableName) -> TableExistsError:
    """The error of `Catalog.create_table` for a name that is taken."""
    return TableExistsError(f"Table already exists: {name}", code=10073)


def is_taken(catalog: Catalog, name: TableName) -> bool:
    """Whether a table or a view has the name."""
    return catalog.find_table(name) is not None or catalog.find_view(name) is not None


def names_in(catalog: Catalog, database: str) -> list[str]:
    """Names of the tables and views of a database, sorted. Raises DatabaseNotFoundError."""
    return sorted([*catalog.tables(database), *catalog.views(database)])


def table_not_found(name: TableName) -> TableNotFoundError:
    """The error of every verb for a table that is not there."""
    return TableNotFoundError(f"Table not found: {name}", code=10001)


def partition_exists(name: TableName, partition: PartitionName) -> PartitionExistsError:
    """The error of a verb that would make a second partition of the same name."""
    return PartitionExistsError(f"Partition already exists: {name} {partition}", code=10118)


def partition_not_found(
    name: TableName, partition: PartitionName, line: int | None = None, column: int | None = None
) -> PartitionNotFoundError:
    """The error of a verb, or of the statement at this place, for a partition that is not there."""
    return PartitionNotFoundError(
        f"table {name} has no partition {partition}", code=10006, line=line, column=column
    )

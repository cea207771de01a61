"""The Catalog port: databases, tables and partitions by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Table


@dataclass(frozen=True, slots=True)
class Database:
    """A database and the directory of its tables."""

    name: str
    location: str
    comment: str | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition and its directory."""

    name: PartitionName
    location: str


class Catalog(Protocol):
    """Names are matched in lower case. ``default`` always exists.

    Reads are read-only. Creating and dropping are safe to retry: a repeated create raises the
    …Exists error, a repeated drop the …NotFound error, and neither does harm.
    """

    def create_database(self, database: Database) -> None:
        """Raises DatabaseExistsError."""
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

    def add_partitions(self, name: TableName, partitions: Sequence[Partition]) -> None:
        """Add those that are not there yet; idempotent."""
        ...

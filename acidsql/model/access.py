"""Accesses: a database, table or partition and what a statement does to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from acidsql.model.names import PartitionName, TableName


class Operation(Enum):
    """What a statement does. The values of one letter are those that Hive stores."""

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"
    OVERWRITE = "overwrite"
    """New rows replace all rows that are there. Hive stores an overwrite as an update."""
    CREATE = "create"
    DROP = "drop"
    ALTER = "alter"
    """Changes the table itself, such as its columns: no other statement may use the table."""
    DESCRIBE = "describe"
    """Changes only notes about the table, such as comments: its rows keep their meaning."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one statement does to one table, or to a whole database when ``table`` is None.

    ``partition`` None means the whole table. ``dynamic`` says that the partitions with new rows are
    known only after the job (Hive's isDynamicPartitionWrite).
    """

    database: str
    table: str | None
    operation: Operation
    partition: PartitionName | None = None
    dynamic: bool = False
    transactional: bool = True

    @classmethod
    def of(
        cls,
        name: TableName,
        operation: Operation,
        partition: PartitionName | None = None,
        *,
        dynamic: bool = False,
        transactional: bool = True,
    ) -> Access:
        """An access to a table."""
        return cls(name.database, name.table, operation, partition, dynamic, transactional)

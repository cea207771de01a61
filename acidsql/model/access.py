"""Accesses: a database, table or partition and what a statement does to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from acidsql.model.names import PartitionName, TableName


class Operation(Enum):
    """What is done; the values of one letter are those Hive stores."""

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"
    OVERWRITE = "overwrite"
    """Rows take the place of all others; Hive stores it as an update."""
    CREATE = "create"
    DROP = "drop"
    ALTER = "alter"
    """Changes what the table is: nobody else may be at work in it."""
    DESCRIBE = "describe"
    """Changes only what is noted about the table: its rows mean what they meant."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one statement does to one table, or to a whole database when ``table`` is None.

    ``partition`` None means the whole table. ``dynamic`` says that the partitions which have rows
    written are known only after the job (Hive's isDynamicPartitionWrite).
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

"""SHOW … and DESCRIBE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.ids import CompactionId
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue
from acidsql.statements.partition import PartitionCondition
from acidsql.statements.query import Query


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW TABLES [IN ``database``] [[LIKE] ``pattern``]."""

    database: Identifier | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowViews:
    """SHOW VIEWS [IN ``database``] [[LIKE] ``pattern``]."""

    database: Identifier | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowMaterializedViews:
    """SHOW MATERIALIZED VIEWS [IN ``database``] [[LIKE] ``pattern``]."""

    database: Identifier | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """SHOW DATABASES | SCHEMAS [[LIKE] ``pattern``]."""

    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowCurrentDatabase:
    """SHOW CURRENT NAMESPACE | DATABASE | SCHEMA."""


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """SHOW PARTITIONS ``target`` [PARTITION (…)]: those that meet all ``conditions``."""

    target: TableRef
    conditions: tuple[PartitionCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """SHOW CREATE TABLE ``target``."""

    target: TableRef


@dataclass(frozen=True, slots=True)
class ShowCreateDatabase:
    """SHOW CREATE DATABASE | SCHEMA ``name``."""

    name: Identifier


@dataclass(frozen=True, slots=True)
class ShowTableExtended:
    """SHOW TABLE EXTENDED [IN ``database``] LIKE ``pattern`` [PARTITION (…)].

    With ``partition``, the pattern is the name of a table.
    """

    database: Identifier | None
    pattern: Identifier
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """SHOW [SORTED] COLUMNS IN ``target`` [[LIKE] ``pattern``]."""

    target: TableRef
    pattern: str | None
    is_sorted: bool = False


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """SHOW TBLPROPERTIES ``target`` [(``key``)]."""

    target: TableRef
    key: str | None


@dataclass(frozen=True, slots=True)
class ShowFunctions:
    """SHOW FUNCTIONS [[LIKE] ``pattern``]."""

    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShownOrder:
    """``column`` [ASC | DESC]: a column of what SHOW prints."""

    column: Identifier
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ShowCompactions:
    """SHOW COMPACTIONS [COMPACTIONID = n], or with the other filters.

    These are DATABASE ``database`` or ``target`` [PARTITION (…)], POOL, TYPE, STATUS, ORDER BY and
    LIMIT. ``type`` and ``status`` are Hive's words in lower case.
    """

    compaction_id: CompactionId | None = None
    database: Identifier | None = None
    target: TableRef | None = None
    partition: tuple[PartitionValue, ...] = ()
    pool: str | None = None
    type: str | None = None
    status: str | None = None
    order: tuple[ShownOrder, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ShowTransactions:
    """SHOW TRANSACTIONS."""


@dataclass(frozen=True, slots=True)
class ShowLocks:
    """SHOW LOCKS [``target`` [PARTITION (…)]] [EXTENDED], or SHOW LOCKS DATABASE ``database``."""

    target: TableRef | None = None
    partition: tuple[PartitionValue, ...] = ()
    database: Identifier | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE [FORMATTED | EXTENDED] ``target`` [PARTITION (…)] [column]. Every item has a value.

    ``path`` are the names in ``column.field.field``.
    """

    target: TableRef
    formatted: bool
    partition: tuple[PartitionValue, ...] = ()
    path: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """DESCRIBE [QUERY] ``query``."""

    query: Query


@dataclass(frozen=True, slots=True)
class DescribeFunction:
    """DESCRIBE FUNCTION [EXTENDED] ``name``: a name, or an operator such as ``+``."""

    name: Identifier
    extended: bool


EngineAnswer = ShowFunctions | DescribeFunction | DescribeQuery
"""What only the engine can answer."""


@dataclass(frozen=True, slots=True)
class DescribeDatabase:
    """DESCRIBE DATABASE [EXTENDED] ``name``."""

    name: Identifier
    extended: bool


ShownDefinition = (
    Describe
    | DescribeDatabase
    | ShowTables
    | ShowViews
    | ShowMaterializedViews
    | ShowDatabases
    | ShowCurrentDatabase
    | ShowPartitions
    | ShowColumns
    | ShowProperties
    | ShowCreateTable
    | ShowCreateDatabase
    | ShowTableExtended
)
Show = ShownDefinition | ShowCompactions | ShowTransactions | ShowLocks

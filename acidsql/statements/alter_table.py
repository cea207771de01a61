"""ALTER TABLE statements that change columns, properties or the name."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.constraint import ConstraintKind
from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.create_table import ColumnDefinition
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ALTER TABLE ``target`` ADD COLUMNS (…)."""

    target: TableRef
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True, slots=True)
class ReplaceColumns:
    """ALTER TABLE ``target`` REPLACE COLUMNS (…)."""

    target: TableRef
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True, slots=True)
class DropColumns:
    """ALTER TABLE ``target`` DROP COLUMN [IF EXISTS] a, or DROP COLUMNS [IF EXISTS] (…)."""

    target: TableRef
    columns: tuple[Identifier, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """ALTER TABLE ``target`` CHANGE ``column`` name type [COMMENT s] [FIRST | AFTER c].

    ``constraints`` stand behind the type.

    RENAME COLUMN a TO b is one without a type, and so is ALTER COLUMN a COMMENT s. ``first`` and
    ``after`` give the column's new place.
    """

    target: TableRef
    column: Identifier
    name: Identifier
    type: str | None = None
    comment: str | None = None
    first: bool = False
    after: Identifier | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """ALTER TABLE ``target`` ADD CONSTRAINT n …, or ALTER COLUMN c SET NOT NULL | DEFAULT e."""

    target: TableRef
    constraint: ConstraintDefinition


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """ALTER TABLE ``target`` DROP CONSTRAINT [IF EXISTS] ``name``."""

    target: TableRef
    name: Identifier
    if_exists: bool


@dataclass(frozen=True, slots=True)
class DropColumnConstraint:
    """ALTER TABLE ``target`` ALTER COLUMN ``column`` DROP NOT NULL | DROP DEFAULT."""

    target: TableRef
    column: Identifier
    kind: ConstraintKind


@dataclass(frozen=True, slots=True)
class RenameTable:
    """ALTER TABLE ``target`` RENAME TO ``renamed``."""

    target: TableRef
    renamed: TableRef


@dataclass(frozen=True, slots=True)
class SetLocation:
    """ALTER TABLE ``target`` [PARTITION (``partition``)] SET LOCATION ``location``."""

    target: TableRef
    location: str
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class SetFormat:
    """ALTER TABLE ``target`` SET FILEFORMAT, SET SERDE or SET SERDEPROPERTIES.

    ``stored_as`` and ``field_delimiter`` are None if the statement names none. ``unread`` are keys
    of SERDEPROPERTIES by which Hive would read texts otherwise than acidsql does.
    """

    target: TableRef
    stored_as: str | None
    field_delimiter: str | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExchangePartition:
    """ALTER TABLE ``target`` EXCHANGE PARTITION (``partition``) WITH TABLE ``source``.

    Every item of ``partition`` has a value. Partition columns may be left out.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...]
    source: TableRef


@dataclass(frozen=True, slots=True)
class ChangeNothing:
    """ALTER TABLE ``target`` TOUCH, UPDATE STATISTICS or SKEWED BY, which change no result.

    ``note`` says why nothing is done. The table must have the ``columns`` and ``partitions``.
    """

    target: TableRef
    note: str
    columns: tuple[Identifier, ...] = ()
    partitions: tuple[tuple[PartitionValue, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SetProperties:
    """ALTER TABLE ``target`` SET TBLPROPERTIES (…)."""

    target: TableRef
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """ALTER TABLE ``target`` UNSET TBLPROPERTIES [IF EXISTS] (…)."""

    target: TableRef
    keys: tuple[str, ...]
    if_exists: bool

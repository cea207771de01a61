"""CREATE TABLE and DROP TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.constraint import ConstraintDefinition
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.query import Query


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """The definition of a column; ``type`` is the text of its type."""

    name: Identifier
    type: str
    comment: str | None
    constraints: tuple[ConstraintDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE [IF NOT EXISTS] ``target`` (…) …; an absent clause is None, False or empty.

    ``stored_as`` is the word after STORED AS, in upper case. ``bucket_columns`` and
    ``bucket_count`` come from CLUSTERED BY (…) INTO n BUCKETS. ``delimited`` says that the
    statement has ROW FORMAT DELIMITED, ``managed`` that it has the word MANAGED, and
    ``transactional`` that it has the word TRANSACTIONAL and no property that says so.
    ``constraints`` stand beside the columns; others stand in the columns' definitions.
    ``sort_columns`` and ``skew_columns`` come from SORTED BY and SKEWED BY. The files have neither.
    A table that ``is_temporary`` is one of the session's. One that ``replaces`` takes the place of
    the table of its name, if there is one.
    """

    target: TableRef
    columns: tuple[ColumnDefinition, ...]
    if_not_exists: bool = False
    partition_columns: tuple[ColumnDefinition, ...] = ()
    bucket_columns: tuple[Identifier, ...] = ()
    bucket_count: int | None = None
    sort_columns: tuple[Identifier, ...] = ()
    skew_columns: tuple[Identifier, ...] = ()
    stored_as: str | None = None
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    external: bool = False
    managed: bool = False
    transactional: bool = False
    delimited: bool = False
    field_delimiter: str | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()
    is_temporary: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """CREATE TABLE … AS ``query``. ``table`` has the other clauses, and no columns.

    ``partition_by`` are the columns of the query that become partition columns. A table that
    ``is_materialized`` is a materialized view: it keeps the query.
    """

    table: CreateTable
    partition_by: tuple[Identifier, ...]
    query: Query
    is_materialized: bool = False

    @property
    def is_temporary(self) -> bool:
        """Whether the table is one of the session's."""
        return self.table.is_temporary


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """CREATE [kind] TABLE [IF NOT EXISTS] ``target`` LIKE ``source`` ….

    ``external``, ``managed``, ``transactional``, ``is_temporary`` and ``replaces`` are those of
    `CreateTable`.
    """

    target: TableRef
    source: TableRef
    if_not_exists: bool
    managed: bool = False
    stored_as: str | None = None
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    transactional: bool = False
    external: bool = False
    is_temporary: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE [IF EXISTS] ``target`` [PURGE]."""

    target: TableRef
    if_exists: bool

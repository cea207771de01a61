"""CREATE VIEW, ALTER VIEW and DROP VIEW, and those of a materialized view."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.query import Query


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column in the list of CREATE VIEW: a name, and perhaps a comment."""

    name: Identifier
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] ``target`` [(…)] [COMMENT …] … AS ``query``.

    ``columns`` is empty if the statement has no list. A view that ``is_temporary`` is one of the
    session.
    """

    target: TableRef
    query: Query
    columns: tuple[ViewColumn, ...] = ()
    replaces: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class AlterViewAs:
    """ALTER VIEW ``target`` AS ``query``."""

    target: TableRef
    query: Query


@dataclass(frozen=True, slots=True)
class RenameView:
    """ALTER VIEW ``target`` RENAME TO ``renamed``."""

    target: TableRef
    renamed: TableRef


@dataclass(frozen=True, slots=True)
class SetViewProperties:
    """ALTER VIEW ``target`` SET TBLPROPERTIES (…)."""

    target: TableRef
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UnsetViewProperties:
    """ALTER VIEW ``target`` UNSET TBLPROPERTIES [IF EXISTS] (…)."""

    target: TableRef
    keys: tuple[str, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP VIEW [IF EXISTS] ``target``."""

    target: TableRef
    if_exists: bool


@dataclass(frozen=True, slots=True)
class DropMaterializedView:
    """DROP MATERIALIZED VIEW [IF EXISTS] ``target``."""

    target: TableRef
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RebuildMaterializedView:
    """ALTER MATERIALIZED VIEW ``target`` REBUILD."""

    target: TableRef


@dataclass(frozen=True, slots=True)
class SetRewriting:
    """ALTER MATERIALIZED VIEW ``target`` ENABLE | DISABLE REWRITE, which changes nothing."""

    target: TableRef


ViewDefinition = CreateView | AlterViewAs
"""The statements that give a view its query."""

AlterView = RenameView | SetViewProperties | UnsetViewProperties

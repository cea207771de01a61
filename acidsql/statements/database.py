"""CREATE, ALTER and DROP DATABASE, and USE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Identifier


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """CREATE DATABASE [IF NOT EXISTS] ``name`` [COMMENT …] [LOCATION …] [WITH DBPROPERTIES (…)]."""

    name: Identifier
    if_not_exists: bool
    comment: str | None = None
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SetDatabaseProperties:
    """ALTER DATABASE ``name`` SET DBPROPERTIES (``properties``)."""

    name: Identifier
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """DROP DATABASE [IF EXISTS] ``name`` [RESTRICT | CASCADE]."""

    name: Identifier
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True)
class Use:
    """USE ``name``."""

    name: Identifier

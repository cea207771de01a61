"""The kind and the format of a new table for which its statement does not say them.

The rules are Hive's (SemanticAnalyzer validateAndAddDefaultProperties, StorageFormat
fillDefaultStorageFormat), with the defaults of Hive as HDP 3 and CDP ship it: a managed table is
ORC and full-ACID. One thing differs. A format in the statement makes a plain table, unless
hive.create.as.acid or hive.create.as.insert.only was set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from acidsql.definitions.table_kind import TRANSACTIONAL, TRANSACTIONAL_PROPERTIES
from acidsql.errors import AnalysisError
from acidsql.model.table import FileFormat, is_external
from acidsql.settings import Settings
from acidsql.statements.create_table import CreateTable, CreateTableLike

_FULL_ACID = {TRANSACTIONAL: "true"}
_INSERT_ONLY = {TRANSACTIONAL: "true", TRANSACTIONAL_PROPERTIES: "insert_only"}


DEFAULT_TABLE_TYPE = "defaultTableType"
"""The DBPROPERTY with the kind of tables whose statements name none: Hive 4's EXTERNAL or ACID."""


def is_external_by_default(
    statement: CreateTable | CreateTableLike, database: Mapping[str, str]
) -> bool:
    """Whether a table is external because its database says so, and its statement names no kind."""
    says_kind = statement.external or statement.managed or statement.transactional
    given = {key.lower() for key, _ in statement.properties}
    return _by_database(database) == "EXTERNAL" and not (says_kind or TRANSACTIONAL in given)


def _by_database(database: Mapping[str, str]) -> str:
    return database.get(DEFAULT_TABLE_TYPE, "").upper()


def with_defaults(
    statement: CreateTable, settings: Settings, database: Mapping[str, str]
) -> CreateTable:
    """The statement with the format and the properties that it does not give.

    ``database`` are the DBPROPERTIES of the table's database, which come before the settings.
    AnalysisError for ``transactional_properties`` without ``transactional``.
    """
    given = {key.lower() for key, _ in statement.properties}
    says_kind = statement.transactional or TRANSACTIONAL in given
    if TRANSACTIONAL_PROPERTIES in given and not says_kind:
        raise AnalysisError(
            f"Cannot specify {TRANSACTIONAL_PROPERTIES} without {TRANSACTIONAL}",
            line=statement.target.line,
            column=statement.target.column,
        )
    if is_external_by_default(statement, database):
        statement = replace(statement, external=True)
    external = statement.external or is_external(dict(statement.properties))
    says_format = statement.stored_as is not None or statement.delimited
    stored_as = statement.stored_as
    if stored_as is None:
        by_default = default_format(settings, external=external)
        stored_as = (FileFormat.TEXT if statement.delimited else by_default).value
    kind: Mapping[str, str] = {}
    if statement.transactional:
        kind = transactional_kind(FileFormat(stored_as), given)
    elif not external and TRANSACTIONAL not in given:
        form, managed = FileFormat(stored_as), statement.managed
        kind = default_kind(settings, database, form, says_format=says_format, managed=managed)
    properties = (*statement.properties, *kind.items())
    return replace(statement, stored_as=stored_as, properties=properties)


def says_neither_kind_nor_format(statement: CreateTable) -> bool:
    """Whether kind and format are left to `with_defaults`."""
    given = {key.lower() for key, _ in statement.properties}
    says_kind = statement.external or statement.managed or statement.transactional
    return not (
        says_kind
        or TRANSACTIONAL in given
        or statement.delimited
        or statement.stored_as is not None
    )


def default_format(settings: Settings, *, external: bool) -> FileFormat:
    """The format of a table whose statement names none."""
    managed = settings.default_managed_format
    if not external and managed not in (None, "none"):
        return FileFormat(managed.upper())
    if settings.default_format is not None:
        return FileFormat(settings.default_format.upper())
    return FileFormat.TEXT if external or managed is not None else FileFormat.ORC


def transactional_kind(format: FileFormat, given: Collection[str]) -> Mapping[str, str]:
    """The properties that the word TRANSACTIONAL adds to those ``given``, as in Hive.

    A table that cannot be full-ACID by its format is insert-only.
    """
    is_full = format is FileFormat.ORC or TRANSACTIONAL_PROPERTIES in given
    return _FULL_ACID if is_full else _INSERT_ONLY


def default_kind(
    settings: Settings,
    database: Mapping[str, str],
    format: FileFormat,
    *,
    says_format: bool,
    managed: bool,
) -> Mapping[str, str]:
    """The properties that make the kind of a managed table whose statement names none.

    ``database`` are the DBPROPERTIES of the table's database. ``managed`` says that the statement
    has the word MANAGED. None of the properties: a plain table.
    """
    if _by_database(database) == "ACID":
        return transactional_kind(format, ())
    insert_only = settings.create_as_insert_only
    acid = settings.create_as_acid
    if acid is None:
        acid = not says_format and not insert_only
    if format is FileFormat.ORC and (acid or (managed and not insert_only)):
        return _FULL_ACID
    return _INSERT_ONLY if insert_only or managed else {}

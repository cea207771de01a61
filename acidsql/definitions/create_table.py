"""CREATE TABLE and DROP TABLE."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from acidsql.catalog import Database
from acidsql.errors import AnalysisError, TableExistsError, UnsupportedStatementError
from acidsql.layout.bucketing import is_bucketable
from acidsql.layout.dir_names import parse_directory
from acidsql.model.access import Access, Operation
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.table import CREATED_COLUMNS, HIVE4_NAMES, Bucketing, Column, Table, TableKind
from acidsql.model.types import CharType, DecimalType, PrimitiveType, parse_type
from acidsql.orc.writer import CODECS
from acidsql.planner.names import find_target, table_name
from acidsql.result import Result
from acidsql.scope import Scope
from acidsql.statements.create_table import ColumnDefinition, CreateTable, DropTable
from acidsql.storage import Storage
from acidsql.txn.locks import lock_components

_RESERVED = frozenset({"row__id"})
_RESERVED_PREFIX = "__acidsql_"
"""What a row carries on its way to the writer is called like this."""


def create_table(statement: CreateTable, scope: Scope) -> Result:
    """Create the table and its directory."""
    name = table_name(statement.target, scope.names)
    database = scope.store.database(name.database)
    parent = database_location(database, scope.warehouse)
    table = table_of(statement, name, f"{parent}/{name.table}", scope.user)
    with scope.transaction() as txn:
        txn.lock(lock_components([Access(name.database, None, Operation.CREATE)]))
        if scope.store.find_table(name) is not None:
            if statement.if_not_exists:
                return Result("create", message="it exists already")
            raise TableExistsError(f"Table already exists: {name}", code=10073)
        _refuse_used_location(scope.storage, table)
        scope.storage.make_directory(table.location)
        scope.store.create_table(table.created_empty())
    return Result("create", message="OK")


def drop_table(statement: DropTable, scope: Scope) -> Result:
    """Drop the table and its files."""
    name = table_name(statement.target, scope.names)
    if statement.if_exists and scope.store.find_table(name) is None:
        return Result("drop", message="it does not exist")
    table = find_target(statement.target, scope.names)
    with scope.transaction() as txn:
        scope.release(lambda held: held == name)
        txn.lock(lock_components([Access.of(name, Operation.DROP)]))
        forget_table(table, scope)
    return Result("drop", message="OK")


def forget_table(table: Table, scope: Scope) -> None:
    """Forget the table, then remove its files: what is forgotten cannot be half there."""
    partitions = scope.store.partitions(table.name)
    scope.store.drop_table(table.name)
    for partition in partitions:
        if not partition.location.startswith(f"{table.location}/"):
            scope.storage.remove(partition.location)
    scope.storage.remove(table.location)


def database_location(database: Database, warehouse: str) -> str:
    """Where the tables of a database lie."""
    return warehouse if database.name == DEFAULT_DATABASE else database.location


def table_of(statement: CreateTable, name: TableName, location: str, owner: str) -> Table:
    """The table a CREATE TABLE describes. AnalysisError and friends for what does not fit."""
    columns = [_column(c) for c in statement.columns]
    partition_columns = [_partition_column(c) for c in statement.partition_columns]
    _refuse_bad_columns(statement, columns, partition_columns)
    table = Table(
        name=name,
        columns=tuple(columns),
        partition_columns=tuple(partition_columns),
        location=statement.location or location,
        bucketing=_bucketing(statement, columns),
        parameters=_parameters(statement),
        comment=statement.comment,
        owner=owner,
        created_s=int(time.time()),
    )
    _refuse_other_kinds(statement, table)
    return table


def _column(definition: ColumnDefinition) -> Column:
    try:
        kind = parse_type(definition.type)
    except ValueError as error:
        raise _at(definition, str(error)) from None
    return Column(definition.name.name.lower(), kind, definition.comment)


def _partition_column(definition: ColumnDefinition) -> Column:
    column = _column(definition)
    kinds = ("boolean", "tinyint", "smallint", "int", "bigint", "string", "date")
    plain = isinstance(column.type, PrimitiveType) and column.type.name in kinds
    is_varchar = isinstance(column.type, CharType) and column.type.name == "varchar"
    if not plain and not is_varchar and not isinstance(column.type, DecimalType):
        raise _at(definition, f"a partition column cannot be of type {column.type}")
    return column


def _at(definition: ColumnDefinition, message: str) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f'column "{definition.name.name}": {message}',
        line=definition.name.line,
        column=definition.name.column,
    )


def _refuse_bad_columns(
    statement: CreateTable, columns: Sequence[Column], partition_columns: Sequence[Column]
) -> None:
    seen: set[str] = set()
    for definition, column in zip(
        (*statement.columns, *statement.partition_columns),
        (*columns, *partition_columns),
        strict=True,
    ):
        reserved = column.name in _RESERVED or column.name.startswith(_RESERVED_PREFIX)
        if column.name in seen or reserved:
            what = "is reserved" if reserved else "is defined twice"
            raise AnalysisError(
                f'column "{column.name}" {what}',
                line=definition.name.line,
                column=definition.name.column,
            )
        if "`" in column.name:
            raise _at(definition, "Spark's ORC reader cannot find a name with a back quote in it")
        seen.add(column.name)
    if not columns:
        raise AnalysisError(
            "a table needs at least one column",
            line=statement.target.line,
            column=statement.target.column,
        )


def _bucketing(statement: CreateTable, columns: Sequence[Column]) -> Bucketing | None:
    if not statement.bucket_columns or statement.bucket_count is None:
        return None
    by_name = {c.name: c for c in columns}
    version = 1 if dict(statement.properties).get("bucketing_version") == "1" else 2
    for identifier in statement.bucket_columns:
        found = by_name.get(identifier.name.lower())
        if found is None:
            why = "is not a column to bucket by"
        elif not is_bucketable(found.type, version):
            why = f"of type {found.type} cannot be bucketed by as Hive does"
        else:
            continue
        raise AnalysisError(
            f'CLUSTERED BY: "{identifier.name}" {why}',
            line=identifier.line,
            column=identifier.column,
        )
    if not 1 <= statement.bucket_count <= 4096:
        raise AnalysisError(
            f"{statement.bucket_count} buckets: between 1 and 4096 are possible",
            line=statement.target.line,
            column=statement.target.column,
        )
    names = tuple(i.name.lower() for i in statement.bucket_columns)
    return Bucketing(names, statement.bucket_count, version)


def _parameters(statement: CreateTable) -> dict[str, str]:
    """As Hive stores them: transactional keys in lower case, transactional_properties filled in."""
    parameters = {k: v for k, v in statement.properties if k != CREATED_COLUMNS}
    for key in list(parameters):
        if key.lower() in ("transactional", "transactional_properties"):
            parameters[key.lower()] = parameters.pop(key)
    if parameters.get("transactional", "").lower() == "true":
        parameters["transactional"] = "true"
        parameters.setdefault("transactional_properties", "default")
    parameters.setdefault("bucketing_version", "2")
    return parameters


def _refuse_other_kinds(statement: CreateTable, table: Table) -> None:
    place: dict[str, Any] = {"line": statement.target.line, "column": statement.target.column}
    transactional = table.parameters.get("transactional")
    if transactional is not None and transactional.lower() not in ("true", "false"):
        raise AnalysisError(
            f"'transactional' property of TBLPROPERTIES may only have value 'true': {table.name}",
            **place,
        )
    if table.kind is not TableKind.FULL_ACID:
        what = "insert-only tables" if table.kind is TableKind.INSERT_ONLY else "plain tables"
        raise UnsupportedStatementError(
            f"{what} are not supported yet",
            hint="Add TBLPROPERTIES ('transactional' = 'true').",
            **place,
        )
    properties = table.parameters["transactional_properties"]
    if properties.lower() != "default":
        raise AnalysisError(
            f"Invalid transactional properties specified for {table.name} with the error unknown"
            f" value {properties} for transactional_properties",
            **place,
        )
    if table.parameters.get(HIVE4_NAMES, "true").lower() not in ("true", "false"):
        raise AnalysisError(f"'{HIVE4_NAMES}' may only be 'true' or 'false'", **place)
    codec = table.parameters.get("orc.compress", "snappy").lower()
    if codec not in CODECS:
        raise AnalysisError(
            f'orc.compress: "{codec}" is not supported',
            hint=f"Use one of {', '.join(CODECS)}.",
            **place,
        )


def _refuse_used_location(storage: Storage, table: Table) -> None:
    """A new table must not come with rows: its write ids start at 1."""
    for file in storage.list_files(table.location):
        parts = file.path.split("/")
        if any(map(parse_directory, parts)) or not parts[0].startswith((".", "_")):
            raise UnsupportedStatementError(
                f"the directory {table.location} is not empty: it holds {file.path}",
                hint="A directory with data cannot become a table yet.",
            )

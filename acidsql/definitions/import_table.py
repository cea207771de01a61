"""IMPORT TABLE: a table of the rows and the description that an EXPORT has left, of Hive or ours.

The table is made first, if there is none. Then one transaction writes all rows. If that fails, the
table stays without rows, and the statement can run again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.definitions.create_table import create_table, creation_locks
from acidsql.definitions.export_table import DATA_DIRECTORY
from acidsql.definitions.table_kind import TRANSACTIONAL, TRANSACTIONAL_PROPERTIES
from acidsql.errors import (
    AnalysisError,
    CorruptFileError,
    MissingFileError,
    PartitionNotFoundError,
)
from acidsql.execution.places import Neighbours, chosen_path, errors_at, refuse_source
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.write import run_write
from acidsql.layout.dir_names import lies_hidden
from acidsql.layout.export_metadata import METADATA_FILE, Exported, parse_metadata
from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName
from acidsql.model.own_path import lies_in
from acidsql.model.table import Column, Table
from acidsql.planner.names import ViewRefusal, find_relation, find_target, new_name
from acidsql.planner.partition import fixed_values
from acidsql.ports.engine import Engine
from acidsql.ports.storage import without_login
from acidsql.statements.create_table import ColumnDefinition, CreateTable
from acidsql.statements.export_table import ImportTable
from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.load import Load
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import TxnOpener

_TEMPORARY = re.compile(r"(.+)_[0-9a-f]{8}(_[0-9a-f]{4}){3}_[0-9a-f]{12}")
"""Hive exports a full-ACID table by a plain one, whose name it makes so (AcidExportAnalyzer)."""


def import_table(
    statement: ImportTable, open_txn: TxnOpener, scope: Scope, engine: Engine
) -> Result:
    """Make the table if there is none, and write the rows of the export into it.

    AnalysisError for a table that has other columns, or rows, or one of the partitions.
    """
    with errors_at(statement.line, statement.column):
        home = chosen_path(statement.path, scope)
        refuse_source(home, scope, local=False)
        exported = _read(home, scope)
    target = statement.target or _target(statement, exported)
    places = _places(statement, exported, home, scope)
    if find_relation(target, scope.names) is None:
        _refuse_place_of_export(statement, home, scope)
        create_table(_definition(statement, target, exported.table), scope, needs_empty=True)
    else:
        _refuse_other(statement, target, exported.table, scope)
    if not places:
        return Result("import", message="OK\nthe export has no partitions")
    texts = tuple((None if name is None else str(name), place) for name, place in places)
    load = Load(target, home, False, False, (), statement.line, statement.column, places=texts)
    with errors_at(target.line, target.column):
        return run_write(load, None, open_txn, scope, engine)


def import_locks(statement: ImportTable, scope: Scope) -> list[LockComponent]:
    """The locks that the statement asks for first: to make the table, or to write into it."""
    home = chosen_path(statement.path, scope)
    target = statement.target or _target(statement, _read(home, scope))
    if find_relation(target, scope.names) is None:
        return creation_locks(new_name(target, scope.names))
    table = find_target(target, scope.names, ViewRefusal.INSERT)
    return lock_components([Access.of(table.name, Operation.OVERWRITE)])


def _read(home: str, scope: Scope) -> Exported:
    path = f"{home}/{METADATA_FILE}"
    if not scope.storage.exists(path):
        raise AnalysisError(
            f"Invalid path '{without_login(home)}': there is no {METADATA_FILE} in it",
            hint="Name a directory into which EXPORT TABLE has written.",
            code=10027,
        )
    with scope.storage.open_input(path) as file:
        data = file.read()
    try:
        return parse_metadata(data.decode(), path)
    except UnicodeDecodeError as error:
        raise CorruptFileError(f'file "{path}" is no text in UTF-8') from error


def _target(statement: ImportTable, exported: Exported) -> TableRef:
    name = exported.table.name.table
    temporary = _TEMPORARY.fullmatch(name)
    name = name if temporary is None else temporary[1]
    return TableRef(None, name, None, 0, 0, statement.line, statement.column)


def _places(
    statement: ImportTable, exported: Exported, home: str, scope: Scope
) -> list[tuple[PartitionName | None, str]]:
    """The directories with the rows. MissingFileError if one of them is not there."""
    table = exported.table
    if not table.partition_columns:
        if statement.partition:
            fixed_values(statement.partition, table, scope.arguments)
        # Hive 2 and earlier put the files beside the description.
        data = f"{home}/{DATA_DIRECTORY}"
        has_data = DATA_DIRECTORY in scope.storage.list_directories(home)
        return [(None, data if has_data or not _has_files(home, scope) else home)]
    wanted = set(fixed_values(statement.partition, table, scope.arguments))
    names = [name for name in exported.partitions if wanted <= set(name.items)]
    if wanted and not names:
        raise PartitionNotFoundError(
            "the export has no partition that meets PARTITION (…)",
            code=10006,
            line=statement.line,
            column=statement.column,
        )
    places: list[tuple[PartitionName | None, str]] = [(n, f"{home}/{n}") for n in names]
    for _, place in places:
        if scope.storage.is_missing(place):
            raise MissingFileError(f"the directory {place} of the export does not exist")
    return places


def _has_files(home: str, scope: Scope) -> bool:
    return any(not lies_hidden(file.path) for file in scope.storage.list_files(home))


def _definition(statement: ImportTable, target: TableRef, table: Table) -> CreateTable:
    """The CREATE TABLE of the table that was exported."""
    line, column = statement.line, statement.column

    def named(name: str) -> Identifier:
        return Identifier(name, line, column)

    def defined(columns: Sequence[Column]) -> tuple[ColumnDefinition, ...]:
        return tuple(ColumnDefinition(named(c.name), str(c.type), c.comment) for c in columns)

    plain = {TRANSACTIONAL, TRANSACTIONAL_PROPERTIES} if statement.external else set()
    dropped = plain | {"external", "external.table.purge", "translated_to_external"}
    kept = {k: v for k, v in table.parameters.items() if k.lower() not in dropped}
    if TRANSACTIONAL not in kept and not statement.external:
        kept[TRANSACTIONAL] = "false"
    bucketing = table.bucketing
    return CreateTable(
        target,
        defined(table.columns),
        partition_columns=defined(table.partition_columns),
        bucket_columns=() if bucketing is None else tuple(map(named, bucketing.columns)),
        bucket_count=None if bucketing is None else bucketing.count,
        stored_as=table.format.value,
        location=statement.location,
        properties=tuple(kept.items()),
        comment=table.comment,
        external=statement.external,
        field_delimiter=table.field_delimiter,
    )


def _refuse_place_of_export(statement: ImportTable, home: str, scope: Scope) -> None:
    """AnalysisError if LOCATION is, holds or lies in the export: DROP TABLE would remove that."""
    if statement.location is None:
        return
    with errors_at(statement.line, statement.column):
        location = chosen_path(statement.location, scope)
        neighbours = Neighbours(scope)
        wanted, source = neighbours.resolve(location), neighbours.resolve(home)
        if lies_in(wanted, source) or lies_in(source, wanted):
            raise AnalysisError(
                f"the directory {without_login(location)} is, holds or lies in that of the export",
                hint="Name a directory of the table's own.",
            )


def _refuse_other(statement: ImportTable, target: TableRef, exported: Table, scope: Scope) -> None:
    """AnalysisError if a table is not one into which these rows may be imported.

    The rules are those of Hive's ImportSemanticAnalyzer.checkTable, but for LOCATION with a
    partitioned table, where Hive puts the partitions.
    """
    table = find_target(target, scope.names, ViewRefusal.INSERT)
    is_partitioned = bool(table.partition_columns)
    why = None
    if statement.external and not (is_partitioned and table.external):
        why = "External table cannot overwrite existing table. Drop existing table first."
    elif _shape(table) != _shape(exported):
        why = f"{table.name} has other columns than the exported table, or another format."
    elif statement.location is not None and is_partitioned:
        why = "The table is there, and LOCATION of its new partitions is not supported."
    elif (
        statement.location is not None and chosen_path(statement.location, scope) != table.location
    ):
        why = "The table has another location."
    if why is not None:
        raise AnalysisError(
            "The existing table is not compatible with the Export/Import spec.",
            detail=why,
            code=10120,
            line=target.line,
            column=target.column,
        )


def _shape(table: Table) -> tuple[object, ...]:
    columns = [(c.name, c.type) for c in table.columns]
    keys = [(c.name, c.type) for c in table.partition_columns]
    return columns, keys, table.format, table.field_delimiter

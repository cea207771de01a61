"""SHOW TABLE EXTENDED: for each table its storage and the size of its files, in Hive's lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from acidsql.definitions.name_pattern import matching
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import named_directory, table_directories
from acidsql.layout.dir_names import lies_hidden
from acidsql.model.names import TableName
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.table import Column, Table
from acidsql.model.view import View
from acidsql.planner.names import find_target, temporary_tables_in
from acidsql.planner.partition import whole_partition
from acidsql.ports.catalog import names_in
from acidsql.statements import ShowTableExtended
from acidsql.statements.fragment import TableRef

_THRIFT = {
    "boolean": "bool", "tinyint": "byte", "smallint": "i16", "int": "i32", "bigint": "i64",
    "array": "list",
}  # fmt: skip
"""The words of Hive's types → those in which SHOW TABLE EXTENDED says them."""


def show_table_extended(statement: ShowTableExtended, scope: Scope) -> Result:
    """The lines of the tables that match, with an empty line behind each.

    Raises TableNotFoundError and PartitionNotFoundError if a partition is asked for.
    """
    named = statement.database
    database = named.name.lower() if named else scope.names.database
    if statement.partition:
        lines = _partition_lines(statement, database, scope)
    else:
        own = temporary_tables_in(database, scope.names)
        known = sorted({*names_in(scope.store, database), *own})
        names = [TableName(database, name) for name in matching(known, statement.pattern.name)]
        found = [scope.names.temporary_tables.get(name, name) for name in names]
        lines = [line for name in found for line in _lines(name, scope)]
    return text_rows("show", ["tab_name"], [(line,) for line in lines])


def _partition_lines(statement: ShowTableExtended, database: str, scope: Scope) -> list[str]:
    name = statement.pattern
    ref = TableRef(database, name.name, None, 0, 0, name.line, name.column)
    table = find_target(ref, scope.names)
    partition = whole_partition(statement.partition, table, ref, scope.arguments)
    found = named_directory(scope.store, table, partition)
    return _table_lines(table, found.location, [found.location], scope)


def _lines(name: TableName, scope: Scope) -> list[str]:
    """The lines of a table or view; none of one that has been dropped meanwhile."""
    table = scope.names.find_table(name)
    if table is not None:
        directories = [place.location for place in table_directories(scope.store, table)]
        return _table_lines(table, table.location, directories, scope)
    view = scope.names.find_view(name)
    return [] if view is None else _view_lines(view)


def _view_lines(view: View) -> list[str]:
    return [
        f"tableName:{view.name.table}",
        f"owner:{view.owner}",
        "location:null",
        "inputformat:null",
        "outputformat:null",
        f"columns:{_struct('columns', view.columns)}",
        "partitioned:false",
        "partitionColumns:",
        "",
    ]


def _table_lines(
    table: Table, location: str, directories: Iterable[str], scope: Scope
) -> list[str]:
    classes = STORAGE_CLASSES[table.format]
    files = [file for directory in directories for file in scope.storage.list_files(directory)]
    sizes = [file.size for file in files if not lies_hidden(file.path)]
    partitioned = bool(table.partition_columns)
    columns = _struct("partition_columns", table.partition_columns) if partitioned else ""
    return [
        f"tableName:{table.name.table}",
        f"owner:{table.owner}",
        f"location:{location}",
        f"inputformat:{classes.reader}",
        f"outputformat:{classes.writer}",
        f"columns:{_struct('columns', table.columns)}",
        f"partitioned:{str(partitioned).lower()}",
        f"partitionColumns:{columns}",
        f"totalNumberFiles:{len(sizes)}",
        f"totalFileSize:{sum(sizes)}",
        f"maxFileSize:{max(sizes, default=0)}",
        f"minFileSize:{min(sizes, default=0)}",
        "",
    ]


def _struct(name: str, columns: Sequence[Column]) -> str:
    """Columns as Hive shows them here: ``struct columns { i32 id, string name}``."""
    fields = ", ".join(f"{_thrift(str(c.type))} {c.name}" for c in columns)
    return f"struct {name} {{ {fields}}}"


def _thrift(kind: str) -> str:
    return re.sub(r"\w+(?!\w*:)", lambda word: _THRIFT.get(word[0], word[0]), kind)

"""LOAD DATA → plan."""

from __future__ import annotations

from typing import Any

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.model.constraint import checks, requirements
from acidsql.model.names import quote_identifier, string_literal
from acidsql.model.table import FIELD_DELIMITER, FileFormat, Table
from acidsql.planner.names import Names, ViewRefusal, find_target
from acidsql.planner.partition import fixed_values
from acidsql.planner.predicates import Arguments
from acidsql.plans.load import LoadPlan
from acidsql.ports.storage import local_path_of
from acidsql.statements.load import Load


def plan_load(statement: Load, names: Names, arguments: Arguments) -> LoadPlan:
    """The plan of a LOAD DATA. Whether the files fit the table shows when they are read."""
    table = find_target(statement.target, names, ViewRefusal.INSERT)
    place: dict[str, Any] = {"line": statement.target.line, "column": statement.target.column}
    static = fixed_values(statement.partition, table, arguments)
    if len(static) != len(table.partition_columns):
        raise _unfixed(statement, table, place)
    if table.bucketing is not None:
        raise UnsupportedStatementError(
            "LOAD DATA into a bucketed table is not supported: rows would lie in wrong buckets",
            hint="Load the files into another table, then INSERT INTO … SELECT.",
            **place,
        )
    _refuse_unchecked(table, place)
    absolute = statement.path.startswith(("/", "file:/")) or "://" in statement.path
    if not statement.local and not absolute:
        raise AnalysisError(
            f"Invalid path '{statement.path}': it is neither absolute nor a URI",
            code=10028,
            line=statement.line,
            column=statement.column,
        )
    return LoadPlan(
        table=table.name,
        path=_path(statement),
        local=statement.local,
        overwrite=statement.overwrite,
        static_partition=static,
        target=table.kind,
    )


def _unfixed(statement: Load, table: Table, place: dict[str, Any]) -> AnalysisError:
    """The error for a LOAD DATA that leaves a partition column to the rows."""
    given = {item.column.name.lower() for item in statement.partition}
    loose = [c for c in table.partition_columns if c.name not in given]
    columns = ", ".join(f"{quote_identifier(c.name)} {c.type}" for c in (*table.columns, *loose))
    word = "OVERWRITE TABLE" if statement.overwrite else "INTO"
    form = f"STORED AS {table.format.value}"
    if table.format is FileFormat.TEXT and table.field_delimiter != FIELD_DELIMITER:
        delimiter = string_literal(table.field_delimiter)
        form = f"ROW FORMAT DELIMITED FIELDS TERMINATED BY {delimiter}"
    create = f"CREATE EXTERNAL TABLE x ({columns}) {form} LOCATION '…'"
    return AnalysisError(
        f'PARTITION must fix every partition column of "{table.name}"',
        detail="Hive makes an INSERT … SELECT of such a statement. It takes the partitions from the"
        " last columns of the files, not from the names of directories.",
        hint=f"{create}, then INSERT {word} … SELECT of all columns of x.",
        code=10062,
        **place,
    )


def _refuse_unchecked(table: Table, place: dict[str, Any]) -> None:
    """Refuse a table whose rows are to be checked: LOAD DATA copies files, whose rows nobody sees.

    Hive loads them, and keeps what its constraints forbid.
    """
    kept = [*requirements(table.constraints).values(), *checks(table.constraints)]
    if kept:
        raise UnsupportedStatementError(
            f'LOAD DATA does not check the constraint "{kept[0].name}" ({kept[0].kind.value})'
            f" of table {table.name}",
            hint="Load the files into another table, then INSERT INTO … SELECT.",
            **place,
        )


def _path(statement: Load) -> str:
    """The path as the storage takes it. A local path has no scheme: ``open`` takes none."""
    path = statement.path
    local = local_path_of(path) if statement.local else None
    if statement.local and local is None:
        raise AnalysisError(
            f"Invalid path '{path}': LOCAL means the file system of this machine",
            code=10028,
            line=statement.line,
            column=statement.column,
        )
    return (path if local is None else local).rstrip("/") or "/"

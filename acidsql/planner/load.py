"""LOAD DATA → plan."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import AnalysisError
from acidsql.model.constraint import checks, requirements
from acidsql.model.table import Table
from acidsql.planner.names import Names, ViewRefusal, find_target
from acidsql.planner.partition import fixed_values, refuse_left_out
from acidsql.planner.predicates import Arguments
from acidsql.plans.load import LoadPlan
from acidsql.ports.storage import local_path_of
from acidsql.statements.load import Load


def plan_load(statement: Load, names: Names, arguments: Arguments) -> LoadPlan:
    """The plan of a LOAD DATA. Whether the files fit the table shows when they are read."""
    table = find_target(statement.target, names, ViewRefusal.INSERT)
    static = fixed_values(statement.partition, table, arguments)
    hint = "Without PARTITION, the last columns of the files give the partitions."
    refuse_left_out(statement.partition, table, statement.target, 10062, hint)
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
        by_rows=bool(statement.places) or _needs_rows(table, static),
        places=statement.places,
        spelled=names.keeps_spelling,
    )


def _needs_rows(table: Table, static: Sequence[tuple[str, str | None]]) -> bool:
    """Whether the rows have to be read: for their partitions, for their buckets or to be checked.

    Hive makes an INSERT … SELECT of a LOAD DATA for the first two reasons (LoadSemanticAnalyzer
    reparseAndSuperAnalyze). It does not check rows.
    """
    is_dynamic = len(static) < len(table.partition_columns)
    is_checked = bool(requirements(table.constraints) or checks(table.constraints))
    return is_dynamic or table.bucketing is not None or is_checked


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

"""Targets that must have no rows: that of an IMPORT, and an immutable table."""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.errors import AnalysisError
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import table_directories
from acidsql.layout.acid_state import acid_state
from acidsql.layout.dir_names import lies_hidden
from acidsql.model.names import PartitionName
from acidsql.model.table import TableKind
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import (
    TableWrite,
    WritePlan,
    fixed_partition,
    imports,
    replaces,
    table_writes,
)
from acidsql.ports.catalog import partition_exists
from acidsql.ports.engine import PartitionLocation, ReadContext, TableSnapshot
from acidsql.ports.storage import list_marked_files


def refuse_rows(plan: WritePlan, read: ReadContext, scope: Scope) -> None:
    """AnalysisError if a target that must have no rows has files with rows.

    The statement has its locks by then. Files that an aborted or killed write has left do not
    count: no snapshot reads them.
    """
    for part in table_writes(plan):
        snapshot = read.tables[part.table]
        if isinstance(part, LoadPlan) and imports(part):
            _refuse_import(part, snapshot, read, scope)
        elif snapshot.table.is_immutable and not _replaces_all(part):
            _refuse_change(part, snapshot, read, scope)


def _refuse_import(
    plan: LoadPlan, snapshot: TableSnapshot, read: ReadContext, scope: Scope
) -> None:
    """For an IMPORT: AnalysisError if its table, or one of its partitions, has files with rows.

    A partition without rows may be what an IMPORT has left that died. By the lock that it has, no
    other IMPORT writes into the table.
    """
    if snapshot.table.partition_columns:
        wanted = {PartitionName.parse(text) for text, _ in plan.places if text is not None}
        for place in _known(snapshot, scope):
            if place.name in wanted and _has_files(place.location, snapshot, read, scope):
                raise partition_exists(plan.table, place.name)
    elif _have_files(snapshot.partitions, snapshot, read, scope):
        raise AnalysisError(
            "Table exists and contains data files",
            detail=f"{plan.table} is not empty.",
            code=10119,
        )


def _replaces_all(plan: TableWrite) -> bool:
    """Whether no row stays that was there: with OVERWRITE, TRUNCATE or DELETE without WHERE."""
    return replaces(plan) or (
        isinstance(plan, DeletePlan) and plan.where is None and not plan.relations
    )


def _refuse_change(
    plan: TableWrite, snapshot: TableSnapshot, read: ReadContext, scope: Scope
) -> None:
    """AnalysisError if the immutable table, or the one partition that the plan fixes, has files.

    So does Hive, which makes INSERTs of UPDATE, DELETE and MERGE
    (SemanticAnalyzer.checkImmutableTable).
    """
    if _have_files(_places(plan, snapshot, scope), snapshot, read, scope):
        raise AnalysisError(
            "Inserting into a non-empty immutable table is not allowed",
            detail=f"{plan.table} has the property 'immutable', and it has files.",
            hint="INSERT OVERWRITE replaces them. ALTER TABLE … SET TBLPROPERTIES ('immutable' ="
            " 'false') lets statements change them.",
            code=10256,
        )


def _places(plan: TableWrite, snapshot: TableSnapshot, scope: Scope) -> Iterable[PartitionLocation]:
    """The partition that the plan fixes, or all: those of the catalog and of the transaction."""
    if isinstance(plan, InsertPlan | LoadPlan):
        fixed = fixed_partition(plan, snapshot.table)
        if fixed is not None:
            return [place for place in snapshot.partitions if place.name == fixed]
    return _known(snapshot, scope)


def _known(snapshot: TableSnapshot, scope: Scope) -> Iterable[PartitionLocation]:
    """The partitions of the catalog and of the transaction.

    The snapshot may lack those that the plan cannot touch.
    """
    known = {place.name: place for place in table_directories(scope.store, snapshot.table)}
    return (known | {place.name: place for place in snapshot.partitions}).values()


def _have_files(
    places: Iterable[PartitionLocation], snapshot: TableSnapshot, read: ReadContext, scope: Scope
) -> bool:
    return any(_has_files(place.location, snapshot, read, scope) for place in places)


def _has_files(location: str, snapshot: TableSnapshot, read: ReadContext, scope: Scope) -> bool:
    kind = snapshot.table.kind
    if kind is TableKind.PLAIN:
        files = scope.storage.list_files(location)
        return any(not lies_hidden(file.path) for file in files)
    files, markers = list_marked_files(location, scope.storage)
    state = acid_state(files, snapshot.write_ids, read.txns, markers, kind)
    return bool(state.names or state.originals)

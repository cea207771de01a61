"""The target of an IMPORT: it must have no rows, and none of the partitions of the export."""

from __future__ import annotations

from acidsql.errors import AnalysisError
from acidsql.execution.scope import Scope
from acidsql.layout.acid_state import acid_state
from acidsql.layout.dir_names import lies_hidden
from acidsql.model.names import PartitionName
from acidsql.model.table import TableKind
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import WritePlan, imports
from acidsql.ports.catalog import partition_exists
from acidsql.ports.engine import ReadContext, TableSnapshot
from acidsql.ports.storage import list_marked_files


def refuse_rows(plan: WritePlan, read: ReadContext, scope: Scope) -> None:
    """For an IMPORT: AnalysisError if its table has files with rows, or one of its partitions.

    The statement has its locks by then, so no other IMPORT writes into the table. Files that an
    aborted or killed write has left do not count: no snapshot reads them.
    """
    if not isinstance(plan, LoadPlan) or not imports(plan):
        return
    snapshot = read.tables[plan.table]
    if snapshot.table.partition_columns:
        there = set(scope.store.partition_names(plan.table))
        wanted = [PartitionName.parse(text) for text, _ in plan.places if text is not None]
        for name in there.intersection(wanted):
            raise partition_exists(plan.table, name)
    elif _has_files(snapshot, read, scope):
        raise AnalysisError(
            "Table exists and contains data files",
            detail=f"{plan.table} is not empty.",
            code=10119,
        )


def _has_files(snapshot: TableSnapshot, read: ReadContext, scope: Scope) -> bool:
    location, kind = snapshot.table.location, snapshot.table.kind
    if kind is TableKind.PLAIN:
        files = scope.storage.list_files(location)
        return any(not lies_hidden(file.path) for file in files)
    files, markers = list_marked_files(location, scope.storage)
    state = acid_state(files, snapshot.write_ids, read.txns, markers, kind)
    return bool(state.names or state.originals)

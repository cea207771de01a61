"""MSCK [REPAIR] TABLE: the catalog and the directories that are there."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.definitions.adoption import adopt
from acidsql.definitions.leftovers import clear_default_places
from acidsql.definitions.partition import altering, note_adoption, refuse_linked
from acidsql.errors import AnalysisError
from acidsql.execution.older_store import unknown_ids
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.layout.dir_names import is_hidden
from acidsql.model.names import PartitionName
from acidsql.model.table import Table, TableKind
from acidsql.planner.names import ViewRefusal, find_target
from acidsql.planner.partition import partition_from_directory, require_partitioned
from acidsql.ports.catalog import Partition
from acidsql.ports.storage import Storage, missing_directory, require_present
from acidsql.statements.partition import RepairTable


def repair_table(statement: RepairTable, scope: Scope) -> Result:
    """Make catalog and store agree with the directories that are there, or say where they differ.

    ADD adds a partition for each directory that has none. DROP drops the partitions whose directory
    is gone. Where directories have ids that the store has not given out, ADD raises the store's ids
    above them.
    """
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    if not statement.repair:
        return _report(table, scope)
    if table.kind is TableKind.PLAIN:
        require_partitioned(table, statement.target)
    with altering(table, scope) as (txn, table):
        require_present(table.location, table.name, scope.storage)
        known = scope.store.partitions(table.name)
        added = _unknown_partitions(table, known, scope) if statement.add else []
        refuse_linked(table, added, known, scope)
        dropped = _without_directory(table, known, scope) if statement.drop else []
        kept = [p for p in known if p not in dropped]
        newer = _unknown_writes(table, kept, scope) if statement.add else []
        places = [*(p.location for p in added), *newer]
        adoption = adopt(table, places, scope, txn, own=newer)
        clear_default_places(table, added, scope)
        with scope.committing(txn):
            adoption.seed(scope, txn)
            note_adoption(table, adoption, scope)
            scope.store.drop_partitions(table.name, [p.name for p in dropped])
            scope.store.add_partitions(table.name, added)
    lines = [f"Repair: Added partition to metastore {table.name}:{p.name}" for p in added]
    lines += [f"Repair: Dropped partition from metastore {table.name}:{p.name}" for p in dropped]
    lines += [
        f"Repair: Skipped {path}, whose write id is aborted in {table.name}: no query sees its rows"
        for path in adoption.skipped
    ]
    if newer:
        mark = adoption.highest_write_id
        lines.append(f"Repair: Took in write ids up to {mark} of {table.name}")
    return Result("repair", message="\n".join(lines) or "nothing to repair")


def _report(table: Table, scope: Scope) -> Result:
    """What MSCK REPAIR TABLE would do, in Hive's words. It takes no lock."""
    require_present(table.location, table.name, scope.storage)
    known = scope.store.partitions(table.name)
    missing = _without_directory(table, known, scope)
    kept = [p for p in known if p not in missing]
    differences = {
        "Partitions not in metastore": _unknown_partitions(table, known, scope),
        "Partitions missing from filesystem": missing,
    }
    lines = [
        "\t".join([f"{what}:", *(f"{table.name}:{p.name}" for p in found)])
        for what, found in differences.items()
        if found
    ]
    if _unknown_writes(table, kept, scope):
        lines.append(f"Write ids not in metastore:\t{table.name}")
    return Result("repair", message="\n".join(lines) or "nothing to repair")


def _unknown_partitions(table: Table, known: Sequence[Partition], scope: Scope) -> list[Partition]:
    if not table.partition_columns:
        return []
    places = {p.location for p in known}
    found = [p for p in partition_directories(table, scope.storage) if p.location not in places]
    return _new_ones(table, found, [p.name for p in known])


def _without_directory(table: Table, known: Sequence[Partition], scope: Scope) -> list[Partition]:
    if not table.partition_columns:
        return []
    _require_table_directory(table, scope.storage)
    return [p for p in known if not scope.storage.exists(p.location)]


def _unknown_writes(table: Table, known: Sequence[Partition], scope: Scope) -> list[str]:
    """The directories of the known partitions, or of the table; [] if the store knows all writes.

    If one of them holds a write that the store does not know, all of them are looked at again.
    """
    places = [p.location for p in known] if table.partition_columns else [table.location]
    if table.kind is TableKind.PLAIN:
        return []
    return places if unknown_ids(table, places, scope.store, scope.storage) else []


def partition_directories(table: Table, storage: Storage) -> list[Partition]:
    """The partitions that the directories below a table stand for, with values in canonical text.

    AnalysisError for a directory that stands for no partition: rows could lie in it.
    """
    places = [("", table.location)]
    for column in table.partition_columns:
        places = [
            (f"{path}/{name}", f"{place}/{name}")
            for path, place in places
            for name in storage.list_directories(place)
            if not is_hidden(name) and _is_level(name, column.name, place)
        ]
    found = []
    for path, place in places:
        try:
            name = partition_from_directory(PartitionName.parse(path), table)
        except ValueError as error:
            raise AnalysisError(
                f"the directory {place} is not a partition of {table.name}", detail=f"{error}."
            ) from None
        found.append(Partition(name, place))
    return found


def _require_table_directory(table: Table, storage: Storage) -> None:
    """MissingFileError if the table's own directory is missing, as when its disk is not mounted.

    Then the partitions' directories are missing, too, but were not removed.
    """
    if not storage.exists(table.location):
        raise missing_directory(table.location, table.name)


def _is_level(name: str, column: str, place: str) -> bool:
    if name.partition("=")[0].lower() != column or "=" not in name:
        raise AnalysisError(
            f"the directory {place}/{name} is not a partition",
            detail=f"Directories of this level are named {column}=value.",
            hint="Move it elsewhere, or give it a name that begins with a dot.",
        )
    return True


def _new_ones(
    table: Table, found: Sequence[Partition], known: Sequence[PartitionName]
) -> list[Partition]:
    names = set(known)
    for partition in found:
        if partition.name in names:
            raise AnalysisError(
                f"two directories stand for the partition {partition.name} of {table.name}",
                detail=f"One of them is {partition.location}.",
                hint="Move one of them elsewhere.",
            )
        names.add(partition.name)
    return list(found)

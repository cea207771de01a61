"""Partitions that an overwrite or a DELETE leaves empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql.engines.output import Output
from acidsql.engines.placed_write import PlacedWrite
from acidsql.engines.selection import Selection
from acidsql.engines.target import OutputFile, Target, partition_text
from acidsql.errors import PartitionNotFoundError
from acidsql.model.names import PartitionName
from acidsql.plans.insert import InsertPlan
from acidsql.plans.load import LoadPlan
from acidsql.plans.plan import fixed_partition
from acidsql.plans.truncate import TruncatePlan
from acidsql.ports.engine import PartitionLocation, TableSnapshot


def empty_bases(write: PlacedWrite, files: Sequence[OutputFile]) -> list[OutputFile]:
    """An empty base for each place that an overwrite names, if it got no row."""
    plan, table = write.plan, write.table
    if not isinstance(plan, InsertPlan | LoadPlan) or not plan.overwrite:
        return []
    fixed = fixed_partition(plan, table)
    places = [fixed]
    if table.partition_columns and fixed is None:
        if not (isinstance(plan, InsertPlan) and plan.whole):
            return []
        places = [p.name for p in write.context.read.tables[plan.table].partitions]
    filled = {file.partition for file in files}
    texts = map(partition_text, places)
    return write_empty([text for text in texts if text not in filled], write.target)


def truncate(plan: TruncatePlan, snapshot: TableSnapshot, target: Target) -> list[OutputFile]:
    """An empty base in each directory that the plan names.

    Hive 4 writes only ``_metadata_acid`` with dataFormat ``truncated``, which Hive 3 and Trino
    refuse to read. All three read a file without rows.
    """
    wanted = set(PartitionName.of(plan.static_partition).items)
    places = [
        partition_text(p.name)
        for p in snapshot.partitions
        if p.name is None or wanted <= set(p.name.items)
    ]
    if wanted and not places:
        spec = ", ".join(f"{name} = {value}" for name, value in plan.static_partition)
        raise PartitionNotFoundError(f"table {plan.table} has no partition {spec}", code=10006)
    return write_empty(places, target)


def counted_rows(selection: Selection) -> list[int] | None:
    """The rows of each directory by the footers of its files; None if these do not tell.

    They do not where rows are deleted, or where a file has rows that the snapshot does not see.
    """
    if selection.deletes or any(f.row_filter or f.tail is None for f in selection.inserts):
        return None
    rows = [0] * len(selection.partitions)
    for file in selection.inserts:
        assert file.tail is not None
        rows[file.partition] += file.tail.rows
    return rows


def empty_partitions(
    partitions: Sequence[PartitionLocation], rows: Sequence[int], target: Target
) -> list[OutputFile]:
    """An empty base in each directory that has rows; ``rows`` says how many.

    Each file tells as its number of rows how many of them it hides.
    """
    texts = [partition_text(place.name) for place in partitions]
    hidden = {text: count for text, count in zip(texts, rows, strict=True) if count}
    files = write_empty(list(hidden), target)
    return [replace(file, rows=hidden[file.partition]) for file in files]


def write_empty(partitions: Sequence[str], target: Target) -> list[OutputFile]:
    """A file of no rows for each partition, not yet published."""
    with Output(target) as output:
        for partition in partitions:
            output.empty(partition)
    return output.files

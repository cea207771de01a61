"""Partitions that an overwrite leaves empty."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.engines.output import Output, OutputFile, Target, partition_text
from acidsql.engines.placed_write import PlacedWrite
from acidsql.errors import PartitionNotFoundError
from acidsql.model.names import PartitionName
from acidsql.plans.insert import InsertPlan
from acidsql.plans.plan import fixed_partition
from acidsql.plans.truncate import TruncatePlan
from acidsql.ports.engine import TableSnapshot


def empty_bases(write: PlacedWrite, files: Sequence[OutputFile]) -> list[OutputFile]:
    """An empty base for the partition or table that an INSERT OVERWRITE names, if it got no row."""
    plan, table = write.plan, write.table
    if not isinstance(plan, InsertPlan) or not plan.overwrite:
        return []
    fixed = fixed_partition(plan, table)
    if table.partition_columns and fixed is None:
        return []
    place = partition_text(fixed)
    if any(file.partition == place for file in files):
        return []
    return write_empty([place], write.target)


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


def write_empty(partitions: Sequence[str], target: Target) -> list[OutputFile]:
    """A file of no rows for each partition, not yet published."""
    with Output(target) as output:
        for partition in partitions:
            output.empty(partition)
    return output.files

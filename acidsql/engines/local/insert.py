"""INSERT … VALUES of literals, written in this process with pyarrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.output import Output
from acidsql.engines.rows import Placement, write_rows
from acidsql.engines.target import TABLE_ITSELF, OutputFile, Target
from acidsql.layout.arrow import Array
from acidsql.model.table import Column, Table
from acidsql.model.types import PrimitiveType
from acidsql.orc.schema import arrow_type
from acidsql.plans.insert import InsertPlan, LiteralRows, literal_partitions
from acidsql.ports.engine import TableSnapshot, WriteContext


def insert_literals(
    plan: InsertPlan, rows: LiteralRows, target: Target, context: WriteContext
) -> list[OutputFile]:
    """Write the rows. Their files, not yet published."""
    snapshot = context.read.tables[plan.table]
    table = literal_table(plan, rows, snapshot.table)
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(p, len(numbers)) for p in _partitions(plan, rows, snapshot)]
    placement = Placement.of(snapshot.table)
    with Output(target) as output:
        write_rows(output, table, np.array(codes), list(numbers), placement, context.statement_id)
    return output.files


def literal_table(plan: InsertPlan, rows: LiteralRows, table: Table) -> pa.Table:
    """The rows as the columns of the table; a column the plan does not fill is null."""
    filled = {name: index for index, name in enumerate(plan.columns)}
    arrays = [
        literal_array([row[filled[c.name]] for row in rows.rows], c)
        if c.name in filled
        else pa.nulls(len(rows.rows), arrow_type(c.type))
        for c in table.columns
    ]
    return pa.Table.from_arrays(arrays, names=[c.name for c in table.columns])


def literal_array(texts: Sequence[str | None], column: Column) -> Array:
    """The values of a column, from their canonical texts."""
    wanted = arrow_type(column.type)
    if all(text is None for text in texts):
        return pa.nulls(len(texts), wanted)  # the only literal of a nested type
    if column.type == PrimitiveType("binary"):
        return pa.array([None if t is None else bytes.fromhex(t) for t in texts], wanted)
    if column.type in (PrimitiveType("float"), PrimitiveType("double")):
        return pa.array([None if t is None else float(t) for t in texts], wanted)
    return pc.cast(pa.array(texts, pa.string()), wanted)


def _partitions(plan: InsertPlan, rows: LiteralRows, snapshot: TableSnapshot) -> list[str]:
    """The partition text of each row."""
    names = [c.name for c in snapshot.table.partition_columns]
    if not names:
        return [TABLE_ITSELF] * len(rows.rows)
    return [str(name) for name in literal_partitions(plan, rows, names)]

"""INSERT of rows that the caller gives, written in this process with pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.conversion import Fit, converted
from acidsql.engines.local.insert import literal_array
from acidsql.engines.output import Output
from acidsql.engines.partition_codes import partition_column
from acidsql.engines.placed_rows import write_placed_rows
from acidsql.engines.target import OutputFile, Target, partition_text
from acidsql.errors import InternalError, UnsupportedStatementError
from acidsql.layout.arrow import Array
from acidsql.model.ids import BucketId
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import INTEGER_BITS, CharType, DecimalType, PrimitiveType
from acidsql.model.value_text import cell_text, decimal_text
from acidsql.orc.values import fitting, storable
from acidsql.plans.insert import GivenRows, InsertPlan
from acidsql.plans.plan import fixed_partition
from acidsql.ports.engine import WriteContext

_NAMING = ("boolean", "string", "date", *INTEGER_BITS)
"""The primitive types whose values' texts name partitions."""


def insert_given(
    plan: InsertPlan, rows: GivenRows, target: Target, context: WriteContext
) -> list[OutputFile]:
    """Write the rows, which are the value of the plan's parameter. Their files, not yet published.

    AnalysisError and InvalidValueError for rows that do not fit the table.
    """
    table = context.read.tables[plan.table].table
    source = context.read.parameters[rows.parameter]
    columns = _source_columns(source.columns, table)
    batches = (b for b in source.batches(columns) if b.num_rows)
    written = _conformed(batches, plan, rows, table)
    fixed = fixed_partition(plan, table)
    with Output(target) as output:
        if table.bucketing is None and (fixed is not None or not table.partition_columns):
            place = partition_text(fixed)
            for batch in written:
                data = batch.select([c.name for c in table.columns])
                output.insert(data, place, BucketId(0), context.statement_id)
        else:
            write_placed_rows(output, written, table, context.statement_id)
    return output.files


def _source_columns(names: Sequence[str], table: Table) -> dict[str, Column]:
    columns = {}
    for name in names:
        column = table.column(name)
        if column is None:  # the planner has found all of them in the same table
            raise InternalError(f"the rows have a column {name!r} that the table lacks")
        columns[column.name] = column
    return columns


def _conformed(
    batches: Iterable[pa.RecordBatch], plan: InsertPlan, rows: GivenRows, table: Table
) -> Iterator[pa.RecordBatch]:
    """The rows as the columns of the table, followed by the texts of their partition values."""
    static, defaults = dict(plan.static_partition), dict(rows.defaults)
    fit: Fit = storable if table.format is FileFormat.ORC else fitting
    first = 0
    for batch in batches:
        given = {name.lower(): at for at, name in enumerate(batch.schema.names)}
        arrays = [
            converted(batch.column(given[c.name]), c, fit, first)
            if c.name in given
            else literal_array([defaults.get(c.name)] * batch.num_rows, c)
            for c in table.columns
        ]
        arrays += [
            pa.repeat(pa.scalar(static[c.name], pa.string()), batch.num_rows)
            if c.name in static
            else _texts(batch.column(given[c.name]), c, first)
            for c in table.partition_columns
        ]
        texts = [partition_column(at) for at in range(len(table.partition_columns))]
        names = [*(c.name for c in table.columns), *texts]
        yield pa.RecordBatch.from_arrays(arrays, names=names)
        first += batch.num_rows


def _texts(array: Array, column: Column, first: int) -> Array:
    """The texts of partition values, in the form that names a partition."""
    kind = column.type
    is_primitive = isinstance(kind, PrimitiveType) and kind.name in _NAMING
    if not is_primitive and not isinstance(kind, DecimalType | CharType):
        raise UnsupportedStatementError(
            f'partition column "{column.name}" of type {kind} cannot be filled from given rows',
            hint="Run INSERT … SELECT, or give its value in partition=.",
        )
    if isinstance(kind, CharType):  # no name has the padding of a char
        column = replace(column, type=CharType("varchar", kind.length))
    encoded = converted(array, column, fitting, first).dictionary_encode()
    values = encoded.dictionary.to_pylist()
    write = decimal_text if isinstance(kind, DecimalType) else cell_text
    texts = pa.array([write(value) for value in values], pa.string())
    result: Array = pc.take(texts, encoded.indices)
    return result

"""INSERT … SELECT: rows to their partitions and buckets, each bucket file by one writer."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.engines.output import Output
from acidsql.engines.partition_codes import partition_codes, partition_column
from acidsql.engines.rows import Placement, write_rows
from acidsql.engines.spark.arrow import map_in_arrow, relaxed
from acidsql.engines.spark.bucket_parts import fits_bucket_parts, write_by_parts
from acidsql.engines.spark.checks import checked
from acidsql.engines.spark.encoded_parts import fits_encoded_parts, write_encoded_parts
from acidsql.engines.spark.evaluation import evaluated
from acidsql.engines.spark.fields import in_order
from acidsql.engines.spark.job import (
    Job,
    collect_few,
    collect_rows,
    files_batch,
    parallelism,
    run_writers,
)
from acidsql.engines.spark.query_plan import is_deterministic
from acidsql.engines.spark.settings import ansi, is_ansi
from acidsql.engines.spark.value_rows import value_rows
from acidsql.engines.spark.values import stored
from acidsql.engines.target import OutputFile, Target
from acidsql.model.ids import StatementId
from acidsql.model.names import DEFAULT_PARTITION_VALUE, quote_identifier
from acidsql.model.names import string_literal as literal
from acidsql.model.row_id import BUCKET_ID_MAX
from acidsql.model.table import Column, Table
from acidsql.model.types import VOID, CharType, DecimalType, PrimitiveType, spark_type
from acidsql.plans.insert import InsertPlan, ValueRows, columns_by_name, wrong_count
from acidsql.plans.sql_text import InputSource, SqlText, day_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

_ROWS = InputSource(name="rows")
_BUCKET = "__acidsql_bucket"


def run_insert(
    plan: InsertPlan, rows: SqlText | ValueRows, job: Job, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """Write the query's rows. Their files, not yet published."""
    table = job.context.tables[plan.table].table
    return write_inserted_rows(rows_to_insert(plan, rows, job), table, target, statement_id)


def rows_to_insert(plan: InsertPlan, rows: SqlText | ValueRows, job: Job) -> DataFrame:
    """The query's rows as their files will hold them. The files to read are chosen now."""
    table = job.context.tables[plan.table].table
    if isinstance(rows, ValueRows):
        frame = value_rows(rows, [c for c in map(table.column, plan.columns) if c], job)
    else:
        frame = job.sql(rows)
    filled = _filled_columns(plan, frame, table)
    # Spark's errors show these names.
    new = {name: f"new {name}" for name in filled}
    values = {name: SqlText.of(quote_identifier(new[name])) for name in filled}
    if plan.by_name:
        types = zip(filled, frame.schema.fields, strict=True)
        kinds = {c.name: c.type for c in table.all_columns}
        values |= {n: in_order(values[n], n, kinds[n], field.dataType) for n, field in types}
    placed, defaults = _with_defaults(plan, job, frame.toDF(*new.values()))
    return placed_rows(job, table, placed, defaults | values, dict(plan.static_partition))


def _with_defaults(
    plan: InsertPlan, job: Job, rows: DataFrame
) -> tuple[DataFrame, dict[str, SqlText]]:
    """The rows, and the expressions of the defaults over them, by column.

    Like other values, defaults are computed by the session's rules: where these are not ANSI's,
    before `placed_rows`.
    """
    defaults = {d.column: d.value for d in plan.defaults}
    if not defaults or is_ansi(job.spark):
        return rows, defaults
    names = {column: quote_identifier(f"new {column}") for column in defaults}
    columns = [SqlText.of(", (", v, f"\n) AS {names[c]}") for c, v in defaults.items()]
    job.inputs[_ROWS.name] = rows
    computed = job.sql(SqlText.of("SELECT *", *columns, " FROM ", _ROWS))
    return computed, {column: SqlText.of(name) for column, name in names.items()}


def _filled_columns(plan: InsertPlan, frame: DataFrame, table: Table) -> Sequence[str]:
    """The target columns that the columns of the query fill."""
    if plan.by_name:
        partition = [c.name for c in table.partition_columns]
        return columns_by_name(plan, frame.columns, partition)
    if len(frame.columns) != len(plan.columns):
        raise wrong_count(len(frame.columns), plan.columns)
    return plan.columns


def placed_rows(
    job: Job,
    table: Table,
    frame: DataFrame,
    values: Mapping[str, SqlText],
    static: Mapping[str, str | None],
) -> DataFrame:
    """The rows as their files hold them, followed by the texts of their partition values.

    The ``values`` are expressions over the ``frame``. ANSI rules hold for them.
    """
    null = SqlText.of("NULL")
    columns = [
        SqlText.of(stored(values.get(c.name, null), c), f" AS {quote_identifier(c.name)}")
        for c in table.columns
    ]
    columns += [
        SqlText.of(_partition_text(c, values, static), f" AS {partition_column(i)}")
        for i, c in enumerate(table.partition_columns)
    ]
    job.inputs[_ROWS.name] = frame
    with ansi(job.spark):
        placed = job.sql(SqlText.of("SELECT ", SqlText.join(", ", columns), " FROM ", _ROWS))
    return checked(job, table, placed)


def moved_rows(job: Job, table: Table, changes: DataFrame) -> DataFrame:
    """The new versions of rows as `placed_rows`. ``changes`` has all columns of the table."""
    # A void column is NULL. ``changes`` holds it as boolean, which has no cast to void.
    columns = [c.name for c in table.all_columns if c.type != VOID]
    values = {name: SqlText.of(quote_identifier(name)) for name in columns}
    return placed_rows(job, table, changes, values, {})


def _partition_text(
    column: Column, values: Mapping[str, SqlText], static: Mapping[str, str | None]
) -> SqlText:
    if column.name in static:
        value = static[column.name]
        return SqlText.of("CAST(NULL AS string)" if value is None else literal(value))
    typed = SqlText.of("CAST((", values[column.name], f"\n) AS {spark_type(column.type)})")
    text = SqlText.of("CAST(", typed, " AS string)")
    if column.type == PrimitiveType("date"):
        text = day_text(typed)
    if isinstance(column.type, DecimalType) and column.type.scale:
        # Hive's names have no trailing zeros (see decimal_text).
        zeros = SqlText.of("trim(TRAILING '0' FROM ", text, ")")
        text = SqlText.of("trim(TRAILING '.' FROM ", zeros, ")")
    if isinstance(column.type, CharType):
        error = literal(f'a value does not fit column "{column.name}" of type {column.type}')
        length = column.type.length
        too_long = SqlText.of("char_length(rtrim(", text, f")) > {length}")
        cut = SqlText.of("left(", text, f", {length})")
        text = SqlText.of("CASE WHEN ", too_long, f" THEN raise_error({error}) ELSE ", cut, " END")
    # Both texts name the partition of NULL, so they must become one value.
    return SqlText.of("nullif(nullif(", text, f", ''), '{DEFAULT_PARTITION_VALUE}')")


def write_inserted_rows(
    rows: DataFrame,
    table: Table,
    target: Target,
    statement_id: StatementId,
    *,
    are_few: bool = False,
) -> list[OutputFile]:
    """Write new rows: by the driver if they are few, else by tasks.

    With ``are_few`` the caller knows that. To ask Spark would have it plan the query once more.
    """
    collect = collect_few if are_few else collect_rows
    small = collect(rows, len(rows.columns))
    if small is not None:
        return write_collected_rows(small, table, target, statement_id)
    write = _row_writer(table, target, statement_id)
    placement = Placement.of(table)
    partitions = [partition_column(i) for i in range(len(table.partition_columns))]
    few = rows.coalesce(_writers(rows))
    if fits_encoded_parts(few, table, target, _writers(rows)):
        files = write_encoded_parts(few, table, target, statement_id)
        if files is not None:
            return files
        # The query runs again: what it has given so far is gone, so no row comes twice.
    if not placement.count:
        return run_writers(few.sortWithinPartitions(*partitions) if partitions else few, write)
    if fits_bucket_parts(table, _writers(rows)):
        return write_by_parts(few, table, target, statement_id)
    # If random rows of a lost task were computed again, they might go to other buckets.
    with nullcontext(rows) if is_deterministic(rows) else evaluated(rows) as once:
        placed = _by_bucket(once, table, placement, partitions)
        return run_writers(placed.sortWithinPartitions(*partitions, _BUCKET), write)


def write_collected_rows(
    rows: pa.Table, table: Table, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """Write new rows that the driver holds; in an unbucketed table the driver is writer 0."""
    with Output(target) as output:
        write_batch(output, rows, table, statement_id, 0)
    return output.files


def write_batch(
    output: Output, rows: pa.Table, table: Table, statement_id: StatementId, writer: int
) -> None:
    """Write new rows that end in their partition values' texts; sorted rows may come in batches."""
    codes, texts = partition_codes(rows, [c.name for c in table.partition_columns])
    data = rows.select([c.name for c in table.columns])
    write_rows(output, data, codes, texts, Placement.of(table), statement_id, writer)


def _row_writer(table: Table, target: Target, statement_id: StatementId) -> Any:
    def write(batches: Any) -> Any:
        from pyspark import TaskContext  # noqa: PLC0415 - inside a task

        context = TaskContext.get()
        writer = context.partitionId() if context else 0
        with Output(target) as output:
            for batch in batches:
                if batch.num_rows:
                    rows = pa.Table.from_batches([batch])
                    write_batch(output, rows, table, statement_id, writer)
        yield files_batch(output.files)

    return write


def _by_bucket(
    rows: DataFrame, table: Table, placement: Placement, partitions: Sequence[str]
) -> DataFrame:
    """The rows with their bucket number, all of one bucket of a partition in one task."""
    from pyspark.sql.types import IntegerType, StructField, StructType  # noqa: PLC0415

    rows = relaxed(rows)
    schema = StructType([*rows.schema.fields, StructField(_BUCKET, IntegerType())])

    def number(batches: Any) -> Any:
        for batch in batches:
            buckets = pa.array(placement.buckets(batch), pa.int32())
            yield batch.append_column(_BUCKET, buckets)

    numbered = map_in_arrow(rows, number, schema)
    return numbered.repartition(*partitions, _BUCKET)


def _writers(rows: DataFrame) -> int:
    """How many files an unbucketed write may leave in a directory: one per core at work."""
    return min(parallelism(rows), BUCKET_ID_MAX + 1)

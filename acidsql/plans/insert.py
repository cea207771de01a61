"""The plan of an INSERT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from acidsql.errors import AnalysisError, ColumnNotFoundError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import TableKind
from acidsql.plans.node import Node
from acidsql.plans.sql_text import SqlText
from acidsql.plans.update import SetColumn


class LiteralRows(Node):
    """Rows whose values are literals in the statement's text.

    A cell is the canonical text of a value of its column's type, or None for null. The cells of a
    row are in the order of ``InsertPlan.columns``.
    """

    kind: Literal["literals"] = "literals"
    rows: tuple[tuple[str | None, ...], ...]


class GivenRows(Node):
    """Rows that the caller gives beside the plan, as the value of a parameter.

    The value is a `ports.engine.RowSource`. Its columns are ``InsertPlan.columns``, by name.
    ``defaults`` are the columns that have a DEFAULT, with the canonical texts of the values.
    """

    kind: Literal["given"] = "given"
    parameter: str
    defaults: tuple[tuple[str, str | None], ...] = ()


class ValueRows(Node):
    """Rows of VALUES, of which Spark has to compute some values.

    The values of a row are in the order of ``InsertPlan.columns``. Each becomes one of its column's
    type by itself: what stands in other rows does not matter. With ``in_select``, a value has what
    Spark computes in SELECT, but not in VALUES: a subquery, or a function like rand().
    """

    kind: Literal["values"] = "values"
    rows: tuple[tuple[SqlText, ...], ...]
    in_select: bool = False


class InsertPlan(Node):
    """Write rows into a delta, or with ``overwrite`` into a base.

    If the ``target`` is a plain table, the files lie beside its other files. A base replaces the
    rows of its partition. If ``static_partition`` names all partition columns, that partition is
    replaced even if there are no rows; otherwise the partitions that get rows are replaced, and if
    the plan is for the ``whole`` table, the others become empty.

    ``columns`` are the target columns that the rows fill, in the order of the rows' columns, with
    dynamic partition columns among them. Of the other columns those in ``defaults`` get that value,
    and the rest are null; for literals and given rows ``defaults`` is empty. ``static_partition``
    gives the value texts of the partition columns that the statement fixes.

    With ``by_name``, ``columns`` are those that may be filled, and `columns_by_name` tells which
    are. With ``unless_exists``, nothing is written if the fixed partition is there.
    """

    kind: Literal["insert"] = "insert"
    table: TableName
    columns: tuple[str, ...]
    static_partition: tuple[tuple[str, str | None], ...] = ()
    rows: LiteralRows | GivenRows | ValueRows | SqlText
    overwrite: bool = False
    whole: bool = False
    by_name: bool = False
    unless_exists: bool = False
    defaults: tuple[SetColumn, ...] = ()
    target: TableKind = TableKind.FULL_ACID


def wrong_count(
    count: int, columns: Sequence[str], line: int | None = None, column: int | None = None
) -> AnalysisError:
    """The error for rows of ``count`` values, too many or too few for these columns."""
    return AnalysisError(
        f"{count} values for {len(columns)} columns",
        detail=f"The columns are {', '.join(columns)}.",
        code=10044,
        line=line,
        column=column,
    )


def columns_by_name(
    plan: InsertPlan, names: Sequence[str], partition_columns: Sequence[str]
) -> list[str]:
    """The target columns that a query's columns of these names fill, in the order of the query.

    AnalysisError for a name that the table lacks or PARTITION fixes, for a name that comes twice,
    and if a dynamic partition column is missing.
    """
    found = [name.lower() for name in names]
    fixed = [name for name, _ in plan.static_partition]
    for name in found:
        error: AnalysisError | None = None
        if found.count(name) > 1 or name in fixed:
            error = AnalysisError(f'column "{name}" is given twice')
        elif name not in plan.columns:
            fillable = ", ".join(plan.columns)
            error = ColumnNotFoundError(
                f'table "{plan.table}" has no column "{name}"',
                code=10002,
                hint=f"INSERT BY NAME can fill {fillable}.",
            )
        if error is not None:
            error.parts = (name,)
            raise error
    for name in partition_columns:
        if name not in found and name not in fixed:
            raise AnalysisError(
                f'the query has no column for the partition column "{name}"',
                hint="Select the column, or give its value in PARTITION (…).",
            )
    return found


def literal_partitions(
    plan: InsertPlan, rows: LiteralRows, columns: Sequence[str]
) -> list[PartitionName]:
    """The partition of each row in a table with these partition columns."""
    fixed = dict(plan.static_partition)
    filled = {name: index for index, name in enumerate(plan.columns)}
    return [
        PartitionName.of([(n, fixed[n] if n in fixed else row[filled[n]]) for n in columns])
        for row in rows.rows
    ]

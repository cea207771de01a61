"""A table under a snapshot as a DataFrame: native ORC scans without the deleted rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidsql.engines.changes import PARTITION
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.selection import Selection, select_files
from acidsql.engines.spark.columns import (
    has_back_quote,
    has_no_names,
    remembering_types,
    seen_columns,
)
from acidsql.engines.spark.deletes import DELETING, with_deleting, without_deleted
from acidsql.engines.spark.events import ID_TYPES, Events, EventScan, union
from acidsql.engines.spark.kept import Kept
from acidsql.engines.spark.places import FILE
from acidsql.engines.spark.row_numbers import NumberedRows
from acidsql.engines.spark.scans import Scans
from acidsql.engines.spark.select import select
from acidsql.engines.spark.settings import is_case_sensitive
from acidsql.engines.spark.timestamps import has_days, shifts_times
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import quote_identifier as quote
from acidsql.model.names import string_literal as literal
from acidsql.model.predicate import Predicate
from acidsql.model.prune import prune_partitions
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Column, Table
from acidsql.model.types import VOID, spark_type
from acidsql.orc.schema import ROW_ID_COLUMNS
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ROW_ID_FIELDS = ("writeid", "bucketid", "rowid")
"""The fields of ``row__id``, as Hive calls them (RecordIdentifier)."""

_FIELDS = ", ".join(f"{n}: {t}" for n, t in zip(ROW_ID_FIELDS, ID_TYPES, strict=True))
ROW_ID_TYPE = f"struct<{_FIELDS}>"
"""The type of ``row__id``."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """The columns that a scan yields beside the table's own, and what a query asks of it.

    ``hidden`` are hidden columns. ``key`` adds PARTITION and the row id columns, for a writer.
    ``columns`` are the columns likely to be used. ``shows_files`` says that the rows may be asked
    for the files that they come from, which only Spark's reader knows. ``with_deleted`` adds the
    deleted rows.
    """

    hidden: tuple[HiddenColumn, ...] = ()
    key: bool = False
    shows_files: bool = False
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()
    with_deleted: bool = False

    @property
    def row_id(self) -> bool:
        """Whether ``row__id`` is added."""
        return HiddenColumn.ROW_ID in self.hidden

    @property
    def file_name(self) -> bool:
        """Whether ``input__file__name`` is added."""
        return HiddenColumn.FILE_NAME in self.hidden

    @property
    def is_deleted(self) -> bool:
        """Whether ``row__is__deleted`` is added."""
        return HiddenColumn.IS_DELETED in self.hidden

    @property
    def small_files(self) -> bool:
        """Whether the driver may read small files, which it reads together."""
        return not (self.shows_files or self.file_name)


@dataclass(frozen=True, slots=True)
class Scan:
    """A table's rows, and the selection whose directories PARTITION numbers."""

    frame: DataFrame
    selection: Selection


def scan_table(
    spark: SparkSession,
    snapshot: TableSnapshot,
    txns: ValidTxnList,
    storage: Storage,
    kept: Kept,
    request: ScanRequest,
    *,
    by_position: bool = True,
) -> Scan:
    """The rows that the snapshot sees.

    ``by_position`` says how columns of files are matched in a table that does not say so itself.
    """
    table = snapshot.table
    partitions = prune_partitions(table, snapshot.partitions, request.predicates)
    kinds = [c.type for c in table.columns]
    misread = shifts_times(spark, kinds) or has_back_quote(table.columns)
    misread = misread or has_no_names(table.columns)
    by_case = is_case_sensitive(spark)
    tails = misread or by_case or has_days(kinds) or not table.is_unchanged
    selection = select_files(snapshot, partitions, txns, storage, tails=tails)
    if not selection.inserts:
        return Scan(empty_scan(spark, table, request), selection)
    partitioned = bool(table.partition_columns) or len(partitions) > 1
    places = row_places(request, partitioned=partitioned)
    convert = seen_columns(spark, [c.type for c in table.columns], pushed=False)
    row_ids = request.row_id or request.key or bool(selection.deletes)
    scan = EventScan(
        spark, snapshot, request.predicates, request.columns, convert, places, row_ids=row_ids
    )
    match_by_position = table.matches_by_position(by_position)
    reader = NumberedRows(
        table.columns, snapshot.write_ids, storage, match_by_position, names_files=request.file_name
    )
    scans = Scans(scan, reader, misread=misread, by_case=by_case)
    small, files = scans.of_small(selection.inserts, kept.contents if request.small_files else None)
    events = union([*small, *scans.of_others(files)], places)
    columns = _columns(table, events, selection.partitions, request, partitioned=partitioned)
    if request.with_deleted:
        frame = with_deleting(spark, events.frame, selection, snapshot, partitioned=partitioned)
        rows = select(frame, columns)
    else:
        rows = without_deleted(
            spark, kept, events, selection, snapshot, storage, partitioned=partitioned
        ).select(columns)
    return Scan(remembering_types(rows, table.all_columns), selection)


def _columns(
    table: Table,
    events: Events,
    partitions: Sequence[PartitionLocation],
    request: ScanRequest,
    *,
    partitioned: bool,
) -> list[str]:
    values = zip(events.values, table.columns, strict=True)
    columns = [f"{seen_value(value, column)} as {quote(column.name)}" for value, column in values]
    columns += partition_values(table, partitions)
    if request.row_id:
        # Wrapped, so that Spark pushes no condition on these columns down. ORC would look for their
        # names inside row, and might find the user's own columns.
        own = ROW_ID_COLUMNS
        if request.with_deleted:
            own = (f"coalesce({DELETING}, {own[0]})", *own[1:])
        fields = zip(ROW_ID_FIELDS, own, strict=True)
        parts = ", ".join(f"'{field}', coalesce({name}, -1)" for field, name in fields)
        columns.append(f"named_struct({parts}) as row__id")
    if request.file_name:
        columns.append(f"{FILE} as {HiddenColumn.FILE_NAME.value}")
    if request.is_deleted:
        mark = f"{DELETING} is not null" if request.with_deleted else "false"
        columns.append(f"{mark} as {HiddenColumn.IS_DELETED.value}")
    if request.key:
        columns.append(PARTITION if partitioned else f"0 as {PARTITION}")
        pairs = zip(ROW_ID_COLUMNS, CHANGED_ROW_ID, strict=True)
        columns += [f"{inside} as {outside}" for inside, outside in pairs]
    return columns


def row_places(request: ScanRequest, *, partitioned: bool) -> tuple[str, ...]:
    """The columns of a scan that tell where a row lies, as far as they are needed."""
    return (*([PARTITION] if partitioned else []), *([FILE] if request.file_name else []))


def seen_value(value: str, column: Column) -> str:
    """The value; of a void column NULL as void, a type that no reader of files gives."""
    return "cast(null as void)" if column.type == VOID else value


def partition_values(table: Table, partitions: Sequence[PartitionLocation]) -> list[str]:
    """The expressions of the partition columns, looked up by PARTITION."""
    columns = []
    for index, column in enumerate(table.partition_columns):
        values = [p.name.values[index] if p.name else None for p in partitions]
        kind = spark_type(column.type)
        array = ", ".join(f"cast({'null' if v is None else literal(v)} as {kind})" for v in values)
        columns.append(f"element_at(array({array}), {PARTITION} + 1) as {quote(column.name)}")
    return columns


def empty_scan(spark: SparkSession, table: Table, request: ScanRequest) -> DataFrame:
    """A frame of the columns that the scan would have, without rows."""
    columns = [f"{quote(c.name)} {spark_type(c.type)}" for c in table.all_columns]
    if request.row_id:
        columns.append(f"row__id {ROW_ID_TYPE}")
    if request.file_name:
        columns.append(f"{HiddenColumn.FILE_NAME.value} string")
    if request.is_deleted:
        columns.append(f"{HiddenColumn.IS_DELETED.value} boolean")
    if request.key:
        columns.append(f"{PARTITION} int")
        columns += [f"{name} {kind}" for name, kind in zip(CHANGED_ROW_ID, ID_TYPES, strict=True)]
    return remembering_types(spark.createDataFrame([], ", ".join(columns)), table.all_columns)

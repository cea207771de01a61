"""Insert files read by Spark's own vectorised ORC reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from acidsql.engines.spark.columns import cut_texts, unpushed
from acidsql.engines.spark.conditions import conditions
from acidsql.engines.spark.event_files import (
    WHOLE,
    event_columns,
    event_schema,
    is_visible,
    operation_is,
)
from acidsql.engines.spark.event_format import event_format, flat_name, flat_schema
from acidsql.engines.spark.groups import FileColumn, FileGroup
from acidsql.engines.spark.places import with_places
from acidsql.engines.spark.relation import read_files, read_in_format
from acidsql.engines.spark.sarg import search_argument
from acidsql.engines.spark.select import below_offset, select, select_where
from acidsql.engines.spark.timestamps import storage_type
from acidsql.model.names import quote_identifier as quote
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table
from acidsql.model.types import INTEGER_BITS, ColumnType, PrimitiveType, spark_type
from acidsql.orc.schema import INSERT, ROW_ID_COLUMNS
from acidsql.ports.engine import TableSnapshot

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

ID_TYPES = ("bigint", "int", "bigint")
"""The types of the row id columns."""

_NO_ID = tuple(f"cast(null as {kind})" for kind in ID_TYPES)
"""The row id columns of a scan that is not asked for them."""

_OPTIONS = {
    **WHOLE,
    "orc.proleptic.gregorian.default": "true",  # Hive 3 writes such days without saying so
    "orc.force.positional.evolution": "false",  # names are the files' own, see groups.py
}

_ANY_TASKS = 1 << 20
"""More tasks than any scan has. A coalesce to so many leaves each task what it has."""

Convert = Callable[[str, ColumnType], str]
"""An expression as read, and its column's type → an expression of the column's value."""


@dataclass(frozen=True, slots=True)
class Events:
    """Rows with their row ids and the places that their scan was asked for.

    They are those rows of ``scan`` for which ``condition`` holds, and ``unset``. ``values`` are the
    expressions of the table's columns. ``ids`` are those of the row id.
    """

    scan: DataFrame
    values: tuple[str, ...]
    ids: tuple[str, ...] = ROW_ID_COLUMNS
    condition: str | None = None
    unset: SparkColumn | None = None

    @property
    def frame(self) -> DataFrame:
        """All columns of the rows."""
        rows = self.scan if self.condition is None else below_offset(self.scan, self.condition)
        return rows if self.unset is None else rows.where(self.unset)

    def select(self, columns: Sequence[str]) -> DataFrame:
        """Expressions over the rows."""
        if self.condition is None:
            return select(self.frame, columns)
        return select_where(self.scan, columns, self.condition, self.unset)

    def of(self, rows: DataFrame) -> Events:
        """The same expressions over other rows."""
        return Events(rows, self.values, self.ids)


@dataclass(frozen=True, slots=True)
class EventScan:
    """How the files of one table are to be scanned.

    ``columns`` are those likely to be used. ``places`` are PARTITION, FILE, both or neither.
    Without ``row_ids``, no row id is asked for, and those of a scan may be NULL.
    """

    spark: SparkSession
    snapshot: TableSnapshot
    predicates: tuple[Predicate, ...]
    columns: tuple[str, ...]
    convert: Convert
    places: tuple[str, ...]
    row_ids: bool

    def read(self, group: FileGroup) -> Events:
        """The insert events of a group, without those of hidden write ids."""
        if group.schema.plain:
            return self._plain(group)
        return self._flat(group) or self._nested(group)

    def _nested(self, group: FileGroup) -> Events:
        """The events, whose columns Spark reads as fields of ``row``."""
        columns = self.snapshot.table.columns
        found = group.schema.columns
        row = ", ".join(f"{quote(c.name)}: {storage_type(c.type)}" for c in found if c is not None)
        names = event_columns(
            operations=not all(f.only_inserts for f in group.files),
            row_ids=self.row_ids,
            write_ids=group.is_filtered,
        )
        scan = self._reader(group, event_schema(row, names))
        values = tuple(self._value(c, f, "row.") for c, f in zip(columns, found, strict=True))
        leaf = f"row.{quote(self._leaf(found))}"
        ids = tuple(quote(names[name]) for name in ROW_ID_COLUMNS)
        return self._inserts(group, scan, values, ids, [operation_is(INSERT, leaf, names)])

    def _flat(self, group: FileGroup) -> Events | None:
        """The events, whose columns Spark reads in a format of ours; None where it cannot."""
        file_format = event_format(self.spark, group.files)
        if file_format is None:
            return None
        found = group.renamed(flat_name).schema.columns
        fields = [f"{quote(c.name)} {storage_type(c.type)}" for c in found if c is not None]
        schema = flat_schema(fields, row_ids=self.row_ids, write_ids=group.is_filtered)
        options, paths = self._options(group), _paths(group)
        scan = read_in_format(self.spark, file_format, schema, options, paths)
        if scan is None:
            return None
        pairs = zip(self.snapshot.table.columns, found, strict=True)
        values = tuple(self._value(c, f, "") for c, f in pairs)
        return self._inserts(group, scan, values, ROW_ID_COLUMNS if self.row_ids else _NO_ID, [])

    def _inserts(
        self,
        group: FileGroup,
        scan: DataFrame,
        values: tuple[str, ...],
        ids: tuple[str, ...],
        wanted: Sequence[str],
    ) -> Events:
        """The events of a scan for which the conditions ``wanted`` hold, and the query's own."""
        visible = [is_visible(self.snapshot.write_ids)] if group.is_filtered else []
        condition = " and ".join([*self._query_conditions(values), *wanted, *visible]) or "true"
        if self.places:
            return Events(self._placed(below_offset(scan, condition), scan, group), values, ids)
        return Events(scan, values, ids, condition)

    def _plain(self, group: FileGroup) -> Events:
        """Rows of files without events. Their row ids are null, because no caller asks for them."""
        pairs = list(zip(self.snapshot.table.columns, group.schema.columns, strict=True))
        schema = ", ".join(f"{quote(f.name)} {storage_type(f.type)}" for _, f in pairs if f)
        frame = self._reader(group, schema)
        ids = [f"{none} as {name}" for name, none in zip(ROW_ID_COLUMNS, _NO_ID, strict=True)]
        placed = self._placed(frame, frame, group)
        values = [unpushed(self._value(c, f, ""), c.type) for c, f in pairs]
        rows = select(placed, [*ids, *self.places, *_numbered(values)])
        return Events(rows, _names(values))

    def _placed(self, frame: DataFrame, scan: DataFrame, group: FileGroup) -> DataFrame:
        """The frame with its places; ``scan`` is the frame without conditions."""
        return with_places(self.spark, frame, self.places, scan, group.files)

    def _reader(self, group: FileGroup, schema: str) -> DataFrame:
        return read_files(self.spark, "orc", schema, self._options(group), _paths(group))

    def _options(self, group: FileGroup) -> dict[str, str]:
        table, predicates = in_files(self.snapshot.table, self.predicates, group.schema.columns)
        return {**_OPTIONS, **search_argument(self.spark, table, predicates)}

    def _value(self, column: Column, found: FileColumn | None, prefix: str) -> str:
        if found is None:
            return f"cast(null as {spark_type(column.type)})"
        value = self.convert(f"{prefix}{quote(found.name)}", column.type)
        if found.type != column.type:  # fields of structs are called otherwise there
            value = f"cast({value} as {spark_type(column.type)})"
        return cut_texts(value, column.type) if found.cut else value

    def _query_conditions(self, values: Sequence[str]) -> Iterator[str]:
        """The query's own conditions, as far as they are known.

        They come first, because to compare is cheap. Spark alone would apply them after ours, which
        tell inserts and look up deleted rows.
        """
        columns = self.snapshot.table.columns
        by_name = dict(zip((c.name for c in columns), values, strict=True))
        return conditions(self.predicates, columns, by_name)

    def _leaf(self, found: Sequence[FileColumn | None]) -> str:
        """The column for `operation_is` to mention: one that is read anyway, or a cheap one."""
        pairs = zip(self.snapshot.table.columns, found, strict=True)
        there = [(column, f.name) for column, f in pairs if f is not None]
        used = [name for column, name in there if column.name in self.columns]
        cheap = [
            name
            for column, name in there
            if isinstance(column.type, PrimitiveType)
            and (column.type.name in INTEGER_BITS or column.type.name == "date")
        ]
        return next(iter([n for n in used if n in cheap] or used or cheap or [there[0][1]]))


def _paths(group: FileGroup) -> list[str]:
    return [file.path for file in group.files]


def in_files(
    table: Table, predicates: Sequence[Predicate], found: Sequence[FileColumn | None]
) -> tuple[Table, Sequence[Predicate]]:
    """The table as its files name the columns, and the predicates that their statistics can answer.

    A column is left out if no file has it, or if it is converted when it is read: then the
    statistics are about the values before the conversion.
    """
    pairs = zip(table.columns, found, strict=True)
    names = {c.name: f.name for c, f in pairs if f is not None and not f.converted}
    if len(names) == len(found) and all(name == there for name, there in names.items()):
        return table, predicates
    columns = tuple(replace(c, name=names[c.name]) for c in table.columns if c.name in names)
    known = [replace(p, column=names[p.column]) for p in predicates if p.column in names]
    return replace(table, columns=columns), known


def union(scans: Sequence[Events], places: Sequence[str]) -> Events:
    """The rows of all scans."""
    if len(scans) == 1:
        return scans[0]
    frames = [s.select([*_row_id(s), *places, *_numbered(s.values)]) for s in scans]
    return Events(all_rows(frames), _names(scans[0].values))


def all_rows(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames, of which there is at least one.

    Spark pushes what a query selects into a union, and fails if a correlated subquery is among it
    (PushProjectionThroughUnion). It pushes conditions through a coalesce, but no such columns.
    """
    if len(frames) == 1:
        return frames[0]
    return reduce(lambda one, other: one.unionAll(other), frames).coalesce(_ANY_TASKS)


def _row_id(scan: Events) -> list[str]:
    pairs = zip(scan.ids, ROW_ID_COLUMNS, strict=True)
    return [f"{found} as {name}" for found, name in pairs]


def column_alias(index: int) -> str:
    """The name of a table's column beside event columns, whatever the user calls it."""
    return f"__c{index}"


def _numbered(values: Sequence[str]) -> list[str]:
    return [f"{value} as {column_alias(index)}" for index, value in enumerate(values)]


def _names(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(column_alias(index) for index in range(len(values)))

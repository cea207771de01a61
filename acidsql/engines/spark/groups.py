"""Insert files in groups that one scan can read: files of one schema and one form.

Spark's reader is given each file's own names, so that ORC never matches by position: with columns
pruned it would take the wrong ones. The reader is given the table's types, since ORC converts
values as Hive does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acidsql.engines.selection import SelectedFile
from acidsql.model.table import Column, Table
from acidsql.model.types import (
    INTEGER_BITS,
    VOID,
    ArrayType,
    ColumnType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.orc.evolution import check_convertible, field_of, is_truncated, matched
from acidsql.orc.types import file_columns


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A table's column as files have it: its name there and the type to read it as.

    ``cut`` says that texts may be longer than the table's type. Where values are ``converted``, the
    file's statistics do not describe what a query sees.
    """

    name: str
    type: ColumnType
    cut: bool = False
    converted: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """The files' column for each column of the table, or None where they do not have it.

    ``plain`` files hold rows, others events.
    """

    columns: tuple[FileColumn | None, ...]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one schema."""

    schema: Schema
    files: tuple[SelectedFile, ...]

    @property
    def is_filtered(self) -> bool:
        """Whether a file may hold events that the snapshot does not see."""
        return any(file.row_filter for file in self.files)

    def renamed(self, name: Callable[[str], str]) -> FileGroup:
        """The group for a reader that calls the files' columns as ``name`` does."""
        columns = tuple(c and replace(c, name=name(c.name)) for c in self.schema.columns)
        return replace(self, schema=replace(self.schema, columns=columns))


def own_schema(table: Table, *, plain: bool = False) -> Schema:
    """The schema of files that have the table's columns. Spark reads no void column of plain ones.

    ``plain`` is as in Schema.
    """
    columns = (
        None if plain and c.type == VOID else FileColumn(c.name, c.type) for c in table.columns
    )
    return Schema(tuple(columns), plain)


def group_files(
    table: Table, files: Sequence[SelectedFile], *, by_position: bool, row_ids: bool
) -> tuple[list[FileGroup], list[SelectedFile]]:
    """The groups that Spark's reader reads, and the files that it cannot read.

    Spark's reader knows no row numbers, so with ``row_ids`` it cannot read plain files. It cannot
    read a part of a file, nor events whose rows have none of the table's columns. Files without a
    ``tail`` have the table's schema. StorageError for a column whose values cannot become the
    table's type.
    """
    groups: dict[Schema, list[SelectedFile]] = {}
    others = []
    for file in files:
        schema = _schema(table, file, by_position=by_position)
        if schema is None or file.length is not None or (schema.plain and row_ids):
            others.append(file)
        else:
            groups.setdefault(schema, []).append(file)
    return [FileGroup(schema, tuple(found)) for schema, found in groups.items()], others


def _schema(table: Table, file: SelectedFile, *, by_position: bool) -> Schema | None:
    """The schema; None if ORC would match by position whatever it is asked for."""
    if file.tail is None:
        return own_schema(table)
    found = file_columns(file.tail, file.path)
    names = [c.name for c in found]
    places = matched(names, table.columns, by_position=by_position)
    is_nameless = all(name.startswith("_col") for name in names)
    if is_nameless or all(at is None for at in places):
        return None
    there = {name.lower() for name in names}
    columns: list[FileColumn | None] = []
    for column, at in zip(table.columns, places, strict=True):
        if column.type == VOID:
            columns.append(None)
        elif at is not None:
            check_convertible(column, found[at].type, file.path)
            columns.append(_file_column(column, found[at]))
        elif column.name not in there:
            # The column is asked for all the same, so that files with and without it are one group.
            columns.append(FileColumn(column.name, column.type))
        else:
            columns.append(None)
    if not any(columns):
        return None
    return Schema(tuple(columns), file.first is not None)


def _file_column(column: Column, source: Column) -> FileColumn:
    cut = is_truncated(source.type, column.type)
    spelled = _spelled(column.type, source.type)
    converted = spelled != source.type and not _are_integers(spelled, source.type)
    return FileColumn(source.name, spelled, cut, converted)


def _are_integers(*kinds: ColumnType) -> bool:
    return all(isinstance(k, PrimitiveType) and k.name in INTEGER_BITS for k in kinds)


def _spelled(kind: ColumnType, source: ColumnType) -> ColumnType:
    """The type with the names of fields spelled as in the source."""
    match kind, source:
        case ArrayType(element), ArrayType(inner):
            return ArrayType(_spelled(element, inner))
        case MapType(key, value), MapType(inner_key, inner_value):
            return MapType(_spelled(key, inner_key), _spelled(value, inner_value))
        case StructType(fields), StructType(there):
            spelled = []
            for name, field in fields:
                at = field_of(source, name)
                if at is None:
                    spelled.append((name, field))
                else:
                    spelled.append((there[at][0], _spelled(field, there[at][1])))
            return StructType(tuple(spelled))
    return kind

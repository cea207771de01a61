"""Columns of a MERGE's collected source that become columns of the target as they are.

Most upserts set columns to columns of the source. The driver has the source's rows, so Spark need
tell only which of them match: it neither reads the target's old values of such columns nor gets and
gives back the new ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.matches import SOURCE_ROW
from acidsql.engines.spark.columns import CHAR_METADATA
from acidsql.engines.spark.job import driver_bytes
from acidsql.engines.spark.values import has_star
from acidsql.model.constraint import checks
from acidsql.model.table import Column, Table
from acidsql.model.types import VOID, DecimalType, PrimitiveType, spark_type
from acidsql.plans.merge import InsertLeg, Leg, MergePlan, UpdateLeg
from acidsql.plans.sql_text import SqlText
from acidsql.plans.update import SetColumn

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

_NAME = r"(?:`(?:[^`]|``)+`|\w+)"
_QUALIFIED = re.compile(rf"\s*({_NAME})\s*\.\s*({_NAME})\s*")


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The source of a MERGE, whose rows the driver holds. ``fields`` are its columns.

    No two of them have one name.
    """

    plan: MergePlan
    table: Table
    fields: StructType

    def updating(self) -> Mapping[str, str]:
        """The table's columns that a column of the source fills wherever a leg updates, by name.

        None of them if other rows than matches are changed, or if a new version is more than such
        values: if it is checked, or placed anew.
        """
        plan = self.plan
        legs = [leg for leg in plan.changing if isinstance(leg, UpdateLeg)]
        if not legs or plan.by_source or plan.moves or checks(self.table.constraints):
            return {}
        filled = [self._filled(leg.assignments) for leg in legs]
        return {
            column: name
            for column, name in filled[0].items()
            if all(one.get(column) == name for one in filled)
        }

    def is_told_by_keys(self) -> bool:
        """Whether no clause asks for columns of both sides, but for the keys that ON compares.

        Then a row of the target is told by its keys, and by comparisons of its columns with
        literals. Columns that are set become columns of the source.
        """
        plan = self.plan
        if not plan.on_is_keys or plan.by_source or plan.moves:
            return False
        given = set(self.updating())
        return all(
            self.asked_by([leg]) is not None
            and (not isinstance(leg, UpdateLeg) or {a.column for a in leg.assignments} == given)
            for leg in plan.changing
        )

    def inserting(self, leg: InsertLeg) -> Mapping[str, str] | None:
        """The source's column for each of the table's, in rows that the leg inserts.

        None if some value is another one, or if it takes more than values to make the rows.
        """
        table = self.table
        if table.partition_columns or checks(table.constraints):
            return None
        filled = self._filled(leg.values)
        return filled if all(c.name in filled for c in table.columns) else None

    def asked_by(self, legs: Iterable[Leg]) -> Sequence[StructField] | None:
        """The columns for which the legs ask whose conditions are about the source alone.

        Legs with `asks_target` are passed over. None if others ask for more, or for columns that
        are not `_is_simple`.
        """
        fields = {field.name.lower(): field for field in self.fields if _is_simple(field)}
        names: set[str] = set()
        for leg in legs:
            if leg.condition is not None and not (leg.asks_target or leg.asks_source):
                return None
            names.update(leg.asks_source or ())
        return [fields[name] for name in sorted(names)] if names <= fields.keys() else None

    def asked(self, given: Iterable[str]) -> Sequence[StructField]:
        """The columns that a join may ask for, if it does not compute those ``given``.

        A text names each column that it asks for, unless there is a star.
        """
        without = set(given)
        every = "\n".join(str(text) for text in self._texts(without)).lower()
        if has_star(every) or "identifier" in every:  # IDENTIFIER() puts names together
            return list(self.fields)
        return [field for field in self.fields if _may_stand_in(every, field.name)]

    def _texts(self, without: set[str]) -> Iterator[SqlText]:
        yield self.plan.on
        for leg in self.plan.changing:
            if leg.condition is not None:
                yield leg.condition
            if isinstance(leg, UpdateLeg):
                yield from (a.value for a in leg.assignments if a.column not in without)

    def _filled(self, values: Iterable[SetColumn]) -> dict[str, str]:
        """The columns among those set that get the value of a source's column as it is."""
        names = {field.name.lower(): field for field in self.fields}
        found = {}
        for one in values:
            asked = _column_of(one.value, self.plan.source_alias)
            field, column = names.get(asked or ""), self.table.column(one.column)
            if field is not None and column is not None and not one.fields and _fits(field, column):
                found[one.column] = field.name
        return found


def with_source_values(
    changes: pa.Table, rows: pa.Table, given: Mapping[str, str]
) -> pa.Table | None:
    """Matches with the values of their source rows in the columns ``given``.

    SOURCE_ROW tells the row's place in ``rows``. None if this takes more memory than the driver
    is to use.
    """
    places = changes.column(SOURCE_ROW).combine_chunks()
    columns = {name: rows.column(of).combine_chunks() for name, of in given.items()}
    each = sum((_bytes(column) for column in columns.values()), np.zeros(rows.num_rows, np.int64))
    if int(each[places.to_numpy()].sum()) > driver_bytes(are_ids=False):
        return None
    for name, column in columns.items():
        changes = changes.append_column(name, column.take(places))
    return changes


def as_new_rows(rows: pa.Table, table: Table, given: Mapping[str, str]) -> pa.Table:
    """The source's rows as rows of the table."""
    return rows.select([given[c.name] for c in table.columns]).rename_columns(
        [c.name for c in table.columns]
    )


def _bytes(column: pa.Array[Any]) -> np.ndarray:
    """The bytes of each value, or somewhat more."""
    if pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type):
        return np.full(len(column), column.type.bit_width // 8 + 1, np.int64)
    lengths: pa.Array[Any] = pc.call_function("binary_length", [column])
    return lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) + 4


def _column_of(value: SqlText, alias: str) -> str | None:
    """The name of the column, in lower case, if the text is one, qualified by the alias."""
    found = _QUALIFIED.fullmatch(str(value)) if len(value.parts) == 1 else None
    if found is None or _unquoted(found[1]).lower() != alias.lower():
        return None
    return _unquoted(found[2]).lower()


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _may_stand_in(text: str, name: str) -> bool:
    """Whether the text, in lower case, may name a column."""
    return not name.isascii() or name.lower().replace("`", "``") in text


def _is_simple(field: StructField) -> bool:
    """Whether equal values of the field get the same answer, wherever Spark gives it.

    Not so 0.0 and -0.0, which Arrow calls equal. Nor days and times, where Spark converts one kind
    to another: for an hour that a time zone leaves out, it compares in two ways, and takes another
    one for rows that the driver hands it than for those that it reads.
    """
    from pyspark.sql import types  # noqa: PLC0415

    numbers = (types.IntegralType, types.DecimalType, types.BooleanType)
    return isinstance(field.dataType, (*numbers, types.StringType, types.BinaryType))


def _fits(field: StructField, column: Column) -> bool:
    """Whether a value of the field is one of the column without any conversion or check."""
    kind = column.type
    simple = isinstance(kind, (PrimitiveType, DecimalType)) and kind != VOID
    same = field.dataType.simpleString() == spark_type(kind)
    return simple and same and CHAR_METADATA not in field.metadata

"""New values of rows by their row ids, in files that Spark has encoded beside the ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.rows import stretches
from acidsql.engines.selection import source_of
from acidsql.engines.spark.row_id_parts import HeldParts, Part, places_of
from acidsql.model.table import Column
from acidsql.orc.keys import Flags, RowIds, RowPositions
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import row_schema
from acidsql.ports.storage import Storage


@dataclass(frozen=True, slots=True)
class NewValues:
    """The new values of the rows of all parts, in these columns."""

    parts: Sequence[Part]
    columns: tuple[Column, ...]
    held: HeldParts[Rows]

    def of(self, partition: int, row_ids: RowIds) -> tuple[Flags, pa.Table]:
        """Which rows have new versions, and the new values of those, in their order."""
        missing = np.arange(len(row_ids))
        found = [row_schema(self.columns).empty_table()]
        places = [missing[:0]]
        for part in self.parts:
            wanted = row_ids.where(missing)
            if not part.may_have(partition, wanted):
                continue
            rows = self.held.of(part)
            at = rows.positions(partition, wanted)
            is_there = at >= 0
            found.append(_taken(rows.values, at[is_there]))
            places.append(missing[is_there])
            missing = missing[~is_there]
        there = np.ones(len(row_ids), np.bool_)
        there[missing] = False
        return there, _in_order(found, np.concatenate(places))


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a part: the new values, and where the rows of each partition stand."""

    values: pa.Table
    places: Mapping[int, tuple[RowPositions, NDArray[np.intp]]]

    @classmethod
    def of(cls, path: str, columns: Sequence[Column], storage: Storage) -> Rows:
        """The rows of a part at a path, which begin with these columns."""
        with open_orc(source_of(path, storage), path) as opened:
            read = opened.read()
        schema = row_schema(columns)
        values = read.select(range(len(columns))).rename_columns(schema.names).cast(schema)
        partitions, ids = places_of(read)
        order = np.argsort(partitions, kind="stable")
        found = {}
        for start, end in stretches([partitions[order]]):
            rows = order[start:end]
            found[int(partitions[rows[0]])] = RowPositions(ids.where(rows)), rows
        return cls(values.combine_chunks(), found)

    def positions(self, partition: int, row_ids: RowIds) -> NDArray[np.intp]:
        """Where each of these rows of a partition stands; -1 for one that is not there."""
        if partition not in self.places:
            return np.full(len(row_ids), -1, np.intp)
        positions, rows = self.places[partition]
        at = positions.of(row_ids)
        return np.where(at >= 0, rows[at], -1)


def _taken(rows: pa.Table, at: NDArray[np.intp]) -> pa.Table:
    """The rows at these positions. Rows that follow each other are not copied."""
    if len(at) and (np.diff(at) == 1).all():
        return rows.slice(int(at[0]), len(at))
    return rows.take(at)


def _in_order(parts: Sequence[pa.Table], places: NDArray[np.intp]) -> pa.Table:
    """The rows of all parts, in the order of their places."""
    rows = pa.concat_tables(parts)
    if (np.diff(places) > 0).all():
        return rows
    return rows.combine_chunks().take(np.argsort(places))

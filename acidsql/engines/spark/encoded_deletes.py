"""Delete events of row ids that Spark has encoded, however many they are.

The ids of a bucket are read part by part, in the order of their file. `HeldParts` says how many
parts are in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.output import Output
from acidsql.engines.rows import is_sorted, stretches
from acidsql.engines.selection import source_of
from acidsql.engines.spark.parts import files_of_places
from acidsql.engines.spark.row_id_parts import (
    HeldParts,
    Part,
    Stretch,
    id_names,
    places_of,
    side_by_side,
    threads_for,
)
from acidsql.engines.target import OutputFile, Target
from acidsql.model.ids import StatementId
from acidsql.model.row_id import decode_bucket
from acidsql.orc.keys import Longs
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import ROW_ID_COLUMNS
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_ROWS = 1 << 20


def write_encoded_deletes(
    spark: SparkSession,
    parts: Sequence[Part],
    partitions: Sequence[str],
    target: Target,
    statement_id: StatementId,
) -> list[OutputFile]:
    """The files of the delete events of all row ids of the parts, not yet published.

    ``partitions`` are the texts of the partitions, by the numbers that the parts have.
    """
    places: dict[tuple[int, int], dict[Stretch, list[Part]]] = defaultdict(dict)
    for part in parts:
        for stretch in part.bounds:
            partition, _, bucket_property = stretch
            place = places[partition, decode_bucket(bucket_property)]
            place.setdefault(stretch, []).append(part)
    threads = threads_for(parts)
    held = HeldParts(partial(_row_numbers, storage=target.storage), threads)
    deletes = _Deletes(target, statement_id, held)
    return files_of_places(
        spark,
        [
            _Place(partitions[partition], bucket_id, found)
            for (partition, bucket_id), found in places.items()
        ],
        deletes.file,
        threads=threads,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A bucket of a partition, and the parts that have each stretch of its row ids."""

    partition: str
    bucket_id: int
    parts: Mapping[Stretch, Sequence[Part]]


@dataclass(frozen=True, slots=True)
class _Deletes:
    """Writes the files of places. A task gets it by pickle."""

    target: Target
    statement_id: StatementId
    held: HeldParts[Mapping[Stretch, Longs]]

    def file(self, place: _Place) -> OutputFile:
        """The file of a place, under an attempt's name."""
        with Output(self.target) as output:
            for row_ids in self._row_ids(place):
                output.delete(row_ids, place.partition, place.bucket_id, self.statement_id)
        [file] = output.files
        return file

    def _row_ids(self, place: _Place) -> Iterator[pa.RecordBatch]:
        """The row ids of a place in their order."""
        for stretch in sorted(place.parts):
            for parts in side_by_side(stretch, place.parts[stretch]):
                numbers = np.concatenate([self.held.of(part)[stretch] for part in parts])
                if len(parts) > 1:
                    numbers.sort()
                for start in range(0, len(numbers), _BATCH_ROWS):
                    yield _batch(stretch, numbers[start : start + _BATCH_ROWS])


def _row_numbers(path: str, storage: Storage) -> Mapping[Stretch, Longs]:
    """The row numbers of each stretch of a part, sorted."""
    with open_orc(source_of(path, storage), path) as opened:
        read = opened.read(id_names(opened))
    partitions, ids = places_of(read)
    keys: list[NDArray[Any]] = [partitions, ids.write_ids, ids.bucket_properties, ids.row_numbers]
    if not is_sorted(keys):
        order = np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
    *of, numbers = keys
    return {
        (int(of[0][start]), int(of[1][start]), int(of[2][start])): numbers[start:end]
        for start, end in stretches(of)
    }


def _batch(stretch: Stretch, numbers: Longs) -> pa.RecordBatch:
    _, write_id, bucket_property = stretch
    columns = [
        pa.array(np.full(len(numbers), write_id, np.int64)),
        pa.array(np.full(len(numbers), bucket_property, np.int32)),
        pa.array(numbers),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(ROW_ID_COLUMNS))

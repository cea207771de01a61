"""New rows in any order → one file for each bucket of a partition, with bounded memory.

A file of a bucket cannot be opened again once it is finished, and a file that is open holds a
stripe in memory. So the rows are sorted by their place first: in memory, as long as they are few,
else in sorted runs in a temporary directory, of which each place then reads its own part.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pyarrow as pa

from acidsql.engines.output import Output
from acidsql.engines.partition_codes import partition_codes
from acidsql.engines.rows import Placement, stretches
from acidsql.errors import StorageError
from acidsql.model.ids import StatementId
from acidsql.model.table import Table

RUN_BYTES = 256 << 20
"""Rows up to so many bytes are sorted at a time. Sorting needs as much memory again."""

Place = tuple[str, int]
"""The text of a partition, and a bucket."""


def write_placed_rows(
    output: Output,
    batches: Iterable[pa.RecordBatch],
    table: Table,
    statement_id: StatementId,
    run_bytes: int | None = None,
) -> None:
    """Write rows that end in their partition values' texts.

    Rows of one place keep their order. ``run_bytes`` is `RUN_BYTES` unless given. StorageError if
    the temporary directory cannot be written.
    """
    limit = RUN_BYTES if run_bytes is None else run_bytes
    with ExitStack() as temporary:
        runs = _Runs(table, temporary)
        pending: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            pending.append(batch)
            size += batch.nbytes
            if size >= limit:
                runs.spill(pending)
                pending, size = [], 0
        last = _Run.of(pending, table) if pending else None
        in_memory: Iterable[Place] = () if last is None else last.parts
        for partition, bucket in dict.fromkeys([*runs.places(), *in_memory]):
            place = partition, bucket
            parts: Iterable[pa.RecordBatch] = runs.parts(place)
            if last is not None and place in last.parts:
                parts = chain(parts, [last.part(place)])
            for part in parts:
                output.insert(part, partition, bucket, statement_id)
            output.finish_others(partition, bucket)


@dataclass(slots=True)
class _Run:
    """Rows sorted by place, and the bounds of each place's rows."""

    rows: pa.Table
    parts: dict[Place, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, batches: list[pa.RecordBatch], table: Table) -> _Run:
        rows = pa.Table.from_batches(batches)
        codes, texts = partition_codes(rows, [c.name for c in table.partition_columns])
        data = rows.select([c.name for c in table.columns])
        buckets = Placement.of(table).buckets(data)
        order = np.lexsort((buckets, codes))
        codes, buckets = codes[order], buckets[order]
        run = cls(data.combine_chunks().take(order))
        for start, end in stretches([codes, buckets]):
            run.parts[texts[int(codes[start])], int(buckets[start])] = start, end
        return run

    def part(self, place: Place) -> pa.RecordBatch:
        """The rows of one place, as one batch."""
        start, end = self.parts[place]
        [batch] = self.rows.slice(start, end - start).combine_chunks().to_batches()
        return batch


class _Runs:
    """Sorted runs in files of a temporary directory, which is made for the first of them."""

    def __init__(self, table: Table, temporary: ExitStack) -> None:
        self._table, self._temporary = table, temporary
        self._directory: str | None = None
        self._files: list[tuple[pa.ipc.RecordBatchFileReader, dict[Place, int]]] = []

    def spill(self, batches: list[pa.RecordBatch]) -> None:
        """Write a run: a batch for each place."""
        run = _Run.of(batches, self._table)
        try:
            if self._directory is None:
                made = tempfile.TemporaryDirectory(prefix="acidsql-insert-")
                self._directory = self._temporary.enter_context(made)
            path = f"{self._directory}/{len(self._files)}.arrow"
            with pa.ipc.new_file(path, run.rows.schema) as file:
                for place in run.parts:
                    file.write_batch(run.part(place))
            source = self._temporary.enter_context(pa.memory_map(path))
        except OSError as error:
            raise StorageError(
                "the rows to insert cannot be sorted in a temporary directory",
                detail=str(error),
                hint="The environment variable TMPDIR names another place for it.",
            ) from error
        numbers = {place: number for number, place in enumerate(run.parts)}
        self._files.append((pa.ipc.open_file(source), numbers))

    def places(self) -> Iterator[Place]:
        """The places of all runs; one may come several times."""
        for _, numbers in self._files:
            yield from numbers

    def parts(self, place: Place) -> Iterator[pa.RecordBatch]:
        """The rows of a place, run by run."""
        for reader, numbers in self._files:
            if place in numbers:
                yield reader.get_batch(numbers[place])

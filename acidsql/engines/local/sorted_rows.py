"""Rows in another order, with bounded memory: sorted runs on disk, and the merge of sorted streams.

A batch has the columns of its rows and further ones, the sort keys. Keys of different batches are
comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.layout.arrow import Array
from acidsql.model.sort_order import SortColumn
from acidsql.orc.exact import is_exact, parts_of

Keys = Sequence[tuple[str, str]]
"""Names of columns, with "ascending" or "descending" for each."""

RUN_BYTES = 64 << 20
"""The size of the rows that are sorted in memory at a time."""
STEP_ROWS = 16_384
"""The rows of each stream that a merge holds."""
_STREAM, _LAST, _PLACE = "__acidsql_stream", "__acidsql_last", "__acidsql_place"


def sort_keys(rows: pa.StructArray, order: Sequence[SortColumn]) -> tuple[list[Array], Keys]:
    """Columns that sort the rows as ORDER BY does, and the direction of each.

    Every column of the order gives a rank before its values: nulls are least or greatest, as it
    says. NaN is greater than all numbers (Hive, Double.compare).
    """
    arrays: list[Array] = []
    keys: list[tuple[str, str]] = []
    for number, column in enumerate(order):
        values: Array = rows.field(column.column)
        direction = "descending" if column.descending else "ascending"
        parts = [pa.array(p) for p in parts_of(values)] if is_exact(values.type) else [values]
        arrays += [_ranks(values, column), *parts]
        directions = ["ascending", *(direction for _ in parts)]
        keys += [(f"__acidsql_key_{number}_{n}", way) for n, way in enumerate(directions)]
    return arrays, keys


def _ranks(values: Array, column: SortColumn) -> Array:
    ranks = np.zeros(len(values), np.int8)
    if pa.types.is_floating(values.type):
        is_nan = np.isnan(np.asarray(values.fill_null(0.0)))
        ranks[is_nan] = -1 if column.descending else 1
    ranks[np.asarray(values.is_null())] = -2 if column.nulls_first else 2
    return pa.array(ranks)


def sorted_stream(
    batches: Iterator[pa.RecordBatch], keys: Keys, directory: Path
) -> Iterator[pa.RecordBatch]:
    """The rows of all batches, sorted; rows with equal keys stay in their order.

    Runs of `RUN_BYTES` are sorted in memory and written below ``directory``, then merged.
    """
    runs: list[Path] = []
    held: list[pa.RecordBatch] = []
    size = place = 0
    for batch in batches:
        places = pa.array(np.arange(place, place + batch.num_rows))
        place += batch.num_rows
        held.append(batch.append_column(_PLACE, places))
        size += batch.nbytes
        if size >= RUN_BYTES:
            runs.append(_write_run(_sorted(held, keys), directory / f"run_{len(runs)}"))
            held, size = [], 0
    keys = [*keys, (_PLACE, "ascending")]
    streams = [_read_run(run) for run in runs]
    if held:
        streams.append(iter(_sorted(held, keys).to_batches()))
    for batch in merged(streams, keys):
        yield batch.drop_columns([_PLACE])


def merged(streams: Sequence[Iterator[pa.RecordBatch]], keys: Keys) -> Iterator[pa.RecordBatch]:
    """The rows of several sorted streams as one. No two rows have equal keys.

    Of each stream at most `STEP_ROWS` rows are sorted among those of the others.
    """
    if len(streams) == 1:
        yield from (batch for batch in streams[0] if batch.num_rows)
        return
    sources = [_steps(stream, number) for number, stream in enumerate(streams)]
    waiting = [step for source in sources if (step := next(source, None)) is not None]
    while waiting:
        together = _sorted(waiting, keys)
        # Up to here no stream can bring a row any more: what follows it in its stream is greater.
        last = pc.index(together.column(_LAST), True).as_py()
        number = together.column(_STREAM)[last].as_py()
        yield from together.slice(0, last + 1).drop_columns([_STREAM, _LAST]).to_batches()
        rest = together.slice(last + 1)
        more = next(sources[number], None)
        waiting = [*rest.to_batches(), *([] if more is None else [more])]


def _steps(stream: Iterator[pa.RecordBatch], number: int) -> Iterator[pa.RecordBatch]:
    """A stream in pieces, each with the stream's number and a mark at its last row."""
    for batch in stream:
        for at in range(0, batch.num_rows, STEP_ROWS):
            piece = batch.slice(at, STEP_ROWS)
            marks = np.arange(piece.num_rows) == piece.num_rows - 1
            numbers = pa.array(np.full(piece.num_rows, number, np.int32))
            yield piece.append_column(_STREAM, numbers).append_column(_LAST, pa.array(marks))


def _sorted(batches: Sequence[pa.RecordBatch], keys: Keys) -> pa.Table:
    table = pa.Table.from_batches(batches)
    names: Any = list(keys)
    return table.take(pc.sort_indices(table, sort_keys=names))


def _write_run(table: pa.Table, path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=STEP_ROWS)
    return path


def _read_run(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path), "rb") as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)

"""Rows with timestamps finer than microseconds, which an update must not write again.

Hive writes nanoseconds, and Spark cuts them to microseconds when it reads. So an update that keeps
such a timestamp would change it. These rows are found by reading the files here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from acidsql.engines.selection import SelectedFile, Selection, source_of
from acidsql.layout.arrow import Array
from acidsql.model.table import Column
from acidsql.orc.evolution import matched
from acidsql.orc.exact import is_exact, is_finer_than_micros
from acidsql.orc.keys import DeletedRows, Flags, RowIds
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import ROW
from acidsql.orc.types import file_columns
from acidsql.ports.storage import Storage
from acidsql.process.threads import in_threads

_THREADS = 8

FineRows = Mapping[int, DeletedRows]
"""Row ids to be looked up, by the index of their partition in the selection."""


def fine_rows(
    selection: Selection,
    storage: Storage,
    columns: Sequence[Column],
    kept: frozenset[str],
    partitions: Collection[int],
) -> FineRows:
    """The rows with nanoseconds in a ``kept`` column, in the insert files of some partitions.

    ``columns`` are those of the table.

    Of a file that cannot have any only the footer is read. All files that acidsql writes for
    statements are such files.
    """
    if not kept:
        return {}
    files = [f for f in selection.inserts if f.partition in partitions]
    found = in_threads(lambda f: _fine_rows_of(f, storage, columns, kept), files, _THREADS)
    result: dict[int, list[RowIds]] = {}
    for file, row_ids in zip(files, found, strict=True):
        if row_ids is not None:
            result.setdefault(file.partition, []).append(row_ids)
    return {partition: DeletedRows(RowIds.together(parts)) for partition, parts in result.items()}


def _fine_rows_of(
    file: SelectedFile, storage: Storage, columns: Sequence[Column], kept: frozenset[str]
) -> RowIds | None:
    with open_orc(source_of(file.path, storage), file.path, file.length, exact=True) as opened:
        found = file_columns(opened.tail, file.path)
        names = _names_in_file([c.name for c in found], columns, kept)
        if not opened.file.has_nanoseconds(names):
            return None
        parts = []
        number = 0
        for events in opened.stripes():
            rows: Array = events.column(ROW) if opened.tail.is_acid else events.to_struct_array()
            named = {f.name.lower(): v for f, v in zip(rows.type, rows.flatten(), strict=True)}
            fine = np.zeros(len(rows), np.bool_)
            for name in names:
                fine |= _is_fine(named[name])
            if opened.tail.is_acid:
                row_ids = RowIds.of(events)
            else:
                assert file.first is not None
                first = replace(file.first, row_number=file.first.row_number + number)
                row_ids = RowIds.consecutive(first, len(rows))
            parts.append(row_ids.where(fine))
            number += len(rows)
    return RowIds.together(parts)


def _names_in_file(
    found: Sequence[str], columns: Sequence[Column], kept: frozenset[str]
) -> frozenset[str]:
    """The names, in lower case, of the file's columns that may hold a kept one.

    A file may match the table by position or by name: a column that has the name of another one may
    be either.
    """
    names = set()
    for by_position in (True, False):
        places = matched(found, columns, by_position=by_position)
        pairs = zip(columns, places, strict=True)
        names |= {found[at].lower() for c, at in pairs if at is not None and c.name in kept}
    return frozenset(names)


def _is_fine(array: Array) -> Flags:
    """Whether each value is, or has inside, a timestamp with nanoseconds."""
    none: Flags = np.zeros(len(array), np.bool_)
    if is_exact(array.type):
        return is_finer_than_micros(array)
    if isinstance(array, pa.StructArray):
        for child in array.flatten():
            none |= _is_fine(child)
        return none
    if isinstance(array, pa.MapArray):
        return _inside(array, _is_fine(array.keys) | _is_fine(array.items))
    return _inside(array, _is_fine(array.values)) if isinstance(array, pa.ListArray) else none


def _inside(array: Array, fine: Flags) -> Flags:
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(fine)])
    offsets = np.asarray(array.offsets)
    result: Flags = before[offsets[1:]] > before[offsets[:-1]]
    return result

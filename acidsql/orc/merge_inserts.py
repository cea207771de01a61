"""The insert files of one bucket, merged into one.

A stripe that loses no row is copied byte for byte. Small stripes that follow each other, and
stripes that lose rows, are rewritten: their rows are decoded and written again. Which stripe is
which is decided by the key columns alone, which cost a hundredth of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa

from acidsql.errors import CorruptFileError
from acidsql.model.row_id import RowId
from acidsql.orc.damage import open_local
from acidsql.orc.footer import KEY_INDEX, NANOSECONDS, FileTail, read_tail
from acidsql.orc.keys import RowIds, longs, row_id_text
from acidsql.orc.merge_rows import (
    Kept,
    MergeInput,
    MergeOutput,
    first_of_stripe,
    is_plain,
    kept_events,
    open_input,
    require_bucket,
)
from acidsql.orc.reader import OrcInput, opened_source
from acidsql.orc.schema import CURRENT_TRANSACTION, KEY_COLUMNS
from acidsql.orc.stripe_copy import Form, StripeCopy
from acidsql.orc.types import file_columns
from acidsql.orc.writer import EventWriter, WrittenFile, acid_metadata

_RUN_BYTES = 64 << 20
"""How long the stripes may be together that are rewritten in one run."""
_STRIPE_BYTES = 80 << 20
"""At which length a rewritten stripe ends. A run fits in, so that no small rest is left of it."""


def merge_inserts(inputs: Sequence[MergeInput], kept: Kept, output: MergeOutput) -> WrittenFile:
    """Write one file of all events that are kept. Row ids and current write ids stay.

    Inputs are expected to be sorted and not to overlap in row id. Where they do not keep to this,
    all events are sorted in memory; of events with one row id the newest write id's stays.
    CorruptFileError for a file of another bucket's rows: their deletes would be missed.
    """
    model = _model(output)
    form = Form.of(model)
    found = [stripe for each in inputs for stripe in _survey(each, kept, output, form)]
    stripes = _in_order(found)
    if stripes is None:
        return write_events(_sorted(list(_rows(found, kept, output))), output, output.path)
    runs = list(_runs(stripes, output.small_bytes))
    if any(run.is_copied for run in runs) or len(runs) > 1:
        return _write_runs(runs, kept, output, model)
    return _rewrite(stripes, kept, output, output.path)


def write_events(
    batches: Iterable[pa.RecordBatch],
    output: MergeOutput,
    path: str,
    stripe_bytes: int | None = None,
) -> WrittenFile:
    """Write sorted events to a file at a local path."""
    columns, compression = output.columns, output.compression
    with EventWriter(path, columns, compression, stripe_bytes=stripe_bytes) as writer:
        for batch in batches:
            writer.write_events(batch)
    return writer.close()


@dataclass(frozen=True, slots=True)
class _Stripe:
    """A stripe of an input of which something is kept: where it stands, and its length in bytes.

    ``first`` and ``last`` are the row ids of the first and the last row that is kept, ``rows`` is
    how many there are. A stripe ``may_be_copied`` if it is of the output's form and loses no row.
    """

    input: MergeInput
    number: int
    length: int
    first: RowId
    last: RowId
    rows: int
    is_sorted: bool
    may_be_copied: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """Stripes that follow each other in the output. Either all are copied or all are rewritten."""

    stripes: Sequence[_Stripe]
    is_copied: bool


def _survey(each: MergeInput, kept: Kept, output: MergeOutput, form: Form | None) -> list[_Stripe]:
    """The stripes of an input of which something is kept."""
    with open_input(each, output, exact=False) as opened:
        same_form = form is not None and form == Form.of(opened.tail)
        may_copy = same_form and _has_current_values(each, opened.tail, output)
        filled = [at for at, stripe in enumerate(opened.tail.stripes) if stripe.rows]
        looks = (_look(at, each, opened, kept, output, may_copy=may_copy) for at in filled)
        return [stripe for stripe in looks if stripe is not None]


def _has_current_values(each: MergeInput, tail: FileTail, output: MergeOutput) -> bool:
    """Whether no value has to be converted to the type that its column has now.

    A file has char and varchar columns as string. Values that are too long for the column are cut
    if the table had other columns before.
    """
    if output.unchanged:
        return True
    return [c.type for c in file_columns(tail, each.path)] == [c.type for c in output.columns]


def _look(
    number: int,
    each: MergeInput,
    opened: OrcInput,
    kept: Kept,
    output: MergeOutput,
    *,
    may_copy: bool,
) -> _Stripe | None:
    stripe = opened.tail.stripes[number]
    if is_plain(each, opened):
        row_ids = RowIds.consecutive(first_of_stripe(each, opened, number), stripe.rows)
        keep = kept.of(row_ids, row_ids.write_ids)
    else:
        events = opened.stripe(number, KEY_COLUMNS)
        row_ids, keep = RowIds.of(events), kept.of_events(events)
        require_bucket(row_ids, output.bucket, each.path, "has rows")
    rows = int(np.count_nonzero(keep))
    if not rows:
        return None
    row_ids = row_ids if rows == len(row_ids) else row_ids.where(keep)
    return _Stripe(
        each,
        number,
        stripe.length,
        row_ids[0],
        row_ids[rows - 1],
        rows,
        bool(row_ids.ascends().all()),
        may_copy and rows == stripe.rows,
    )


def _in_order(stripes: Sequence[_Stripe]) -> list[_Stripe] | None:
    """The stripes by row id; None if the rows of one are not sorted, or those of two overlap."""
    ordered = sorted(stripes, key=lambda stripe: stripe.first)
    overlap = any(after.first <= before.last for before, after in pairwise(ordered))
    return ordered if not overlap and all(s.is_sorted for s in ordered) else None


def _runs(stripes: Sequence[_Stripe], small_bytes: int) -> Iterator[_Run]:
    """The stripes as runs, each to be copied or to be rewritten.

    A small stripe is rewritten if it can be merged with a neighbour. A run that is rewritten ends
    at a length that keeps its stripes as large as others.
    """
    for is_large, group in groupby(
        stripes, key=lambda s: s.may_be_copied and s.length >= small_bytes
    ):
        members = list(group)
        if is_large or (len(members) == 1 and members[0].may_be_copied):
            yield _Run(members, is_copied=True)
            continue
        run: list[_Stripe] = []
        for stripe in members:
            if run and sum(s.length for s in run) + stripe.length > _RUN_BYTES:
                yield _Run(run, is_copied=False)
                run = []
            run.append(stripe)
        yield _Run(run, is_copied=False)


def _rows(stripes: Sequence[_Stripe], kept: Kept, output: MergeOutput) -> Iterator[pa.RecordBatch]:
    """The events of the stripes. A file is opened once for stripes of it that follow each other."""
    for _, group in groupby(stripes, key=lambda stripe: stripe.input):
        members = list(group)
        yield from kept_events(members[0].input, [s.number for s in members], kept, output)


def _rewrite(stripes: Sequence[_Stripe], kept: Kept, output: MergeOutput, path: str) -> WrittenFile:
    """Write the rows of the stripes anew. CorruptFileError if they are not those of the survey."""
    written = write_events(_rows(stripes, kept, output), output, path, _STRIPE_BYTES)
    rows = sum(stripe.rows for stripe in stripes)
    if written.rows != rows:
        os.remove(path)
        raise CorruptFileError(
            f'file "{stripes[0].input.path}" changes while it is read',
            detail=f"With the files merged with it, it had {rows} rows, and then {written.rows}.",
        )
    return written


def _write_runs(
    runs: Sequence[_Run], kept: Kept, output: MergeOutput, model: FileTail
) -> WrittenFile:
    keys: list[str] = []
    has_nanoseconds = False
    with StripeCopy(output.path, model) as copy:
        for run in runs:
            if run.is_copied:
                keys += [row_id_text(stripe.last) for stripe in run.stripes]
                has_nanoseconds |= _copy_stripes(run.stripes, copy)
                continue
            with _draft(output) as draft:
                _rewrite(run.stripes, kept, output, draft)
                tail = read_tail(draft)
                keys.append(tail.metadata[KEY_INDEX])
                has_nanoseconds |= NANOSECONDS in tail.metadata
                _copy_file(draft, copy)
        rows = sum(stripe.rows for run in runs for stripe in run.stripes)
        metadata = acid_metadata("".join(keys), rows, 0, has_nanoseconds=has_nanoseconds)
        size = copy.finish(metadata)
    return WrittenFile(output.path, rows, 0, copy.stripes, size)


def _copy_stripes(stripes: Sequence[_Stripe], copy: StripeCopy) -> bool:
    """Copy the stripes. Whether one of their files has nanoseconds."""
    has_nanoseconds = False
    for _, group in groupby(stripes, key=lambda stripe: stripe.input):
        members = list(group)
        each = members[0].input
        with opened_source(each.source, each.path) as source:
            tail = read_tail(source, each.path, each.length)
            copy.add(source, tail, [s.number for s in members], each.path)
            has_nanoseconds |= NANOSECONDS in tail.metadata
    return has_nanoseconds


def _copy_file(path: str, copy: StripeCopy) -> None:
    with open_local(path, path) as source:
        tail = read_tail(source, path)
        copy.add(source, tail, range(len(tail.stripes)), path)


@contextmanager
def _draft(output: MergeOutput) -> Iterator[str]:
    """The path of a file beside the output that is gone in the end."""
    path = f"{output.path}.draft"
    try:
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.remove(path)


def _model(output: MergeOutput) -> FileTail:
    """The tail of a file of the output's form."""
    with _draft(output) as path:
        write_events((), output, path)
        return read_tail(path)


def _sorted(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All events as one sorted batch. Of events with one row id the newest write id's stays."""
    if not batches:
        return
    events = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    newest_first = -longs(events.column(CURRENT_TRANSACTION))
    newest = RowIds.of(events).first_of_each(newest_first)
    yield events.take(pa.array(newest, pa.int64()))

"""One ACID file of the rows of several files: their stripes are copied, with event columns added.

So rows need not come to one place before they are encoded: what is brought together is compressed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from io import BytesIO
from typing import BinaryIO

from acidsql.errors import CorruptFileError, StorageError
from acidsql.model.row_id import RowId
from acidsql.orc.adopted import Adopted, FirstColumns, corrections
from acidsql.orc.event_columns import EventColumns
from acidsql.orc.footer import NANOSECONDS, FileTail, read_tail
from acidsql.orc.keys import KeyTrack, key_index
from acidsql.orc.reader import Source, opened_source
from acidsql.orc.rewrite import Change, rewrite
from acidsql.orc.stripe_copy import Form
from acidsql.orc.writer import WrittenFile, acid_metadata


def join_rows(
    parts: Sequence[tuple[Source, str]],
    path: str,
    first: RowId,
    model: bytes | None = None,
    others: int = 0,
) -> WrittenFile:
    """Write an ACID file to a local path: the rows of all parts are inserts, from ``first`` on.

    A part is a file of plain rows and the path that names it in errors. All parts are of one table.
    If another writer than acidsql has written them, ``model`` is a file of no rows to whose form
    the new file is brought (`adopted.model_file`). The parts have ``others`` columns behind those
    of the model, which are left out.

    StorageError if the disk refuses. CorruptFileError if a part is not whole, or if the parts
    disagree on columns or codec. No file stays after an error.
    """
    with ExitStack() as opened:
        sources = [opened.enter_context(opened_source(source, name)) for source, name in parts]
        tails = [read_tail(source, name) for source, (_, name) in zip(sources, parts, strict=True)]
        names = [name for _, name in parts]
        _require_one_form(tails, names)
        files = list(zip(sources, tails, strict=True))
        changes: list[Change] = []
        if model is not None:
            form = read_tail(BytesIO(model), "the model of a file")
            found = corrections(tails[0], form, names[0], others)
            changes += [FirstColumns(len(form.types)), Adopted(found)]
            files.insert(0, (BytesIO(model), form))
        try:
            return _write(files, changes, path, first)
        except OSError as error:
            fact = f'file "{path}" cannot be written'
            raise StorageError(fact, detail=str(error)) from error
        except ValueError as error:  # of the stripes: tails and disk have errors of their own
            fact = f'a part of file "{path}" is damaged'
            named = ", ".join(name for _, name in parts)
            raise CorruptFileError(fact, detail=f"{error}. The parts are {named}.") from error


def _write(
    parts: Sequence[tuple[BinaryIO, FileTail]], changes: Sequence[Change], path: str, first: RowId
) -> WrittenFile:
    stripes = [stripe.rows for _, tail in parts for stripe in tail.stripes]
    rows = sum(stripes)
    track = KeyTrack()
    track.add_stretch(first, rows)
    fine = any(NANOSECONDS in tail.metadata for _, tail in parts)
    metadata = acid_metadata(key_index(track, stripes), rows, 0, has_nanoseconds=fine)
    try:
        with open(path, "wb") as target:
            rewrite(parts, target, [*changes, EventColumns(track)], metadata)
        return WrittenFile(path, rows, 0, len(stripes), os.path.getsize(path))
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(path)
        raise


def _require_one_form(tails: Sequence[FileTail], names: Sequence[str]) -> None:
    forms = [Form.of(tail) for tail in tails]
    for form, name in zip(forms, names, strict=True):
        if form is None or form != forms[0]:
            raise CorruptFileError(
                f'file "{name}" cannot be joined with others',
                detail="Its columns or codec are others.",
            )

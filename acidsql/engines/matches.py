"""The matches of a join: which match of a target row acts, and which rows have too many.

A match is a pair of a target row and a source row for which the ON condition is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from acidsql.engines.changes import LEG, PARTITION, ChangeLeg
from acidsql.engines.rows import CHANGED_ROW_ID, begins_stretch
from acidsql.errors import CardinalityError
from acidsql.model.names import TableName

SOURCE_ROW = "__acidsql_source"
"""The column with the number of a match's source row, where `Matches.hits` is asked for.

It is null in a row of the target without a match, which a MERGE may change, too.
"""

KEY = "__acidsql_key"
"""The beginning of the name of a column with the values of a key, for an error's text.

The key's index follows: ``__acidsql_key0``.
"""

SAMPLES = 5
"""How many target rows an error describes."""

_ROW_ID_FIELDS = ("writeid", "bucketid", "rowid")


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Target rows that several source rows would change, at least one of them by an update.

    ``count`` is the number of such target rows, and ``samples`` describe some of them.
    """

    count: int = 0
    samples: tuple[str, ...] = ()

    def __add__(self, other: Ambiguous) -> Ambiguous:
        return Ambiguous(self.count + other.count, (self.samples + other.samples)[:SAMPLES])

    def error(self, statement: str, table: TableName, hint: str) -> CardinalityError:
        """The error for these rows of the target, in Hive's words for a MERGE."""
        what = (
            "several source rows would change one row of {}, at least one of them by UPDATE"
            if statement == "MERGE"
            else "several source rows match one row of {}"
        )
        return CardinalityError(
            f"Cardinality Violation in {statement.capitalize()} statement: {what.format(table)}",
            detail=f"Number of such rows: {self.count}. For example {'; '.join(self.samples)}.",
            hint=hint,
        )


@dataclass(slots=True)
class _Row:
    """The last target row of a batch. The next batch may have further matches of it."""

    id: tuple[int, ...]
    text: str
    matches: int
    updated: bool


class Matches:
    """Reads matches in `writing_order`, batch by batch, and passes each target row on once.

    A match on which no leg acts does not count. If several matches of a row all delete it, the
    first one is passed on. If one of several matches updates the row, the row is ambiguous. The
    first match of an ambiguous row is passed on, too, because the others may be in a later batch.
    So a caller that finds rows in `ambiguous` must drop what it has written.

    ``keys`` are the names of the columns whose values the `KEY` columns hold.
    """

    def __init__(self, legs: Sequence[ChangeLeg], keys: Sequence[str] = ()) -> None:
        self._updates = [index for index, leg in enumerate(legs) if leg.is_update]
        self._keys = keys
        self._hits: list[np.ndarray] = []
        self._last: _Row | None = None
        self._ambiguous = Ambiguous()

    def acting(self, rows: pa.Table) -> pa.Table:
        """The rows of the batch that a leg acts on, without further matches of the same row."""
        if SOURCE_ROW in rows.column_names:
            self._hits.append(np.unique(rows.column(SOURCE_ROW).drop_null().to_numpy()))
        legs = rows.column(LEG).to_numpy()
        acts = legs >= 0
        if not acts.all():
            rows, legs = rows.filter(pa.array(acts)), legs[acts]
        if not rows.num_rows:
            return rows
        is_first = self._first_matches(rows)
        self._note(rows, is_first, np.isin(legs, self._updates))
        return rows if is_first.all() else rows.filter(pa.array(is_first))

    def hits(self) -> np.ndarray:
        """The numbers of all source rows that match a target row, each once, in ascending order."""
        return np.unique(np.concatenate(self._hits)) if self._hits else np.zeros(0, np.int64)

    def ambiguous(self) -> Ambiguous:
        """The ambiguous rows of all batches. Complete once the last batch has come."""
        return self._ambiguous + _judged(self._last)

    def _first_matches(self, rows: pa.Table) -> np.ndarray:
        keys = [rows.column(name).to_numpy() for name in (PARTITION, *CHANGED_ROW_ID)]
        first = begins_stretch(keys)
        first[0] = self._last is None or self._last.id != tuple(int(key[0]) for key in keys)
        return first

    def _note(self, rows: pa.Table, is_first: np.ndarray, updates: np.ndarray) -> None:
        """Count the ambiguous rows among those without further matches; remember the last row."""
        starts = np.flatnonzero(is_first)
        # So many matches at the beginning of the batch are of the last row of the batch before.
        before = int(starts[0]) if len(starts) else rows.num_rows
        if before:
            assert self._last is not None
            self._last.matches += before
            self._last.updated |= bool(updates[:before].any())
        if not len(starts):
            return
        self._ambiguous += _judged(self._last)
        counts = np.diff(np.append(starts, rows.num_rows))
        updated = np.logical_or.reduceat(updates, starts)
        found = np.flatnonzero((counts[:-1] > 1) & updated[:-1])
        samples = tuple(_described(self._text(rows, starts[i]), counts[i]) for i in found[:SAMPLES])
        self._ambiguous += Ambiguous(len(found), samples)
        at = int(starts[-1])
        names = (PARTITION, *CHANGED_ROW_ID)
        row_id = tuple(int(rows.column(name)[at].as_py()) for name in names)
        self._last = _Row(row_id, self._text(rows, at), int(counts[-1]), bool(updated[-1]))

    def _text(self, rows: pa.Table, at: int) -> str:
        names = {key: f"{KEY}{index}" for index, key in enumerate(self._keys)}
        if not names:
            names = dict(zip(_ROW_ID_FIELDS, CHANGED_ROW_ID, strict=True))
        values = {key: _shown(rows.column(name)[int(at)]) for key, name in names.items()}
        separator = " = " if self._keys else " "
        return ", ".join(f"{key}{separator}{value}" for key, value in values.items())


def _shown(value: pa.Scalar[Any]) -> object:
    """A value for an error's text, also a date or time beyond Python's years."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.string()).as_py()


def _judged(row: _Row | None) -> Ambiguous:
    if row is None or row.matches == 1 or not row.updated:
        return Ambiguous()
    return Ambiguous(1, (_described(row.text, row.matches),))


def _described(text: str, matches: int) -> str:
    return f"{text} ({matches} source rows)"

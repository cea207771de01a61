"""Sets of row ids as ranges of consecutive row numbers.

An insert file has a few ranges, however many rows it has. So the row ids of a whole bucket fit into
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acidsql.model.row_id import RowId
from acidsql.orc.keys import Flags, Longs, RowIds


@dataclass(frozen=True, slots=True)
class RowIdRanges:
    """Ranges of row ids: each its first row id, and its last row number."""

    firsts: RowIds
    lasts: Longs

    @classmethod
    def of(cls, row_ids: RowIds) -> RowIdRanges:
        """The ranges of row ids in any order; a repeated row id begins a new range.

        >>> ids = RowIds(np.array([1, 1, 1]), np.array([7, 7, 7]), np.array([0, 1, 5]))
        >>> RowIdRanges.of(ids).lasts.tolist()
        [1, 5]
        """
        breaks, edge = row_ids.breaks(), np.ones(min(1, len(row_ids)), np.bool_)
        firsts = row_ids.where(np.concatenate([edge, breaks]))
        return cls(firsts, row_ids.row_numbers[np.concatenate([breaks, edge])])

    @classmethod
    def stretch(cls, first: RowId, count: int) -> RowIdRanges:
        """One range of ``count`` rows whose row numbers rise by one, as in original files."""
        firsts = RowIds.consecutive(first, min(1, count))
        return cls(firsts, firsts.row_numbers + count - 1)

    @classmethod
    def together(cls, parts: Sequence[RowIdRanges]) -> RowIdRanges:
        """The ranges of all parts, sorted."""
        firsts = RowIds.together([p.firsts for p in parts])
        lasts = np.concatenate([np.zeros(0, np.int64), *(p.lasts for p in parts)])
        order = firsts.order()
        return cls(firsts.where(order), lasts[order])

    def repeated(self) -> tuple[int, RowId | None]:
        """How many row ids stand in these sorted ranges more than once, and the least of them."""
        count, least = 0, None
        for _, start, end in self.firsts.groups():
            numbers, lasts = self.firsts.row_numbers[start:end], self.lasts[start:end]
            # A range may overlap one that began many ranges before it.
            reached = np.maximum.accumulate(lasts)
            overlap = np.minimum(lasts[1:], reached[:-1]) - numbers[1:] + 1
            hits = np.flatnonzero(overlap > 0)
            if len(hits):
                count += int(overlap[hits].sum())
                least = self.firsts[start + 1 + int(hits[0])] if least is None else least
        return count, least

    def contains(self, row_ids: RowIds) -> Flags:
        """Whether each row id lies in one of these sorted ranges."""
        found = np.zeros(len(row_ids), np.bool_)
        places = {key: (start, end) for key, start, end in self.firsts.groups()}
        for key, start, end in row_ids.groups():
            if key not in places:
                continue
            low, high = places[key]
            reached = np.maximum.accumulate(self.lasts[low:high])
            wanted = row_ids.row_numbers[start:end]
            at = np.searchsorted(self.firsts.row_numbers[low:high], wanted, side="right") - 1
            found[start:end] = (at >= 0) & (wanted <= reached[at])
        return found

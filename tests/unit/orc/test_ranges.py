"""Ranges of row ids against plain sets of row ids."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import numpy as np
from hypothesis import example, given

from acidsql.model.ids import WriteId
from acidsql.model.row_id import RowId
from acidsql.orc.keys import RowIds
from acidsql.orc.ranges import RowIdRanges

Key = tuple[int, int, int]

keys = st.tuples(st.integers(1, 2), st.integers(7, 8), st.integers(0, 12))
parts = st.lists(st.lists(keys, max_size=12), max_size=4)


def row_ids(of: list[Key]) -> RowIds:
    columns = zip(*of, strict=True) if of else ((), (), ())
    return RowIds(*(np.array(column, np.int64) for column in columns))


def key(row_id: RowId | None) -> Key | None:
    return row_id and (row_id.write_id, row_id.bucket_property, row_id.row_number)


@given(parts)
@example([[(1, 7, 0), (1, 7, 1), (1, 7, 2), (1, 7, 3)], [(1, 7, 1)], [(1, 7, 3)]])
@example([[(1, 7, 2), (1, 7, 2)]])
def test_a_repeated_row_id_is_found(given_parts: list[list[Key]]) -> None:
    together = RowIdRanges.together([RowIdRanges.of(row_ids(sorted(p))) for p in given_parts])
    counts = Counter(k for part in given_parts for k in part)
    repeated = sorted(k for k, count in counts.items() if count > 1)
    count, least = together.repeated()
    assert (count > 0, key(least)) == (bool(repeated), repeated[0] if repeated else None)
    if all(len(set(part)) == len(part) for part in given_parts) and len(given_parts) == 2:
        assert count == len(repeated)


@given(parts, st.lists(keys))
def test_contains_as_a_set_does(given_parts: list[list[Key]], wanted: list[Key]) -> None:
    ranges = RowIdRanges.together([RowIdRanges.of(row_ids(p)) for p in given_parts])
    there = {k for part in given_parts for k in part}
    assert ranges.contains(row_ids(wanted)).tolist() == [k in there for k in wanted]


def test_a_stretch_is_one_range_and_none_of_no_rows() -> None:
    stretch = RowIdRanges.stretch(RowId(WriteId(0), 7, 5), 3)
    assert stretch.contains(row_ids([(0, 7, 4), (0, 7, 5), (0, 7, 7), (0, 7, 8)])).tolist() == [
        False, True, True, False,
    ]  # fmt: skip
    assert len(RowIdRanges.stretch(RowId(WriteId(0), 7, 5), 0).lasts) == 0

"""The keys of a MERGE's source, which the driver knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.engines.matches import KEY, SOURCE_ROW
from acidsql.engines.spark.key_bits import key_words
from acidsql.engines.spark.known_keys import KnownKeys

Row = tuple[Any, ...]

ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-2, 2),
        st.sampled_from([None, "", "a", "b"]),
        st.booleans(),
    ),
    max_size=30,
)
KINDS = [pa.int64(), pa.string(), pa.bool_()]


def columns(rows: list[Row]) -> list[pa.Array[Any]]:
    return [pa.array([r[i] for r in rows], kind) for i, kind in enumerate(KINDS)]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=300))
def test_both_bits_of_each_hash_are_set(hashes: list[int]) -> None:
    """A row is left out of the scan if one of its two bits is not."""
    words = key_words(np.array(hashes, np.int64))
    length = len(words).bit_length() + 5
    assert 1 << length == 64 * len(words)
    for each in hashes:
        for place in ((each % (1 << 64)) >> (64 - length), each % (1 << length)):
            assert int(words[place >> 6]) >> (place & 63) & 1


@given(ROWS, ROWS)
def test_a_match_has_the_same_keys(target: list[Row], source: list[Row]) -> None:
    source = [row for row in dict.fromkeys(source) if None not in row]
    names = [f"{KEY}{index}" for index in range(len(KINDS))]
    numbers = pa.array(range(100, 100 + len(source)), pa.int64())
    keys = KnownKeys([], pa.table([*columns(source), numbers], [*names, SOURCE_ROW]))
    assert keys.are_unique()
    rows = pa.table([*columns(target), pa.array(range(len(target)))], [*names, "place"])
    found = keys.matches(rows)
    expected = [
        (place, 100 + source.index(row)) for place, row in enumerate(target) if row in source
    ]
    pairs = zip(found["place"].to_pylist(), found[SOURCE_ROW].to_pylist(), strict=True)
    assert sorted(pairs) == expected
    assert found.select(names).to_pylist() == [
        rows.select(names).to_pylist()[place] for place in found["place"].to_pylist()
    ]

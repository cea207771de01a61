from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.model.ids import WriteId
from acidsql.model.row_id import RowId
from acidsql.orc.chunks import compressed_chunks, decompress_section, original_chunks
from acidsql.orc.keys import DeletedRows, KeyTrack, RowIds

row_ids = st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 6))
CODECS = {"snappy": "snappy", "lz4": "lz4_raw", "zstd": "zstd"}


def arrays(ids: list[tuple[int, int, int]]) -> RowIds:
    parts = np.array(ids, np.int64).reshape(-1, 3)
    return RowIds(parts[:, 0], parts[:, 1], parts[:, 2])


@given(st.lists(row_ids), st.lists(row_ids))
def test_lookup_is_set_membership(deleted: list[tuple[int, int, int]], asked: list) -> None:  # type: ignore[type-arg]
    found = DeletedRows(arrays(deleted)).find(arrays(asked))
    assert found.tolist() == [row_id in set(deleted) for row_id in asked]


@given(st.lists(row_ids, min_size=1))
def test_ascends_is_tuple_order(ids: list[tuple[int, int, int]]) -> None:
    expected = [one < other for one, other in pairwise(ids)]
    assert arrays(ids).ascends().tolist() == expected
    in_order = arrays(ids).where(arrays(ids).order())
    assert [tuple(vars_of(in_order[at])) for at in range(len(ids))] == sorted(ids)


@given(st.sets(row_ids, min_size=1), st.data())
def test_track_remembers_every_row_id(ids: set[tuple[int, int, int]], data: st.DataObject) -> None:
    ordered = sorted(ids)
    cut = data.draw(st.integers(0, len(ordered)))
    track = KeyTrack()
    track.add(arrays(ordered[:cut]))
    track.add(arrays(ordered[cut:]))
    assert [tuple(vars_of(track.at(row))) for row in range(len(ordered))] == ordered


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(1, 4))), st.data())
def test_stretches_are_all_rows_in_as_few_parts_as_possible(
    writes: list[tuple[bool, int, int]], data: st.DataObject
) -> None:
    """Each write goes on after the last row, or leaves out a row, one by one or as a stretch."""
    track, rows = KeyTrack(), []
    for at_once, hole, count in writes:
        number = rows[-1].row_number + 1 + hole // 5 if rows else 7
        first = RowId(WriteId(1), 2, number)
        if at_once:
            track.add_stretch(first, count)
        else:
            track.add(RowIds.consecutive(first, count))
        rows += [RowId(WriteId(1), 2, number + n) for n in range(count)]
    start = data.draw(st.integers(0, len(rows)))
    end = data.draw(st.integers(start, len(rows)))
    found = list(track.stretches(start, end))
    assert [
        RowId(first.write_id, first.bucket_property, first.row_number + n)
        for first, count in found
        for n in range(count)
    ] == rows[start:end]
    if all(at_once for at_once, _, _ in writes):
        holes = sum(b.row_number != a.row_number + 1 for a, b in pairwise(rows[start:end]))
        assert len(found) == (holes + 1 if end > start else 0)


@settings(max_examples=settings().max_examples)
@given(st.sampled_from(sorted(CODECS)), st.binary(max_size=40), st.integers(1, 40))
def test_sections_come_back(codec: str, unit: bytes, times: int) -> None:
    data = unit * times
    chunk = pa.Codec(CODECS[codec]).compress(data, asbytes=True)
    section = (len(chunk) << 1).to_bytes(3, "little") + chunk
    assert decompress_section(section, codec, 4096) == data
    assert decompress_section(original_chunks(data, codec, 7), codec, 4096) == data
    assert decompress_section(compressed_chunks(data * 40, codec, 4096), codec, 4096) == data * 40


def vars_of(row_id: RowId) -> tuple[int, int, int]:
    return row_id.write_id, row_id.bucket_property, row_id.row_number

"""Files of new versions whose other columns are copied, against files that pyarrow wrote whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acidsql.check.events import Findings, checked_events
from acidsql.errors import CorruptFileError, StorageError
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.orc import set_columns as module
from acidsql.orc.exact import exact, exact_texts
from acidsql.orc.footer import NANOSECONDS, STATS, read_tail
from acidsql.orc.keys import Flags, RowIds, RowPositions
from acidsql.orc.reader import open_orc, read_events
from acidsql.orc.set_columns import NewVersions, can_set_columns, set_columns
from acidsql.orc.stripe_copy import Form
from acidsql.orc.writer import EventWriter, WrittenFile
from tests.property.test_event_columns import EACH_CODEC, FEWER, OF, keys_of, some_rows
from tests.unit.orc.events import columns
from tests.unit.orc.streams import assert_positions

FIRST = RowId(WriteId(9), encode_bucket(BucketId(3), StatementId(2)), 0)
OLD_BUCKET = encode_bucket(BucketId(3), StatementId(0))

stripe = st.tuples(
    st.sampled_from([1, 2, 700, 9_999, 10_000, 12_001]), st.sampled_from(["all", "none", "some"])
)


def write_file(
    path: Path, codec: str, write_id: int, batches: list[pa.RecordBatch], count: int = len(OF)
) -> None:
    """A file of the first columns, with a stripe for each batch."""
    with EventWriter(str(path), OF[:count], codec, stripe_bytes=1) as writer:
        for rows in batches:
            writer.write_inserts(rows, WriteId(write_id), OLD_BUCKET)


def chosen(rows: int, which: str, seed: int) -> Flags:
    if which == "some":
        return np.random.default_rng(seed).random(rows) < 0.5
    return np.full(rows, which == "all")


def without(rows: pa.RecordBatch, count: int) -> pa.RecordBatch:
    """The rows with NULL in all columns but the first ``count``."""
    columns = [
        c if n < count else pa.nulls(rows.num_rows, c.type) for n, c in enumerate(rows.columns)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def values_of(ids: RowIds, new: pa.Table) -> Callable[[RowIds], tuple[Flags, pa.Table]]:
    positions = RowPositions(ids)

    def values(row_ids: RowIds) -> tuple[Flags, pa.Table]:
        at = positions.of(row_ids)
        return at >= 0, new.take(pa.array(at[at >= 0]))

    return values


def written(tmp_path: Path, names: list[Path], codec: str, ids: RowIds, new: pa.Table) -> Path:
    result = tmp_path / "result"
    files = [(str(name), str(name)) for name in names]
    tails = [read_tail(str(name)) for name in names]
    assert can_set_columns([tail for tail in tails if tail.rows], OF, codec)
    done = set_columns(files, NewVersions(str(result), FIRST, OF, codec, values_of(ids, new)))
    assert done == WrittenFile(
        str(result), len(ids), 0, len(read_tail(str(result)).stripes), result.stat().st_size
    )
    assert sorted(tmp_path.glob("result*")) == [result]
    return result


def assert_whole(path: Path, rows: int) -> None:
    """The file holds what it says: its statistics, index and keys are those of its events."""
    found = Findings()
    with open(path, "rb") as source, open_orc(source, str(path), exact=True) as opened:
        events = list(checked_events(opened, source, found))
    assert list(found) == []
    assert sum(len(each.operations) for each in events) == rows
    with open(path, "rb") as source:
        assert_positions(source, read_tail(str(path)), keys_of(FIRST, rows))


@EACH_CODEC
@FEWER
@given(
    files=st.lists(
        st.tuples(st.integers(1, len(OF)), st.lists(stripe, min_size=1, max_size=4)),
        min_size=1,
        max_size=3,
    ),
    small=st.sampled_from([0, 20_000, 1 << 40]),
)
@example(
    files=[
        (len(OF), [(12_001, "all"), (10_000, "some"), (700, "none")]),
        (1, [(9_999, "all"), (700, "some")]),
        (3, [(700, "all")]),
    ],
    small=0,
)
def test_the_file_is_that_of_whole_rows(
    tmp_path: Path, codec: str, files: list[tuple[int, list[tuple[int, str]]]], small: int
) -> None:
    """Some files lack the last columns, which are NULL in their rows, or set."""
    names, kept, ids, seed = [], [], [], 0
    for number, (count, stripes) in enumerate(files):
        batches = []
        for rows, which in stripes:
            seed += 1
            first = RowId(WriteId(number + 1), OLD_BUCKET, sum(b.num_rows for b in batches))
            there = chosen(rows, which, seed)
            batches.append(without(some_rows(rows, seed), count))
            ids.append(RowIds.consecutive(first, rows).where(there))
            kept.append(batches[-1].filter(pa.array(there)))
        names.append(tmp_path / f"old{number}")
        write_file(names[-1], codec, number + 1, batches, count)
    every = RowIds.together(ids)
    old = pa.Table.from_batches(kept)
    fresh = some_rows(len(every), 99)
    new = pa.table({"k": fresh.column("k"), "s": fresh.column("s")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL_BYTES", small)
        result = written(tmp_path, names, codec, every, new)
    expected = tmp_path / "expected"
    rows = old.set_column(0, "k", new.column("k")).set_column(1, "s", new.column("s"))
    with EventWriter(str(expected), OF, codec) as writer:
        for batch in rows.combine_chunks().to_batches():
            writer.write_inserts(batch, FIRST.write_id, FIRST.bucket_property)
    ours, theirs = read_tail(str(result)), read_tail(str(expected))
    assert Form.of(ours) == Form.of(theirs) is not None
    assert ours.metadata[STATS] == theirs.metadata[STATS]
    if len(every):
        assert pa_orc.read_table(str(result)).equals(pa_orc.read_table(str(expected)))
        exact = [read_events(str(path), exact=True) for path in (result, expected)]
        assert exact[0].equals(exact[1])
    assert_whole(result, len(every))


def test_files_of_other_columns_and_codecs(tmp_path: Path) -> None:
    of = columns(k="int", s="string")
    one = pa.record_batch({"k": pa.array([1], pa.int32()), "s": ["x"]})
    with EventWriter(str(tmp_path / "f"), of, "zlib") as writer:
        writer.write_inserts(one, WriteId(1), OLD_BUCKET)
    tail = read_tail(str(tmp_path / "f"))
    assert can_set_columns([tail, tail], of, "zlib")
    assert not can_set_columns([tail], of, "snappy")
    assert can_set_columns([tail], columns(k="int", s="string", x="array<int>"), "zlib")
    others = (
        columns(k="bigint", s="string"),
        columns(s="string", k="int"),
        columns(x="int", k="int", s="string"),
        columns(k="int", S="string"),
        of[:1],
    )
    for other in others:
        assert not can_set_columns([tail], other, "zlib")
    with EventWriter(str(tmp_path / "g"), of, "snappy") as writer:
        writer.write_inserts(one, WriteId(1), OLD_BUCKET)
    assert not can_set_columns([tail, read_tail(str(tmp_path / "g"))], of, "zlib")


@pytest.mark.parametrize("small", [0, 1 << 40], ids=["copied", "written again"])
def test_nanoseconds_are_kept_and_noted(
    tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", small)
    of = columns(k="int", t="timestamp")
    times = exact(np.array([5]), np.array([1]), np.array([False]))
    with EventWriter(str(tmp_path / "old"), of) as writer:
        rows = pa.record_batch({"k": pa.array([1], pa.int32()), "t": times})
        writer.write_inserts(rows, WriteId(1), OLD_BUCKET)
    ids = RowIds.consecutive(RowId(WriteId(1), OLD_BUCKET, 0), 1)
    values = values_of(ids, pa.table({"k": pa.array([7], pa.int32())}))
    path = str(tmp_path / "new")
    set_columns([(str(tmp_path / "old"), "old")], NewVersions(path, FIRST, of, "snappy", values))
    assert read_tail(path).metadata[NANOSECONDS] == "true"
    row = read_events(path, exact=True).column("row").combine_chunks()
    assert row.field("k").to_pylist() == [7]
    assert exact_texts(row.field("t")) == ["1970-01-01 00:00:05.000000001"]


def test_a_damaged_stripe_leaves_no_file(tmp_path: Path) -> None:
    write_file(tmp_path / "old", "none", 1, [some_rows(700, 1), some_rows(700, 2)])
    stripes = read_tail(str(tmp_path / "old")).stripes
    data = bytearray((tmp_path / "old").read_bytes())
    end = stripes[1].offset + stripes[1].length
    data[end - stripes[1].footer_length : end] = b"\xff" * stripes[1].footer_length
    (tmp_path / "old").write_bytes(data)
    ids = RowIds.consecutive(RowId(WriteId(1), OLD_BUCKET, 0), 1400)
    new = pa.table({"k": pa.array(range(1400), pa.int32())})
    with pytest.raises(CorruptFileError, match="old"):
        written(tmp_path, [tmp_path / "old"], "none", ids, new)
    assert list(tmp_path.iterdir()) == [tmp_path / "old"]


def test_a_disk_that_takes_no_file(tmp_path: Path) -> None:
    write_file(tmp_path / "old", "none", 1, [some_rows(2, 1)])
    ids = RowIds.consecutive(RowId(WriteId(1), OLD_BUCKET, 0), 2)
    values = values_of(ids, pa.table({"k": pa.array([1, 2], pa.int32())}))
    new = NewVersions(str(tmp_path / "missing" / "file"), FIRST, OF, "none", values)
    with pytest.raises(StorageError, match="missing/file"):
        set_columns([(str(tmp_path / "old"), "old")], new)

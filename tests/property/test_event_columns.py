"""Files whose event columns we encode, against files that pyarrow alone wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.orc.footer import FOOTER_STATISTICS, FOOTER_TYPE, read_tail
from acidsql.orc.new_tail import stripe_statistics
from acidsql.orc.protobuf import fields
from acidsql.orc.schema import (
    DELETE,
    EVENT_COLUMNS,
    KEY_COLUMNS,
    ROW,
    ROW_ID_COLUMNS,
    event_schema,
)
from acidsql.orc.stripe import DATA, read_stripe_footer
from acidsql.orc.stripe_copy import Form
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import columns
from tests.unit.orc.streams import assert_positions, index_of

OF = columns(k="int", s="string", t="timestamp", l="array<struct<x:int,d:date>>")
FEW = settings(
    max_examples=settings().max_examples // 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CODECS = ["none", "zlib", "snappy", "lz4", "zstd"]
SHORT = ["zlib"]
EACH_CODEC = pytest.mark.parametrize(
    "codec",
    [c if c in SHORT else pytest.param(c, marks=pytest.mark.thorough) for c in CODECS],
)
FEWER = settings(FEW, max_examples=settings().max_examples // 5)


@dataclass(frozen=True)
class Write:
    """Rows of one call: how far write id and bucket are from those before, and how many rows."""

    write_ids: int
    buckets: int
    rows: int


def writes(rows: st.SearchStrategy[int], most: int) -> st.SearchStrategy[list[Write]]:
    steps = st.sampled_from([0, 0, 1, 10**6])
    one = st.builds(Write, steps, st.sampled_from([0, 0, 1]), rows)
    return st.lists(one, min_size=1, max_size=most)


edges = st.sampled_from([0, 1, 2, 3, 9, 10, 11, 511, 512, 513, 9_999, 10_000, 10_001, 25_000])
firsts = st.none() | st.builds(
    RowId,
    st.sampled_from([WriteId(1), WriteId(2**40)]),
    st.just(encode_bucket(BucketId(0), StatementId(0))),
    st.sampled_from([0, 6, 10**6, 2**40]),
)


class Twins:
    """The two files, and the values of their event columns."""

    def __init__(self, directory: Path) -> None:
        self.ours, self.theirs = str(directory / "ours"), str(directory / "theirs")
        self.keys = np.zeros((0, len(KEY_COLUMNS)), np.int64)

    def write(
        self, calls: Sequence[Write], after: RowId | None, codec: str, stripe_bytes: int | None
    ) -> None:
        last = after or RowId(WriteId(1), encode_bucket(BucketId(0), StatementId(0)), -1)
        options = {"after": after, "stripe_bytes": stripe_bytes}
        with (
            EventWriter(self.ours, OF, codec, **options) as ours,
            EventWriter(self.theirs, OF, codec, **options) as theirs,
        ):
            for seed, call in enumerate(calls):
                rows = some_rows(call.rows, seed)
                first = following(last, call)
                ours.write_inserts(rows, first.write_id, first.bucket_property)
                keys = keys_of(first, call.rows)
                theirs.write_events(events(keys, rows))
                self.keys = np.concatenate([self.keys, keys])
                if call.rows:
                    number = first.row_number + call.rows - 1
                    last = RowId(first.write_id, first.bucket_property, number)
            assert ours.last == theirs.last


def following(last: RowId, call: Write) -> RowId:
    write_id = WriteId(last.write_id + call.write_ids)
    bucket = last.bucket_property + (call.buckets << 16)
    goes_on = (write_id, bucket) == (last.write_id, last.bucket_property)
    return RowId(write_id, bucket, last.row_number + 1 if goes_on else 0)


def keys_of(first: RowId, rows: int) -> np.ndarray:
    keys = np.zeros((rows, len(KEY_COLUMNS)), np.int64)
    keys[:, 1] = keys[:, 4] = first.write_id
    keys[:, 2] = first.bucket_property
    keys[:, 3] = np.arange(first.row_number, first.row_number + rows)
    return keys


def events(keys: np.ndarray, rows: pa.RecordBatch) -> pa.RecordBatch:
    struct = pa.StructArray.from_arrays(rows.columns, names=rows.schema.names)
    return pa.RecordBatch.from_arrays([*map(pa.array, keys.T), struct], names=EVENT_COLUMNS)


def some_rows(count: int, seed: int) -> pa.RecordBatch:
    """Rows with nulls, and with timestamps whose nanoseconds pyarrow writes wrongly."""
    random = np.random.default_rng(seed)
    nulls = random.random(count) < 0.2
    ticks = random.integers(-(10**15), 10**15, count)
    numbers = random.integers(-(2**31), 2**31, count)
    structs = pa.StructArray.from_arrays(
        [pa.array(range(count), pa.int32()), pa.array(range(count), pa.int32()).cast(pa.date32())],
        names=["x", "d"],
    )
    offsets = pa.array(range(count + 1), pa.int32())
    return pa.record_batch(
        {
            "k": pa.array(numbers, pa.int32()),
            "s": pa.array(ticks, mask=nulls).cast(pa.string()),
            "t": pa.array(ticks, pa.int64(), mask=nulls).cast(pa.timestamp("us")),
            "l": pa.ListArray.from_arrays(offsets, structs, mask=pa.array(nulls)),
        }
    )


@EACH_CODEC
@FEW
@given(calls=writes(edges, 4), after=firsts)
@example(
    calls=[Write(0, 0, 25_000), Write(0, 0, 10_001), Write(1, 1, 1), Write(0, 0, 2)], after=None
)
def test_a_stripe_of_many_groups(
    tmp_path: Path, codec: str, calls: list[Write], after: RowId | None
) -> None:
    twins = Twins(tmp_path)
    twins.write(calls, after, codec, None)
    assert_twins(twins)


@FEW
@given(calls=writes(st.integers(550, 1024), 5), after=firsts)
def test_many_stripes(tmp_path: Path, calls: list[Write], after: RowId | None) -> None:
    twins = Twins(tmp_path)
    twins.write(calls, after, "none", 1)
    assert len(read_tail(twins.ours).stripes) == len(calls)
    assert_twins(twins)


@pytest.mark.parametrize(
    "codec",
    ["zlib", *(pytest.param(c, marks=pytest.mark.thorough) for c in CODECS if c != "zlib")],
)
def test_streams_of_many_chunks(tmp_path: Path, codec: str) -> None:
    """A stream of an event column that is longer than a block of compression, 64 KiB."""
    path, bucket, rows, writes = str(tmp_path / "f"), 1 << 29, 1500, 3000
    write_ids = [WriteId(n << 30) for n in range(1, writes + 1)]
    with EventWriter(path, columns(k="tinyint"), codec) as writer:
        for write_id in write_ids:
            batch = pa.record_batch({"k": pa.array([1] * rows, pa.int8())})
            writer.write_inserts(batch, write_id, bucket)
    keys = np.concatenate([keys_of(RowId(write_id, bucket, 0), rows) for write_id in write_ids])
    assert_keys(path, keys)
    tail = read_tail(path)
    (stripe,) = tail.stripes
    with open(path, "rb") as source:
        stream = read_stripe_footer(source, tail, stripe).find(DATA, 2)
        assert stream is not None
        assert stream.length > tail.block_size
        assert_positions(source, tail, keys)


@FEW
@given(calls=writes(edges, 4), gaps=st.integers(1, 3), own=st.booleans())
@example(
    calls=[Write(0, 0, 1), Write(0, 0, 25_000), Write(1, 1, 2), Write(0, 0, 3)], gaps=2, own=True
)
def test_deletes(tmp_path: Path, calls: list[Write], gaps: int, own: bool) -> None:
    """Delete events, with one write id of the file's own or with one for each."""
    twins = Twins(tmp_path)
    last = RowId(WriteId(1), encode_bucket(BucketId(0), StatementId(0)), -1)
    with (
        EventWriter(twins.ours, OF, "zlib") as ours,
        EventWriter(twins.theirs, OF, "zlib") as other,
    ):
        for seed, call in enumerate(calls):
            keys = keys_of(following(last, call), call.rows)
            keys[:, 3] *= gaps
            keys[:, 0] = DELETE
            keys[:, 4] = 2**41 if own else np.random.default_rng(seed).integers(1, 9, call.rows)
            ids = pa.record_batch(list(map(pa.array, keys.T[1:4])), names=list(ROW_ID_COLUMNS))
            ours.write_deletes(ids, WriteId(2**41) if own else keys[:, 4].copy())
            other.write_events(deletes(keys))
            twins.keys = np.concatenate([twins.keys, keys])
            if call.rows:
                last = RowId(WriteId(int(keys[-1, 1])), int(keys[-1, 2]), int(keys[-1, 3]) // gaps)
    assert_twins(twins, [1, 2, 3, *([5] if own else [])])


def deletes(keys: np.ndarray) -> pa.RecordBatch:
    none = pa.nulls(len(keys), event_schema(OF).field(ROW).type)
    return pa.RecordBatch.from_arrays([*map(pa.array, keys.T), none], names=EVENT_COLUMNS)


def assert_twins(twins: Twins, encoded: Sequence[int] = range(1, 6)) -> None:
    """The files say the same. We have encoded the runs of the ``encoded`` columns."""
    assert_keys(twins.ours, twins.keys)
    ours, theirs = read_tail(twins.ours), read_tail(twins.theirs)
    assert pa_orc.read_table(twins.ours).equals(pa_orc.read_table(twins.theirs))
    assert [stripe.rows for stripe in ours.stripes] == [stripe.rows for stripe in theirs.stripes]
    assert ours.metadata == theirs.metadata
    assert Form.of(ours) == Form.of(theirs) is not None
    for number in (FOOTER_TYPE, FOOTER_STATISTICS):
        assert messages(ours.footer, number) == messages(theirs.footer, number)
    with open(twins.ours, "rb") as our_file, open(twins.theirs, "rb") as their_file:
        assert stripe_statistics(our_file, ours) == stripe_statistics(their_file, theirs)
        for our_stripe, their_stripe in zip(ours.stripes, theirs.stripes, strict=True):
            one = read_stripe_footer(our_file, ours, our_stripe)
            other = read_stripe_footer(their_file, theirs, their_stripe)
            assert (one.encodings, one.zone) == (other.encodings, other.zone)
            assert [(s.kind, s.column) for s in one.streams] == [
                (s.kind, s.column) for s in other.streams
            ]
            for column in range(len(ours.types)):
                said = [
                    index_of(our_file, ours, one, column),
                    index_of(their_file, theirs, other, column),
                ]
                assert [part for _, part in said[0]] == [part for _, part in said[1]]
                if column not in encoded:
                    assert said[0] == said[1]
        assert_positions(our_file, ours, twins.keys, encoded)


def messages(footer: bytes, number: int) -> list[object]:
    return [value for n, value in fields(footer) if n == number]


def assert_keys(path: str, keys: np.ndarray) -> None:
    """The event columns as pyarrow reads them."""
    table = pa_orc.read_table(path, columns=list(KEY_COLUMNS))
    for column, name in zip(keys.T, KEY_COLUMNS, strict=True):
        assert np.array_equal(table.column(name).to_numpy(), column), name

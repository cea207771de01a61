import datetime as dt
import io
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import CorruptFileError, InvalidValueError
from acidsql.layout.arrow import Array
from acidsql.orc.exact import exact
from acidsql.orc.footer import append_metadata, read_tail
from acidsql.orc.reader import open_orc
from acidsql.orc.statistics import file_statistics
from acidsql.orc.timestamps.stored import decode_nanos, encode_nanos, restored, to_store
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns

CODECS = ["none", "zlib", "snappy", "lz4", "zstd"]
FIRST = -62_135_596_800  # 0001-01-01
LAST = 253_402_300_799
Pair = tuple[int, int] | None

pairs = st.none() | st.tuples(
    st.sampled_from([FIRST, -12_219_292_800, -2_208_988_800, -2, -1, 0, 1, LAST])
    | st.integers(FIRST, LAST),
    st.sampled_from([0, 1, 999_999, 10**6, 123_456_000, 999_999_999]) | st.integers(0, 10**9 - 1),
).filter(lambda pair: pair[0] != -1 or pair[1] < 10**6)


def array(values: list[Pair]) -> Array:
    seconds, nanos = (np.array([v[at] if v else 0 for v in values], np.int64) for at in (0, 1))
    return exact(seconds, nanos, np.array([v is None for v in values], bool))


def values_of(column: Array) -> list[Pair]:
    return [None if v is None else tuple(v.values()) for v in column.to_pylist()]


def rewritten(path: str, kind: str, column: Array, codec: str = "zlib") -> Array:
    """The column after it was written as a column of this type and read as it is."""
    with EventWriter(path, columns(v=kind), codec) as writer:
        writer.write_inserts(pa.record_batch({"v": column}), 1, P0)
    with open_orc(path, exact=True) as opened:
        (batch,) = opened.stripes()
    return batch.column("row").field("v")


@given(st.lists(pairs, max_size=30), st.sampled_from(CODECS))
def test_every_timestamp_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[Pair], codec: str
) -> None:
    path = str(tmp_path_factory.mktemp("t") / "f")
    values = values or [None]
    assert values_of(rewritten(path, "timestamp", array(values), codec)) == values
    # As pyarrow sees it, where it can see it at all.
    if all(v is None or -(2**33) < v[0] < 2**33 for v in values):
        ticks = pa_orc.read_table(path)["row"].combine_chunks().field("v").cast(pa.int64())
        assert ticks.to_pylist() == [None if v is None else v[0] * 10**9 + v[1] for v in values]


@given(st.lists(pairs.filter(bool), min_size=1, max_size=30))
def test_bounds_hold_for_fractions(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[int, int]]
) -> None:
    path = str(tmp_path_factory.mktemp("t") / "f")
    rewritten(path, "timestamp", array(values))
    tail = read_tail(path)
    (column,) = tail.timestamps
    found = file_statistics(tail)[column]
    moments = [seconds * 1000 + nanos / 10**6 for seconds, nanos in values]
    assert min(moments) - 2000 <= found.low <= min(moments)
    assert max(moments) - 1 < found.high <= max(moments) + 2000


@pytest.mark.parametrize("kind", ["timestamp", "timestamp with local time zone"])
def test_microseconds_of_any_year(tmp_path: Path, kind: str) -> None:
    ticks = [FIRST * 10**6 + 1, -1_500_000, -1_000_001, -999_001, 0, None, LAST * 10**6 + 999_999]
    unit = pa.timestamp("us", tz="UTC" if "zone" in kind else None)
    found = rewritten(str(tmp_path / "f"), kind, pa.array(ticks, pa.int64()).cast(unit))
    expected = [None if t is None else (t // 10**6, t % 10**6 * 1000) for t in ticks]
    assert values_of(found) == expected


def test_inside_other_types(tmp_path: Path) -> None:
    odd: list[Pair] = [(-5, 7), None, (LAST, 1), (-5, 500_000_000), (0, 1)]
    inner = pa.StructArray.from_arrays(
        [array(odd), pa.array(range(5))], ["t", "n"], mask=pa.array([False] * 3 + [True, False])
    )
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 3, 3, 5]), inner, mask=pa.array([False, True, False, False])
    )
    found = rewritten(str(tmp_path / "l"), "array<struct<t:timestamp,n:bigint>>", lists)
    assert np.asarray(found.is_null()).tolist() == [False, True, False, False]
    assert np.asarray(found.offsets).tolist() == [0, 2, 2, 2, 4]
    assert values_of(found.values.field("t")) == [odd[0], None, None, odd[4]]
    keys: list[Pair] = [(-9, 9), (0, 0), (1, 1), (2, 2), (3, 3)]
    maps = pa.MapArray.from_arrays([0, 1, 5], array(keys), array(odd))
    found = rewritten(str(tmp_path / "m"), "map<timestamp,timestamp>", maps)
    assert (values_of(found.keys), values_of(found.items)) == (keys, odd)


@pytest.mark.parametrize("codec", CODECS)
def test_many_rows_and_stripes(tmp_path: Path, codec: str) -> None:
    # What needs no change between what does, across row groups and batches.
    rng = np.random.default_rng(7)
    ticks = rng.integers(-(10**15), 10**15, 25_000)
    ticks[9_000:12_000] = np.abs(ticks[9_000:12_000])
    ticks[13_000] = 1
    mask = rng.random(len(ticks)) < 0.2
    mask[20_000:] = True
    column = pa.array(ticks, pa.int64(), mask=mask).cast(pa.timestamp("us"))
    path = str(tmp_path / "f")
    with EventWriter(path, columns(k="int", v="timestamp"), codec) as writer:
        for at in range(0, len(ticks), 3_000):
            rows = {"k": range(at, min(at + 3_000, len(ticks))), "v": column.slice(at, 3_000)}
            writer.write_inserts(pa.record_batch(rows), 1, P0)
    tail = read_tail(path)
    assert tail.metadata["hive.acid.key.index"] == f"1,{P0},{len(ticks) - 1};"
    assert tail.calendar == 2
    rows = pa_orc.read_table(path)["row"].combine_chunks()
    assert rows.field("k").to_pylist() == list(range(len(ticks)))
    assert rows.field("v").cast(pa.timestamp("us")).equals(column)
    assert not (tmp_path / "f.mended").exists()


def test_what_orc_cannot_tell_apart(tmp_path: Path) -> None:
    for nanos in (10**6, 500_000_000, 999_999_999):
        with pytest.raises(InvalidValueError, match="last second before 1970"):
            rewritten(str(tmp_path / "f"), "timestamp", array([(-1, nanos)]))
    assert not (tmp_path / "f").exists()
    assert values_of(rewritten(str(tmp_path / "f"), "timestamp", array([(-1, 999_999)]))) == [
        (-1, 999_999)
    ]


def test_other_zones_and_calendars(tmp_path: Path) -> None:
    stored = pa.array([0, None, 15_724_800, -1_420_070_400])
    nanos = encode_nanos(np.array([0, 5, 0]))
    # What a writer in Berlin meant: wall clock, in summer and in winter.
    found = restored(stored, nanos, "Europe/Berlin", julian=False)
    wall = [np.datetime64(v[0], "s").astype(dt.datetime) if v else None for v in values_of(found)]
    assert wall == [
        dt.datetime(2015, 1, 1),
        None,
        dt.datetime(2015, 7, 2, 1),
        dt.datetime(1970, 1, 1),
    ]
    with pytest.raises(ValueError, match="fewer"):
        restored(stored, nanos[:1], "UTC", julian=False)
    path = str(tmp_path / "f")
    rewritten(path, "timestamp", array([(FIRST - 2 * 86_400, 5), (-12_219_292_800, 6)]))
    append_metadata(path, read_tail(path), {}, calendar=1)
    with open_orc(path, exact=True) as opened:
        (batch,) = opened.stripes()
    column = batch.column("row").field("v")
    assert values_of(column) == [(FIRST, 5), (-12_219_292_800, 6)]


def test_broken_nanoseconds(tmp_path: Path) -> None:
    path = tmp_path / "f"
    rewritten(str(path), "timestamp", array([(-5, 123_456_789)]), "none")
    content = path.read_bytes()
    stream = content.index(encode_nanos(np.array([123_456_789])).astype(">u4").tobytes()) - 2
    path.write_bytes(content[:stream] + b"\x5f" + content[stream + 1 :])
    with pytest.raises(CorruptFileError), open_orc(str(path), exact=True) as opened:
        list(opened.stripes())


def test_negative_nanoseconds_are_refused(tmp_path: Path) -> None:
    """pyarrow writes them. Taken as they stand, they give a moment of another century."""
    path = str(tmp_path / "f")
    ticks = pa.array([0, -4_500_000], pa.int64()).cast(pa.timestamp("us"))
    pa_orc.write_table(pa.table({"t": ticks}), path)
    with (
        open_orc(path, exact=True) as opened,
        pytest.raises(CorruptFileError, match="cannot be read as ORC") as failure,
    ):
        list(opened.stripes())
    assert failure.value.detail == (
        "A timestamp has negative nanoseconds, or more than a second has."
    )


@pytest.mark.parametrize("encoded", [10**9 << 3, 10**8 << 3 | 1, 10 << 3 | 7, 1 << 63 | 7])
def test_more_nanoseconds_than_a_second_has_are_refused(encoded: int) -> None:
    with pytest.raises(ValueError, match="more than a second has"):
        decode_nanos(np.array([encoded], np.uint64))


@given(st.lists(st.integers(0, 10**9 - 1)))
def test_nanos_come_back(nanos: list[int]) -> None:
    assert decode_nanos(encode_nanos(np.array(nanos, np.int64))).tolist() == nanos


def test_ordinary_timestamps_are_left_alone() -> None:
    column = pa.array([0, 1, None, LAST * 10**6], pa.int64()).cast(pa.timestamp("us"))
    assert to_store(column) == (column, None)


class Watched(io.FileIO):
    """A file that remembers which threads have read from it, in their order."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.threads: list[int] = []

    def read(self, size: int | None = -1) -> bytes:
        if self.threads[-1:] != [threading.get_ident()]:
            self.threads.append(threading.get_ident())
        return super().read(size)


def test_nobody_moves_the_source_while_pyarrow_reads_ahead(tmp_path: Path) -> None:
    """Batches are read in a thread of pyarrow; its reads would meet another position."""
    path, rows = str(tmp_path / "f"), 100_000
    moments = array([(at, at * 1000 + 1) for at in range(rows)])
    with EventWriter(path, columns(v="timestamp", w="timestamp"), "none") as writer:
        writer.write_inserts(pa.record_batch({"v": moments, "w": moments}), 1, P0)
    with Watched(path) as source, open_orc(source, path, exact=True) as opened:
        batches = list(opened.batches(0, 10_000))
        here = threading.get_ident()
        ahead = next(at for at, thread in enumerate(source.threads) if thread != here)
        assert here not in source.threads[ahead:]
    assert sum(batch.num_rows for batch in batches) == rows

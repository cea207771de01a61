"""Footers against the rows they are about, in files of many stripes.

With streams uncompressed and stripes as small as ORC's writer makes them, a stripe ends with every
batch of some 600 rows.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import HealthCheck, example, given, settings

from acidsql.model.ids import WriteId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.orc.footer import ACID_VERSION, KEY_INDEX, STATS, read_tail
from acidsql.orc.merge import merge_major
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.schema import arrow_type
from acidsql.orc.statistics import ColumnStatistics, read_statistics
from acidsql.orc.writer import EventWriter

P0 = 1 << 29
FEW = settings(
    max_examples=settings().max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EPOCH = datetime.datetime(1970, 1, 1)

Make = Callable[[random.Random], Any]

VALUES: dict[str, Make] = {
    "boolean": lambda r: r.random() < 0.5,
    "tinyint": lambda r: r.randint(-128, 127),
    "smallint": lambda r: r.randint(-(2**15), 2**15 - 1),
    "int": lambda r: r.randint(-(2**31), 2**31 - 1),
    "bigint": lambda r: r.choice([-(2**63), 2**63 - 1, r.randint(-9, 9)]),
    "float": lambda r: float(r.randint(-99, 99)),
    "double": lambda r: r.uniform(-1e300, 1e300),
    "decimal(9,2)": lambda r: Decimal(r.randint(-(10**9) + 1, 10**9 - 1)).scaleb(-2),
    "decimal(38,10)": lambda r: Decimal(r.randint(-(10**30), 10**30)).scaleb(-10),
    "string": lambda r: "".join(r.choices("aé日😀 ", k=r.randint(0, 9))),
    "varchar(9)": lambda r: "".join(r.choices("xyz", k=r.randint(0, 9))),
    "date": lambda r: datetime.date.fromordinal(r.randint(1, 3652059)),
    "timestamp": lambda r: EPOCH + datetime.timedelta(microseconds=r.randint(0, 2**52)),
    "binary": lambda r: r.randbytes(3),
}
"""How to make a value of each type that has statistics."""

COMPARED = {
    "tinyint": int, "smallint": int, "int": int, "bigint": int, "float": float, "double": float,
    "decimal(9,2)": Decimal, "decimal(38,10)": Decimal,
    "string": str.encode, "varchar(9)": str.encode,
    "date": lambda d: (d - EPOCH.date()).days,
    "timestamp": lambda t: (t - EPOCH) // datetime.timedelta(milliseconds=1),
}  # fmt: skip
"""Types with bounds, and a value as its bound has it."""

SUMMED = {
    "tinyint": int, "smallint": int, "int": int, "bigint": int,
    "decimal(9,2)": Fraction, "decimal(38,10)": Fraction,
    "string": lambda s: len(s.encode()), "varchar(9)": len, "binary": len,
}  # fmt: skip
"""Types with a sum, and what is summed."""

stripes = st.lists(st.integers(550, 1024), min_size=1, max_size=5)
nulls = st.sampled_from([0.0, 0.0, 0.3, 1.0])


def columns(kinds: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(f"c{at}", parse_type(kind)) for at, kind in enumerate(kinds))


def batch(of: Sequence[Column], values: dict[str, list[Any]]) -> pa.RecordBatch:
    return pa.record_batch({c.name: pa.array(values[c.name], arrow_type(c.type)) for c in of})


def last_rows(sizes: Sequence[int]) -> list[int]:
    return [end - 1 for end in accumulate(sizes)]


@FEW
@given(sizes=stripes, share=st.lists(nulls, min_size=5, max_size=5), seed=st.integers(0, 10**6))
@example(sizes=[600, 600, 600], share=[1.0, 0.0, 1.0, 0.0, 0.0], seed=1)  # stripes of nulls alone
def test_statistics_are_those_of_the_rows(
    tmp_path: Path, sizes: list[int], share: list[float], seed: int
) -> None:
    path, r = tmp_path / "f", random.Random(seed)
    kinds = ["int", *VALUES]  # the first column ends a stripe with every batch
    of = columns(kinds)
    stripes: list[dict[str, list[Any]]] = []
    with EventWriter(str(path), of, "none", stripe_bytes=1) as writer:
        for size, nothing in zip(sizes, share, strict=False):
            values = {
                c.name: [
                    None if c.name != "c0" and r.random() < nothing else VALUES[kind](r)
                    for _ in range(size)
                ]
                for c, kind in zip(of, kinds, strict=True)
            }
            stripes.append(values)
            writer.write_inserts(batch(of, values), WriteId(7), P0)
    tail = read_tail(str(path))
    assert [s.rows for s in tail.stripes] == sizes
    with path.open("rb") as source:
        said = read_statistics(source, tail)
    whole = {c.name: [v for s in stripes for v in s[c.name]] for c in of}
    for found, values, first in zip(
        (*said.stripes, said.file),
        (*stripes, whole),
        (0, *(last + 1 for last in last_rows(sizes)[:-1]), 0),
        strict=True,
    ):
        count = len(values["c0"])
        assert found[0].values == count
        keys = [(0, 0), (7, 7), (P0, P0), (first, first + count - 1), (7, 7)]
        totals = [0, 7 * count, P0 * count, sum(range(first, first + count)), 7 * count]
        assert found[1:6] == tuple(
            ColumnStatistics(count, False, *key, total)
            for key, total in zip(keys, totals, strict=True)
        )
        assert found[6].values == count
        for column, kind, statistics in zip(of, kinds, found[7:], strict=True):
            assert_right(statistics, kind, values[column.name])


def assert_right(statistics: ColumnStatistics, kind: str, values: list[Any]) -> None:
    there = [v for v in values if v is not None]
    assert (statistics.values, statistics.has_null) == (len(there), len(there) < len(values)), kind
    if kind in COMPARED and there:
        bounds = [COMPARED[kind](v) for v in there]
        assert (statistics.low, statistics.high) == (min(bounds), max(bounds)), kind
    if kind in SUMMED and there:
        total = sum(map(SUMMED[kind], there))
        said = statistics.total
        said = Fraction(said) if isinstance(said, Decimal) else said
        # A sum that leaves 64 bits on its way is given up, though it might come back.
        assert said == total or (said is None and kind == "bigint"), kind


@pytest.fixture(params=["none", "zlib", "snappy", "lz4", "zstd"])
def compression(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@FEW
@given(sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=4), seed=st.integers(0, 10**6))
def test_the_key_index_names_the_last_row_of_each_stripe(
    tmp_path: Path, compression: str, sizes: list[int], seed: int
) -> None:
    path, r, of = tmp_path / "f", random.Random(seed), columns(["string"])
    with EventWriter(str(path), of, compression, stripe_bytes=1) as writer:
        for write_id, size in enumerate(sizes, 1):
            texts = [r.randbytes(40).hex() for _ in range(size)]
            writer.write_inserts(batch(of, {"c0": texts}), WriteId(write_id), P0)
    assert_footer(path, f"{sum(sizes)},0,0")


@FEW
@given(count=st.integers(0, 5000), seed=st.integers(0, 10**6))
def test_delete_files_have_the_same_footers(tmp_path: Path, count: int, seed: int) -> None:
    path, r = tmp_path / "f", random.Random(seed)
    numbers = sorted(r.sample(range(10**9), count))
    ids = pa.record_batch(
        {
            "originalTransaction": pa.array([3] * count, pa.int64()),
            "bucket": pa.array([P0] * count, pa.int32()),
            "rowId": pa.array(numbers, pa.int64()),
        }
    )
    with EventWriter(str(path), columns(["int"]), "none", stripe_bytes=1) as writer:
        writer.write_deletes(ids, WriteId(4))
    assert_footer(path, f"0,0,{count}")


def assert_footer(path: Path, stats: str) -> None:
    """The three keys, against the stripes as pyarrow reads them."""
    tail, file = read_tail(str(path)), pa_orc.ORCFile(str(path))
    keys = ""
    for number in range(file.nstripes):
        names = ["originalTransaction", "bucket", "rowId"]
        last = file.read_stripe(number, columns=names).to_pylist()[-1]
        keys += ",".join(str(last[name]) for name in names) + ";"
    assert tail.metadata == {KEY_INDEX: keys, STATS: stats, ACID_VERSION: "2"}
    assert tail.metadata[KEY_INDEX].count(";") == len(tail.stripes)


@FEW
@given(sizes=stripes, data=st.data())
def test_a_compaction_deletes_the_first_and_the_last_row_of_a_stripe(
    tmp_path: Path, sizes: list[int], data: st.DataObject
) -> None:
    source, deletes, target = (str(tmp_path / name) for name in ("inserts", "deletes", "base"))
    of, r = columns(["int"]), random.Random(0)
    with EventWriter(source, of, "none", stripe_bytes=1) as writer:
        for size in sizes:
            values = [r.randint(-(2**31), 2**31 - 1) for _ in range(size)]
            writer.write_inserts(batch(of, {"c0": values}), WriteId(1), P0)
    assert [s.rows for s in read_tail(source).stripes] == sizes
    edges = sorted(edge for pair in stripe_edges(sizes) for edge in pair)
    doomed = sorted(set(data.draw(st.lists(st.sampled_from(edges), min_size=1))))
    ids = pa.record_batch(
        {
            "originalTransaction": pa.array([1] * len(doomed), pa.int64()),
            "bucket": pa.array([P0] * len(doomed), pa.int32()),
            "rowId": pa.array(doomed, pa.int64()),
        }
    )
    with EventWriter(deletes, of, "none") as writer:
        writer.write_deletes(ids, WriteId(2))
    inserted, deleted = MergeInput(source, source), MergeInput(deletes, deletes)
    seen = ValidWriteIdList("t", WriteId(2))
    merge_major([inserted], [deleted], seen, MergeOutput(target, of, "none"))
    found = pa_orc.read_table(target, columns=["rowId"]).column("rowId").to_pylist()
    assert found == sorted(set(range(sum(sizes))) - set(doomed))
    assert_footer(tmp_path / "base", f"{len(found)},0,0")


def stripe_edges(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    for first, last in pairwise([-1, *last_rows(sizes)]):
        yield first + 1, last

"""Damaged files: cut off or with flipped bits. An error or the right rows, never others.

It holds for what this process reads: every delete file up to the size that is broadcast, and every
file that is compacted or checked. A bit that flips in a column of ``row`` may give another value:
ORC has no checksums, and only what contradicts its statistics is noticed, by CHECK TABLE. Tables
whose rows are read have numbers only here: pyarrow (26.0) may crash over a damaged text column.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings

from acidsql.errors import AcidSqlError, CorruptFileError
from acidsql.model.ids import WriteId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.footer import read_tail
from acidsql.orc.merge import merge_major
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.reader import read_events, read_row_ids
from acidsql.orc.writer import EventWriter
from tests.checks import problems
from tests.unit.engines.tables import EVERYTHING, snapshot, table
from tests.unit.orc.events import P0, columns, id_batch

MANY = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CODECS = ("none", "zlib", "snappy")
COLUMNS = columns(k="int", v="bigint")
flips = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=3
)
"""Where in the file, as a share of its length, and which bit."""

Write = Callable[[Path, str], None]


def write_deletes(path: Path, codec: str) -> None:
    numbers = sorted(random.Random(1).sample(range(5000), 200))
    with EventWriter(str(path), COLUMNS, codec) as writer:
        writer.write_deletes(id_batch([(1, P0, n) for n in numbers]), WriteId(9))


def write_inserts(path: Path, codec: str) -> None:
    r = random.Random(2)
    keys = [r.randint(-1000, 1000) for _ in range(200)]
    rows = pa.record_batch({"k": pa.array(keys, pa.int32()), "v": [k * k for k in keys]})
    with EventWriter(str(path), COLUMNS, codec) as writer:
        writer.write_inserts(rows, WriteId(1), P0)


def flipped(content: bytes, where: list[tuple[float, int]]) -> bytes:
    result = bytearray(content)
    for share, bit in where:
        result[int(share * len(content))] ^= 1 << bit
    return bytes(result)


@pytest.fixture(params=[(w, c) for w in (write_deletes, write_inserts) for c in CODECS])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    write, codec = request.param
    write(tmp_path / "f", codec)
    return tmp_path / "f"


def test_a_file_that_is_cut_off_is_an_error(whole: Path) -> None:
    content, damaged = whole.read_bytes(), whole.with_name("damaged")
    for length in range(len(content)):
        damaged.write_bytes(content[:length])
        with pytest.raises(CorruptFileError, match="damaged"):
            read_row_ids(str(damaged))


NO_STRIPE_STATISTICS = (1204.5 / 1217, 3)
"""In the uncompressed file of deletes: the postscript no longer says how long they are."""


NO_SUM = (0.615234375, 6)
"""In the file of deletes with zlib: the stripe's statistics lose the sum of row numbers."""


@MANY
@example(where=[NO_STRIPE_STATISTICS, (0.25, 0)])
@example(where=[NO_SUM, (0.3125, 3)])
@given(where=flips)
def test_flipped_bits_never_make_other_row_ids(whole: Path, where: list[tuple[float, int]]) -> None:
    damaged = whole.with_name("damaged")
    damaged.write_bytes(flipped(whole.read_bytes(), where))
    try:
        found = read_row_ids(str(damaged))
    except AcidSqlError as error:
        assert "damaged" in error.message  # noqa: PT017 - either of two outcomes is right
    else:
        assert found.equals(read_row_ids(str(whole)))


@pytest.mark.parametrize("every_bit", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_no_flipped_bit_of_the_tail_makes_other_row_ids(whole: Path, *, every_bit: bool) -> None:
    """In short, one bit of each byte, in turn."""
    content, damaged = whole.read_bytes(), whole.with_name("damaged")
    expected, start = read_row_ids(str(whole)), read_tail(str(whole)).content_length
    refused = 0
    for at in range(start, len(content)):
        for bit in range(8) if every_bit else (at % 8,):
            damaged.write_bytes(flipped(content, [((at + 0.5) / len(content), bit)]))
            try:
                assert read_row_ids(str(damaged)).equals(expected), (at, bit)
            except CorruptFileError:
                refused += 1
    assert refused > (len(content) - start) * (1 if every_bit else 1 / 8)


@MANY
@given(where=flips)
@example(where=[(0.9917560725609332, 4)])  # the postscript has a field twice, of two kinds
def test_a_compaction_carries_no_wrong_row_id_on(
    tmp_path: Path, where: list[tuple[float, int]]
) -> None:
    inserts, damaged, base = (tmp_path / name for name in ("inserts", "damaged", "base"))
    if not inserts.exists():
        write_inserts(inserts, "none")
    damaged.write_bytes(flipped(inserts.read_bytes(), where))
    base.unlink(missing_ok=True)
    seen, output = ValidWriteIdList("t", WriteId(9)), MergeOutput(str(base), COLUMNS)
    try:
        merge_major([MergeInput(str(damaged), str(damaged))], [], seen, output)
    except AcidSqlError:
        assert not base.exists()
        return
    keys = ["operation", "originalTransaction", "bucket", "rowId", "currentTransaction"]
    assert read_events(str(base)).select(keys).equals(read_events(str(inserts)).select(keys))


@MANY
@given(where=flips)
@example(where=[(0.84765625, 0)])  # the column's name, which need not be the table's
@example(where=[(0.2734375, 1), (0.23914618693128056, 1)])  # one number less by 1, one more
def test_check_table_sees_what_it_can(tmp_path: Path, where: list[tuple[float, int]]) -> None:
    """It always answers. It sees each number that is another one, unless several make up for each
    other in the sum.
    """
    of = table(tmp_path / "t", "k int, v bigint")
    delta = tmp_path / "t" / "delta_0000001_0000001_0000"
    path, whole = delta / "bucket_00000", tmp_path / "whole"
    if not whole.exists():
        delta.mkdir(parents=True)
        (delta / "_orc_acid_version").write_bytes(b"2")
        write_inserts(whole, "none")
    path.write_bytes(flipped(whole.read_bytes(), where))
    found = problems(snapshot(of, 1), EVERYTHING)
    if found:
        assert {p.path for p in found} == {str(path)}
        return
    read, written = keys(path), keys(whole)
    assert len(read) == len(written)
    others = sum(a != b for a, b in zip(read, written, strict=True))
    assert others != 1
    bounds = [(sum(numbers), min(numbers), max(numbers)) for numbers in (read, written)]
    assert bounds[0] == bounds[1]


def keys(path: Path) -> list[int]:
    """The first column: columns match by position, as after a RENAME COLUMN."""
    events = read_events(str(path))
    return events.column("row").combine_chunks().field(0).to_pylist()


def test_a_flipped_bit_in_a_text_is_seen_by_nobody(tmp_path: Path) -> None:
    """What cannot be noticed, so that nobody believes it is: the same length, within the bounds."""
    of = table(tmp_path / "t", "k int, v string")
    delta = tmp_path / "t" / "delta_0000001_0000001_0000"
    delta.mkdir(parents=True)
    (delta / "_orc_acid_version").write_bytes(b"2")
    rows = pa.record_batch({"k": pa.array([1, 2, 3], pa.int32()), "v": ["aaaaa", "mnopq", "zzzzz"]})
    texts = columns(k="int", v="string")
    with EventWriter(str(delta / "bucket_00000"), texts, "none") as writer:
        writer.write_inserts(rows, WriteId(1), P0)
    path = delta / "bucket_00000"
    path.write_bytes(path.read_bytes().replace(b"mnopq", b"mnoPq"))
    assert read_events(str(path)).column("row").to_pylist()[1]["v"] == "mnoPq"
    assert problems(snapshot(of, 1), EVERYTHING) == []

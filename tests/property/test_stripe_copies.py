"""Compactions that copy stripes, against a list of rows in Python and pyarrow's own reader.

Inputs have many stripes, some large enough to be copied and some small enough to be merged. Deletes
and aborted write ids hit some of them.
"""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.orc as pa_orc
from hypothesis import HealthCheck, given, settings

from acidsql.model.ids import WriteId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.footer import KEY_INDEX, STATS, read_tail
from acidsql.orc.merge import merge_major, merge_minor_inserts
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.protobuf import fields
from acidsql.orc.reader import open_orc, read_events
from acidsql.orc.statistics import actual_statistics, contradictions, read_statistics
from acidsql.orc.writer import EventWriter
from tests.property.test_footers import P0, VALUES, batch, columns

KINDS = ["int", *VALUES, "array<timestamp>", "map<int,string>", "struct<a:int,b:array<date>>"]
FEW = settings(
    max_examples=settings().max_examples // 5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
Row = dict[str, Any]


def value(kind: str, r: random.Random) -> Any:
    if r.random() < 0.1:
        return None
    match kind:
        case "array<timestamp>":
            return [VALUES["timestamp"](r) for _ in range(r.randint(0, 3))]
        case "map<int,string>":
            return [(at, VALUES["string"](r)) for at in range(r.randint(0, 3))]
        case "struct<a:int,b:array<date>>":
            return {"a": r.randint(0, 9), "b": [VALUES["date"](r)] * r.randint(0, 2)}
        case "timestamp":
            # Before 1970, too: these have fractions that pyarrow alone would write wrongly.
            return VALUES[kind](r) - datetime.timedelta(days=r.choice([0, 60000]))
    return VALUES[kind](r)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], set[int], list[tuple[int, int]], str, int]:
    """Rows of each stripe of each file, aborted write ids, deletes, compression, seed.

    A file has one write id. Deletes are of a write id and row number.
    """
    size = st.one_of(st.integers(1, 30), st.integers(550, 700))
    files = draw(st.lists(st.lists(size, min_size=1, max_size=4), min_size=1, max_size=4))
    aborted = draw(st.sets(st.integers(1, len(files)), max_size=1))
    doomed: list[tuple[int, int]] = []
    for write_id, stripes in enumerate(files, 1):
        rows = sum(stripes)
        start = draw(st.integers(0, rows - 1))
        count = draw(st.sampled_from([0, 0, 1, 5, 600]))
        doomed += [(write_id, number) for number in range(start, min(rows, start + count))]
    compression = draw(st.sampled_from(["none", "zlib", "snappy"]))
    return files, aborted, doomed, compression, draw(st.integers(0, 10**6))


def write_file(path: str, write_id: int, stripes: list[int], codec: str, seed: int) -> list[Row]:
    """A file whose stripes of more than 512 rows end where a batch does. Its rows, in order."""
    r, of, rows = random.Random(seed), columns(KINDS), []
    with EventWriter(path, of, codec, stripe_bytes=1) as writer:
        for size in stripes:
            values = {
                c.name: [
                    r.randint(-(2**31), 2**31 - 1) if c.name == "c0" else value(kind, r)
                    for _ in range(size)
                ]
                for c, kind in zip(of, KINDS, strict=True)
            }
            writer.write_inserts(batch(of, values), WriteId(write_id), P0)
            rows += [
                dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)
            ]
    return rows


def write_deletes(path: str, doomed: list[tuple[int, int]]) -> None:
    ids = pa.record_batch(
        {
            "originalTransaction": pa.array([w for w, _ in doomed], pa.int64()),
            "bucket": pa.array([P0] * len(doomed), pa.int32()),
            "rowId": pa.array([n for _, n in doomed], pa.int64()),
        }
    )
    with EventWriter(path, columns(KINDS), "none") as writer:
        writer.write_deletes(ids, WriteId(9))


@FEW
@given(table=tables(), small_bytes=st.sampled_from([1, 3000, 1 << 30]), major=st.booleans())
def test_rows_row_ids_and_footers(
    tmp_path: Path,
    table: tuple[list[list[int]], set[int], list[tuple[int, int]], str, int],
    small_bytes: int,
    major: bool,
) -> None:
    files, aborted, doomed, compression, seed = table
    expected: list[tuple[int, int, Row]] = []
    inputs = []
    for write_id, stripes in enumerate(files, 1):
        path = str(tmp_path / f"f{write_id}")
        rows = write_file(path, write_id, stripes, compression, seed + write_id)
        inputs.append(MergeInput(path, path))
        if write_id not in aborted:
            expected += [(write_id, number, row) for number, row in enumerate(rows)]
    deletes = str(tmp_path / "deletes")
    write_deletes(deletes, doomed)
    if major:
        expected = [e for e in expected if e[:2] not in set(doomed)]
    seen = ValidWriteIdList("t", WriteId(9), aborted=frozenset(map(WriteId, aborted)))
    target = str(tmp_path / "out")
    output = MergeOutput(
        target, columns(KINDS), compression, unchanged=True, small_bytes=small_bytes
    )
    merge = merge_major if major else merge_minor_inserts
    random.Random(seed).shuffle(inputs)
    written = merge(inputs, [MergeInput(deletes, deletes)], seen, output)
    if written is None:
        assert not expected
        assert not Path(target).exists()
        return
    assert written.rows == len(expected)
    assert_rows(target, expected)
    assert_whole(target)
    assert not list(tmp_path.glob("*.draft"))


def assert_rows(path: str, expected: list[tuple[int, int, Row]]) -> None:
    """The events by our reader and by pyarrow's alone."""
    for events in (read_events(path), pa_orc.read_table(path)):
        found = events.select(["operation", "originalTransaction", "bucket", "rowId"]).to_pylist()
        assert [tuple(e.values()) for e in found] == [(0, w, P0, n) for w, n, _ in expected]
        assert events.column("currentTransaction").to_pylist() == [w for w, _, _ in expected]
    rows = read_events(path).column("row").combine_chunks().flatten()
    for at, column in enumerate(columns(KINDS)):
        if "timestamp" in str(column.type):
            continue  # compared as EXACT below, in every year
        assert rows[at].to_pylist() == [row[column.name] for _, _, row in expected], column.type
    assert_timestamps(path, expected)


def assert_timestamps(path: str, expected: list[tuple[int, int, Row]]) -> None:
    at = KINDS.index("timestamp")
    exact = read_events(path, exact=True).column("row").combine_chunks().field(at)
    found = [None if v is None else (*v.values(),) for v in exact.to_pylist()]
    epoch = datetime.datetime(1970, 1, 1)
    wanted = []
    for _, _, row in expected:
        moment = row[f"c{at}"]
        micros = None if moment is None else (moment - epoch) // datetime.timedelta(microseconds=1)
        wanted.append(None if micros is None else (micros // 10**6, micros % 10**6 * 1000))
    assert found == wanted


def assert_whole(path: str) -> None:
    """Key index, counts and statistics agree with the rows, stripe by stripe and as a whole."""
    tail = read_tail(path)
    assert tail.metadata[STATS] == f"{tail.rows},0,0"
    keys = ""
    with open(path, "rb") as source, open_orc(path) as opened:
        said = read_statistics(source, tail, path)
        assert len(said.stripes) == len(tail.stripes)
        for number in range(len(tail.stripes)):
            events = opened.stripe(number)
            last = events.select(["originalTransaction", "bucket", "rowId"]).to_pylist()[-1]
            keys += ",".join(map(str, last.values())) + ";"
            actual = actual_statistics(events)
            assert not list(contradictions(said.stripes[number], actual, events.num_rows))
        whole = opened.read().combine_chunks().to_batches()
        for events in whole:
            assert not list(contradictions(said.file, actual_statistics(events), tail.rows))
    assert tail.metadata[KEY_INDEX] == keys


@FEW
@given(table=tables())
def test_the_files_statistics_are_those_that_its_writer_gives(
    tmp_path: Path, table: tuple[list[list[int]], set[int], list[tuple[int, int]], str, int]
) -> None:
    """A file whose stripes are all copied says of itself what pyarrow said of the same rows."""
    files, _, _, compression, seed = table
    path, target = str(tmp_path / "f1"), str(tmp_path / "out")
    write_file(path, 1, files[0], compression, seed)
    output = MergeOutput(target, columns(KINDS), compression, unchanged=True, small_bytes=1)
    merge_minor_inserts([MergeInput(path, path)], [], ValidWriteIdList("t", WriteId(9)), output)
    before, after = read_tail(path), read_tail(target)
    assert message(after.footer) == message(before.footer)
    assert (
        Path(target).read_bytes()[: before.content_length]
        == (Path(path).read_bytes()[: before.content_length])
    )


def message(data: bytes) -> list[tuple[int, Any]]:
    """A protobuf message as its fields, sorted; inner messages of statistics are taken apart."""
    found: list[tuple[int, Any]] = []
    for number, inner in fields(data):
        if number == 7 and isinstance(inner, bytes):
            found.append((number, sorted(statistics(inner).items(), key=repr)))
        elif number != 12:
            found.append((number, inner))
    return sorted(found, key=repr)


def statistics(data: bytes) -> dict[int, Any]:
    result: dict[int, Any] = {}
    for number, inner in fields(data):
        if number == 12:
            # pyarrow gives a stripe of empty lists no bounds, and the file those of the others.
            continue
        result[number] = sorted(fields(inner)) if isinstance(inner, bytes) else inner
        if number == 6:
            texts = {n: Decimal(v.decode()) for n, v in result[number]}
            result[number] = sorted(texts.items())
    return result

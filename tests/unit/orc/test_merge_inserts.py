"""Which stripes a compaction copies and which it rewrites."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import CorruptFileError
from acidsql.model.ids import WriteId
from acidsql.model.table import Column
from acidsql.orc.footer import append_metadata, read_tail
from acidsql.orc.merge import merge_major, merge_minor_inserts
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.reader import read_events
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import AB, P0, columns, delete_file, seen

ROWS = 600
TEXTS = columns(a="int", t="varchar(3)")


def stripes_file(
    path: Path, write_id: int, stripes: int, of: Sequence[Column] = AB, codec: str = "none"
) -> MergeInput:
    """A file of some stripes of ROWS rows each: numbers, or numbers and texts of five letters."""
    with EventWriter(str(path), of, codec, stripe_bytes=1) as writer:
        for at in range(stripes):
            first = pa.array(range(at * ROWS, (at + 1) * ROWS), pa.int32())
            second = first if of[1] == AB[1] else pa.array(["abc"] * ROWS)
            arrays = {of[0].name: first, of[1].name: second}
            writer.write_inserts(pa.record_batch(arrays), WriteId(write_id), P0)
    assert len(read_tail(str(path)).stripes) == stripes
    return MergeInput(str(path), path.name)


def output(tmp_path: Path, of: tuple[Column, ...] = AB, codec: str = "none") -> MergeOutput:
    return MergeOutput(str(tmp_path / "out"), of, codec, unchanged=True, small_bytes=1)


def stripe_bytes(path: str | Path) -> list[bytes]:
    data = Path(path).read_bytes()
    return [data[s.offset : s.offset + s.length] for s in read_tail(str(path)).stripes]


def test_a_stripe_that_loses_a_row_is_rewritten_alone(tmp_path: Path) -> None:
    inputs = [stripes_file(tmp_path / "f1", 1, 3), stripes_file(tmp_path / "f2", 2, 2)]
    deletes = [delete_file(tmp_path / "d", 3, [(1, P0, ROWS)])]
    written = merge_major(inputs, deletes, seen(3), output(tmp_path))
    before = stripe_bytes(tmp_path / "f1") + stripe_bytes(tmp_path / "f2")
    after = stripe_bytes(written.path)
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, False, True, True, True]
    assert (written.rows, written.stripes) == (5 * ROWS - 1, 5)
    assert written.size == Path(written.path).stat().st_size


def test_a_stripe_that_loses_all_rows_is_left_out(tmp_path: Path) -> None:
    inputs = [stripes_file(tmp_path / "f1", 1, 3)]
    gone = [(1, P0, number) for number in range(ROWS, 2 * ROWS)]
    deletes = [delete_file(tmp_path / "d", 3, gone)]
    written = merge_major(inputs, deletes, seen(3), output(tmp_path))
    first, _, last = stripe_bytes(tmp_path / "f1")
    assert stripe_bytes(written.path) == [first, last]


def test_an_aborted_write_is_left_out_and_the_others_are_copied(tmp_path: Path) -> None:
    inputs = [stripes_file(tmp_path / f"f{at}", at, 1) for at in (1, 2, 3)]
    written = merge_minor_inserts(inputs, [], seen(3, {2}), output(tmp_path))
    assert written is not None
    kept = stripe_bytes(tmp_path / "f1") + stripe_bytes(tmp_path / "f3")
    assert stripe_bytes(written.path) == kept


def test_many_small_stripes_become_one(tmp_path: Path) -> None:
    inputs = [stripes_file(tmp_path / f"f{at}", at, 1) for at in range(1, 31)]
    output_of_small = replace(output(tmp_path), small_bytes=1 << 20)
    written = merge_minor_inserts(inputs, [], seen(30), output_of_small)
    assert written is not None
    assert (written.rows, written.stripes) == (30 * ROWS, 1)


def test_a_small_stripe_between_large_ones_is_copied(tmp_path: Path) -> None:
    inputs = [stripes_file(tmp_path / f"f{at}", at, 1) for at in (1, 3)]
    with EventWriter(str(tmp_path / "f2"), AB, "none") as writer:
        one = pa.array([7], pa.int32())
        writer.write_inserts(pa.record_batch({"a": one, "b": one}), WriteId(2), P0)
    inputs.append(MergeInput(str(tmp_path / "f2"), "f2"))
    [small] = stripe_bytes(tmp_path / "f2")
    written = merge_minor_inserts(
        inputs, [], seen(3), replace(output(tmp_path), small_bytes=len(small) + 1)
    )
    assert written is not None
    assert stripe_bytes(written.path)[1] == small


def test_another_compression_is_not_copied(tmp_path: Path) -> None:
    """Hive 3 cannot read zstd: changing the property and compacting must be a way out."""
    inputs = [stripes_file(tmp_path / f"f{at}", at, 1, codec="zstd") for at in (1, 2)]
    written = merge_minor_inserts(inputs, [], seen(2), output(tmp_path, codec="zlib"))
    assert written is not None
    assert read_tail(written.path).compression == "zlib"
    assert written.rows == 2 * ROWS


def test_texts_are_copied_only_if_their_length_never_changed(tmp_path: Path) -> None:
    inputs = [stripes_file(tmp_path / f"f{at}", at, 1, TEXTS) for at in (1, 2)]
    shorter = columns(a="int", t="varchar(2)")
    changed = replace(output(tmp_path, shorter), unchanged=False)
    written = merge_minor_inserts(inputs, [], seen(2), changed)
    assert written is not None
    texts = read_events(written.path).column("row").combine_chunks().field("t")
    assert set(texts.to_pylist()) == {"ab"}
    written = merge_minor_inserts(inputs, [], seen(2), output(tmp_path, TEXTS))
    assert written is not None
    assert stripe_bytes(written.path) == [
        s for i in (1, 2) for s in stripe_bytes(tmp_path / f"f{i}")
    ]


def test_another_calendar_is_not_copied(tmp_path: Path) -> None:
    of = columns(a="int", b="date")
    path = tmp_path / "f"
    with EventWriter(str(path), of, "none", stripe_bytes=1) as writer:
        days = pa.array([-200_000] * ROWS, pa.int32()).cast(pa.date32())
        rows = pa.record_batch({"a": pa.array(range(ROWS), pa.int32()), "b": days})
        writer.write_inserts(rows, WriteId(1), P0)
    julian = 1
    append_metadata(str(path), read_tail(str(path)), {}, julian)
    before = read_events(str(path)).column("row").to_pylist()
    each = MergeInput(str(path), "f")
    written = merge_minor_inserts([each], [], seen(1), output(tmp_path, of))
    assert written is not None
    assert stripe_bytes(written.path) != stripe_bytes(path)
    assert read_events(written.path).column("row").to_pylist() == before


def test_what_a_damaged_stripe_holds_is_not_copied(tmp_path: Path) -> None:
    each = stripes_file(tmp_path / "f", 1, 2)
    last = read_tail(str(tmp_path / "f")).stripes[1]
    data = bytearray((tmp_path / "f").read_bytes())
    start = last.offset + last.index_length + last.data_length
    data[start : start + last.footer_length] = bytes(last.footer_length)
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(CorruptFileError):
        merge_minor_inserts([each], [], seen(1), output(tmp_path))
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.draft"))

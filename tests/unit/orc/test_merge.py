"""The worked example of an unbucketed table t(a int, b int), through both compactions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.errors import CorruptFileError, StorageError
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.orc.dump import dump
from acidsql.orc.exact import exact_texts
from acidsql.orc.footer import KEY_INDEX, STATS, read_tail
from acidsql.orc.merge import merge_major, merge_minor_deletes, merge_minor_inserts
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.reader import read_events
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import AB, P0, P1, columns, delete_file, insert_file, seen


@pytest.fixture
def inserts(tmp_path: Path) -> list[MergeInput]:
    return [
        insert_file(tmp_path / "i1", 1, [(1, 10), (2, 20), (3, 30)]),
        insert_file(tmp_path / "i2", 2, [(2, 21)]),
        insert_file(tmp_path / "i4", 4, [(4, 40)]),
        insert_file(tmp_path / "i5-0", 5, [(5, 50)]),
        insert_file(tmp_path / "i5-1", 5, [(1, 11)], P1),
    ]


@pytest.fixture
def deletes(tmp_path: Path) -> list[MergeInput]:
    return [
        delete_file(tmp_path / "d2", 2, [(1, P0, 1)]),
        delete_file(tmp_path / "d3", 3, [(1, P0, 2)]),
        delete_file(tmp_path / "d5", 5, [(1, P0, 0)]),
    ]


def keys_and_rows(path: str) -> list[tuple[int, ...]]:
    return [
        tuple(v for k, v in e.items() if k != "row") + tuple((e["row"] or {}).values())
        for e in read_events(path).to_pylist()
    ]


def output(tmp_path: Path) -> MergeOutput:
    return MergeOutput(str(tmp_path / "out"), AB)


def test_major(tmp_path: Path, inserts: list[MergeInput], deletes: list[MergeInput]) -> None:
    written = merge_major(inserts, deletes, seen(5, {4}), output(tmp_path))
    assert keys_and_rows(written.path) == [
        (0, 2, P0, 0, 2, 2, 21),
        (0, 5, P0, 0, 5, 5, 50),
        (0, 5, P1, 0, 5, 1, 11),
    ]
    metadata = read_tail(written.path).metadata
    assert (metadata[KEY_INDEX], metadata[STATS]) == ("5,536870913,0;", "3,0,0")


def test_minor(tmp_path: Path, inserts: list[MergeInput], deletes: list[MergeInput]) -> None:
    written = merge_minor_inserts(inserts, deletes, seen(5, {4}), output(tmp_path))
    assert written is not None
    assert [row[1:4] for row in keys_and_rows(written.path)] == [
        (1, P0, 0),
        (1, P0, 1),
        (1, P0, 2),
        (2, P0, 0),
        (5, P0, 0),
        (5, P1, 0),
    ]
    written = merge_minor_deletes(deletes[::-1], seen(5, {4}), output(tmp_path))
    assert written is not None
    assert keys_and_rows(written.path) == [(2, 1, P0, 0, 5), (2, 1, P0, 1, 2), (2, 1, P0, 2, 3)]
    assert read_tail(written.path).metadata[STATS] == "0,0,3"


def test_order_of_the_inputs_does_not_matter(
    tmp_path: Path, inserts: list[MergeInput], deletes: list[MergeInput]
) -> None:
    one = merge_major(inserts, deletes, seen(5), output(tmp_path))
    expected = keys_and_rows(one.path)
    other = merge_major(inserts[::-1], deletes[::-1], seen(5), output(tmp_path))
    assert keys_and_rows(other.path) == expected
    assert len(expected) == 4


def test_invalid_deletes_delete_nothing(
    tmp_path: Path, inserts: list[MergeInput], deletes: list[MergeInput]
) -> None:
    written = merge_major(inserts[:1], deletes, seen(2), output(tmp_path))
    assert [row[3] for row in keys_and_rows(written.path)] == [0, 2]


def test_minor_drops_a_row_its_own_write_id_deleted(tmp_path: Path) -> None:
    rows = insert_file(tmp_path / "i", 5, [(1, 1), (2, 2), (3, 3)])
    own = delete_file(tmp_path / "own", 5, [(5, P0, 1)])
    later = delete_file(tmp_path / "later", 7, [(5, P0, 2)])
    written = merge_minor_inserts([rows], [own, later], seen(9), output(tmp_path))
    assert written is not None
    assert [row[3] for row in keys_and_rows(written.path)] == [0, 2]
    written = merge_minor_deletes([own, later], seen(9), output(tmp_path))
    assert written is not None
    assert written.deletes == 2


def test_a_row_deleted_twice_keeps_its_first_delete(tmp_path: Path) -> None:
    two = [delete_file(tmp_path / f"d{w}", w, [(1, P0, 0), (1, P0, w)]) for w in (7, 5)]
    written = merge_minor_deletes(two, seen(9), output(tmp_path))
    assert written is not None
    assert keys_and_rows(written.path) == [(2, 1, P0, 0, 5), (2, 1, P0, 5, 5), (2, 1, P0, 7, 7)]


@pytest.mark.parametrize("merge", [merge_major, merge_minor_deletes])
def test_deletes_of_rows_of_another_bucket_are_refused(
    tmp_path: Path, inserts: list[MergeInput], merge: Any
) -> None:
    other = encode_bucket(BucketId(1), StatementId(0))
    deletes = [delete_file(tmp_path / "d", 2, [(1, P0, 1), (1, other, 0)])]
    out = replace(output(tmp_path), bucket=BucketId(0))
    with pytest.raises(CorruptFileError, match="another bucket than 0"):
        _ = merge(*([inserts] if merge is merge_major else []), deletes, seen(5), out)


@pytest.mark.parametrize("merge", [merge_major, merge_minor_inserts])
def test_rows_of_another_bucket_are_refused(tmp_path: Path, merge: Any) -> None:
    """Their deletes lie in the files of their own bucket, so deleted rows would come back."""
    other = encode_bucket(BucketId(1), StatementId(0))
    insert_file(tmp_path / "i", 1, [(1, 10), (2, 20)], other)
    rows = MergeInput(str(tmp_path / "i"), "i")
    out = replace(output(tmp_path), bucket=BucketId(0))
    with pytest.raises(CorruptFileError, match='"i" has rows of another bucket than 0'):
        merge([rows], [], seen(5), out)
    assert merge([rows], [], seen(5), replace(out, bucket=BucketId(1))).rows == 2


def test_nothing_remains(tmp_path: Path, inserts: list[MergeInput]) -> None:
    out = output(tmp_path)
    assert merge_minor_inserts(inserts[2:3], [], seen(5, {4}), out) is None
    assert merge_minor_inserts([], [], seen(5), out) is None
    assert merge_minor_deletes([], seen(5), out) is None
    assert not Path(out.path).exists()
    empty = merge_major(inserts[2:3], [], seen(5, {4}), out)
    assert empty.rows == 0
    assert read_tail(empty.path).is_acid


def test_overlapping_inputs_are_sorted(tmp_path: Path) -> None:
    whole = insert_file(tmp_path / "whole", 1, [(i, i) for i in range(10)])
    again = insert_file(tmp_path / "again", 1, [(i, i) for i in range(5)])
    written = merge_major([again, whole], [], seen(1), output(tmp_path))
    assert [row[3] for row in keys_and_rows(written.path)] == list(range(10))


def test_unsorted_input_is_sorted(tmp_path: Path) -> None:
    insert_file(tmp_path / "i", 1, [(i, i) for i in range(5)])
    events = read_events(str(tmp_path / "i"))
    pa_orc.write_table(events.take([0, 3, 1, 2, 4]), str(tmp_path / "shuffled"))
    shuffled = MergeInput(str(tmp_path / "shuffled"), "shuffled")
    written = merge_major([shuffled], [], seen(1), output(tmp_path))
    assert [row[3] for row in keys_and_rows(written.path)] == [0, 1, 2, 3, 4]


def test_original_files_get_row_ids(tmp_path: Path) -> None:
    inputs = []
    for number, first in ((0, 0), (1, 2)):
        path = str(tmp_path / f"000000_0_copy_{number}")
        pa_orc.write_table(pa.table({"a": pa.array([number, 7], pa.int32())}), path)
        inputs.append(MergeInput(path, path, first=RowId(0, P0, first)))
    gone = delete_file(tmp_path / "d", 3, [(0, P0, 2)])
    written = merge_major(inputs, [gone], seen(3), output(tmp_path))
    assert keys_and_rows(written.path) == [
        (0, 0, P0, 0, 0, 0, None),
        (0, 0, P0, 1, 0, 7, None),
        (0, 0, P0, 3, 0, 7, None),
    ]


def test_columns_of_now(tmp_path: Path) -> None:
    old = insert_file(tmp_path / "i", 1, [(1, 10)])
    wider = columns(a="bigint", renamed="int", c="string")
    by_name = merge_major(
        [old], [], seen(1), MergeOutput(str(tmp_path / "n"), wider, by_position=False)
    )
    assert keys_and_rows(by_name.path)[0][5:] == (1, None, None)
    target = MergeOutput(str(tmp_path / "p"), wider, by_position=True)
    assert keys_and_rows(merge_major([old], [], seen(1), target).path)[0][5:] == (1, 10, None)
    narrow = MergeOutput(str(tmp_path / "x"), columns(a="int", b="array<int>"))
    with pytest.raises(StorageError, match='column "b"'):
        merge_major([old], [], seen(1), narrow)
    assert not Path(narrow.path).exists()


def test_plain_file_without_row_ids_is_refused(tmp_path: Path) -> None:
    pa_orc.write_table(pa.table({"a": [1]}), str(tmp_path / "plain"))
    with pytest.raises(CorruptFileError, match="not an ACID file"):
        merge_major([MergeInput(str(tmp_path / "plain"), "plain")], [], seen(1), output(tmp_path))


def test_many_stripes_with_deletes_at_their_edges(tmp_path: Path) -> None:
    text = columns(s="string")
    path = str(tmp_path / "big")
    with EventWriter(path, text, "none", stripe_bytes=1) as writer:
        for part in range(4):
            values = [f"{part:04d}-{row:08d}" for row in range(2000)]
            writer.write_inserts(pa.record_batch({"s": values}), 1, P0)
    tail = read_tail(path)
    assert len(tail.stripes) > 1
    ends, end = [], 0
    for stripe in tail.stripes:
        ends += [end, end + stripe.rows - 1]
        end += stripe.rows
    last = [int(entry.split(",")[2]) for entry in tail.metadata[KEY_INDEX].split(";")[:-1]]
    assert last == ends[1::2]
    gone = delete_file(tmp_path / "d", 2, [(1, P0, row) for row in ends])
    out = MergeOutput(str(tmp_path / "out"), text)
    written = merge_major([MergeInput(path, "big")], [gone], seen(2), out)
    left = read_events(written.path, columns=[])["rowId"].to_pylist()
    assert left == [row for row in range(end) if row not in set(ends)]


def test_minor_output_of_a_real_hive(tmp_path: Path) -> None:
    data = Path(__file__).parents[2] / "data" / "hive-written" / "employee"
    for hive in ("hive3", "hive4"):
        files = sorted((data / hive).glob("d*/bucket_*"))
        inserts = [MergeInput(str(f), f.name) for f in files if f.parent.name.startswith("delta")]
        deletes = [MergeInput(str(f), f.name) for f in files if f.parent.name.startswith("delete")]
        employee = columns(id="int", name="string", salary="int")
        out = MergeOutput(str(tmp_path / hive), employee)
        written = merge_major(inserts, deletes, seen(5), out)
        assert [line.partition('"row":')[2][:-1] for line in dump(written.path)] == [
            '{"id":3,"name":"Kate","salary":6000}',
            '{"id":4,"name":"Ann","salary":4000}',
            '{"id":2,"name":"Tommy","salary":7001}',
            '{"id":5,"name":"Tommy","salary":null}',
        ]


ALL_TYPES = {
    "id": "int", "ti": "tinyint", "si": "smallint", "i": "int", "bi": "bigint", "f": "float",
    "d": "double", "dec1": "decimal(10,2)", "dec2": "decimal(38,18)", "s": "string",
    "c": "char(10)", "vc": "varchar(20)", "dt": "date", "ts": "timestamp", "bin": "binary",
    "bo": "boolean", "arr": "array<int>", "mp": "map<string,int>", "st": "struct<a:int,b:string>",
    "nest": "array<struct<k:string,v:map<int,array<double>>>>",
}  # fmt: skip


@pytest.mark.parametrize("hive", ["hive3", "hive4"])
def test_every_type_a_real_hive_wrote(tmp_path: Path, hive: str) -> None:
    root = Path(__file__).parents[2] / "data" / "hive-written" / "states" / "alltypes" / hive
    files = sorted(map(str, (root / "1-inserts").glob("delta_*/bucket_*")))
    output = MergeOutput(str(tmp_path / "f"), columns(**ALL_TYPES), "zlib")
    written = merge_major([MergeInput(f, f) for f in files], [], seen(3), output)
    before = [repr(e["row"]) for f in files for e in read_events(f, exact=True).to_pylist()]
    found = read_events(str(tmp_path / "f"), exact=True)
    assert written.rows == len(before) > 3
    assert [repr(row) for row in found["row"].to_pylist()] == before
    texts = exact_texts(found["row"].combine_chunks().field("ts"))
    assert texts[:2] == ["1582-10-15 00:00:00.000000001", "9999-12-31 23:59:59.999999999"]
    assert found["row"].combine_chunks().field("dt").cast("string")[0].as_py() == "0001-01-01"

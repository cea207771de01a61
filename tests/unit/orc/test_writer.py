import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import ConfigError, InvalidValueError, StorageError
from acidsql.model.table import Column
from acidsql.model.types import as_spelled, parse_type
from acidsql.orc.footer import read_tail
from acidsql.orc.keys import UnsortedEventsError
from acidsql.orc.reader import read_events, read_row_ids
from acidsql.orc.schema import row_schema
from acidsql.orc.set_columns import can_set_columns
from acidsql.orc.types import file_columns
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import AB, P0, P1, columns, id_batch

ROWS = pa.record_batch({"b": [10, 20], "a": [1, 2]})


def write(path: Path, types: dict[str, str], values: dict[str, pa.Array]) -> list[dict]:  # type: ignore[type-arg]
    with EventWriter(str(path), columns(**types)) as writer:
        writer.write_inserts(pa.record_batch(values), 1, P0)
    return [event["row"] for event in read_events(str(path)).to_pylist()]


@pytest.mark.parametrize("compression", ["none", "zlib", "snappy", "lz4", "zstd"])
def test_inserts(tmp_path: Path, compression: str) -> None:
    path = str(tmp_path / "bucket_00000")
    with EventWriter(path, AB, compression) as writer:
        writer.write_inserts(ROWS, 3, P0)
        writer.write_inserts(ROWS, 3, P0)
        writer.write_inserts(ROWS.slice(0, 0), 3, P0)
        writer.write_inserts(ROWS, 3, P1)
        writer.write_inserts(ROWS, 4, P0)
    written = writer.close()
    assert (written.rows, written.inserts, written.deletes, written.stripes) == (8, 8, 0, 1)
    assert written.size == (tmp_path / "bucket_00000").stat().st_size
    events = read_events(path)
    assert events.schema.names[:5] == [
        "operation",
        "originalTransaction",
        "bucket",
        "rowId",
        "currentTransaction",
    ]
    assert events["rowId"].to_pylist() == [0, 1, 2, 3, 0, 1, 0, 1]
    assert events["currentTransaction"].to_pylist() == [3] * 6 + [4] * 2
    assert events["operation"].to_pylist() == [0] * 8
    assert events["row"].to_pylist() == [{"a": 1, "b": 10}, {"a": 2, "b": 20}] * 4
    tail = read_tail(path)
    assert tail.metadata == {
        "hive.acid.key.index": "4,536870912,1;",
        "hive.acid.stats": "8,0,0",
        "hive.acid.version": "2",
    }
    assert (tail.compression, tail.calendar, tail.row_index_stride) == (compression, 2, 10000)


def test_deletes(tmp_path: Path) -> None:
    path = str(tmp_path / "bucket_00000")
    with EventWriter(path, AB) as writer:
        writer.write_deletes(id_batch([(1, P0, 3), (1, P1, 0)]), 5)
        writer.write_deletes(id_batch([(2, P0, 0)]), 5)
    assert read_events(path)["row"].to_pylist() == [None] * 3
    ids = read_row_ids(path)
    assert ids.to_pylist()[1] == {
        "originalTransaction": 1,
        "bucket": P1,
        "rowId": 0,
        "currentTransaction": 5,
    }
    metadata = read_tail(path).metadata
    assert metadata["hive.acid.stats"] == "0,0,3"
    assert metadata["hive.acid.key.index"] == "2,536870912,0;"


def test_no_rows(tmp_path: Path) -> None:
    path = str(tmp_path / "bucket_00000")
    with EventWriter(path, AB):
        pass
    tail = read_tail(path)
    assert (tail.rows, tail.is_acid, tail.metadata["hive.acid.key.index"]) == (0, True, "")
    assert read_events(path).num_rows == read_row_ids(path).num_rows == 0


def write_deletes(path: Path, batches: list[list[tuple[int, int, int]]]) -> None:
    with EventWriter(str(path), AB) as writer:
        for batch in batches:
            writer.write_deletes(id_batch(batch), 5)


@pytest.mark.parametrize(
    "ids",
    [
        [(1, P0, 1), (1, P0, 0)],
        [(1, P0, 1), (1, P0, 1)],
        [(1, P1, 0), (1, P0, 5)],
        [(2, P0, 0), (1, P1, 9)],
    ],
)
def test_order_is_asserted(tmp_path: Path, ids: list[tuple[int, int, int]]) -> None:
    path = tmp_path / "f"
    for batches in ([ids], [ids[:1], ids[1:]]):
        with pytest.raises(UnsortedEventsError):
            write_deletes(path, batches)
        assert not path.exists()


def test_errors_remove_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with pytest.raises(KeyError), EventWriter(str(path), AB):
        raise KeyError
    assert not path.exists()
    with pytest.raises(StorageError, match="cannot be written"):
        EventWriter(str(tmp_path / "missing" / "f"), AB)
    with pytest.raises(ConfigError, match="lzo"):
        EventWriter(str(path), AB, "lzo")


def test_values_are_cast(tmp_path: Path) -> None:
    types = {"d": "decimal(5,2)", "n": "tinyint", "s": "varchar(9)", "t": "timestamp"}
    values = {
        "d": pa.array([1, None], pa.int32()),
        "n": pa.array([-128, 127], pa.int64()),
        "s": pa.array(["x", "y"], pa.large_string()).dictionary_encode(),
        "t": pa.array([dt.datetime(1960, 1, 1), None], pa.timestamp("ns")),
    }
    first, second = write(tmp_path / "f", types, values)
    assert first["d"] == Decimal("1.00")
    assert (second["n"], second["s"], second["t"]) == (127, "y", None)
    assert first["t"].to_pydatetime() == dt.datetime(1960, 1, 1)


BEFORE = pa.array([-500000], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("tinyint", pa.array([300])),
        ("int", pa.array(["x"])),
        ("decimal(3,1)", pa.array([1000])),
        ("decimal(3,1)", pa.array([Decimal("12.34")])),
        ("decimal(3,1)", pa.array([12345], pa.int64()).view(pa.int64())),
        ("date", pa.array([True])),
        ("timestamp", BEFORE),
        ("array<timestamp>", pa.ListArray.from_arrays([0, 1], BEFORE)),
        ("map<int,timestamp>", pa.MapArray.from_arrays([0, 1], pa.array([1]), BEFORE)),
        ("struct<x:timestamp>", pa.StructArray.from_arrays([BEFORE], ["x"])),
    ],
)
def test_values_that_do_not_fit(tmp_path: Path, kind: str, values: pa.Array) -> None:
    with pytest.raises(InvalidValueError, match='column "v"'):
        write(tmp_path / "f", {"v": kind}, {"v": values})
    assert not (tmp_path / "f").exists()


def test_digits_beyond_the_precision(tmp_path: Path) -> None:
    # The bytes of 12345 under decimal(3,1), which no cast would notice.
    wide = pa.array([Decimal(12345)], pa.decimal128(38, 0))
    hidden = pa.Array.from_buffers(pa.decimal128(3, 1), 1, wide.buffers())
    with pytest.raises(InvalidValueError, match="3 digits"):
        write(tmp_path / "f", {"v": "decimal(3,1)"}, {"v": hidden})


def test_slices_of_nested_values(tmp_path: Path) -> None:
    values = [[1], None, [2, None], [], [3]]
    maps = [[("a", 1)], None, [("b", None)], [], [("c", 3)]]
    batch = {
        "l": pa.array(values, pa.list_(pa.int32())),
        "m": pa.array(maps, pa.map_(pa.string(), pa.int32())),
        "s": pa.array([{"x": i} if i != 2 else None for i in range(5)]),
        "n": pa.array([{"x": None}, {"x": 1}, None, {"x": 3}, {"x": None}]),
    }
    types = columns(l="array<int>", m="map<string,int>", s="struct<x:bigint>", n="struct<x:bigint>")
    path = str(tmp_path / "f")
    with EventWriter(path, types) as writer:
        writer.write_inserts(pa.record_batch(batch).slice(1, 3), 1, P0)
    rows = [event["row"] for event in read_events(path).to_pylist()]
    assert [row["l"] for row in rows] == values[1:4]
    assert [row["m"] for row in rows] == maps[1:4]
    assert [row["s"] for row in rows] == [{"x": 1}, None, {"x": 3}]
    assert [row["n"] for row in rows] == [{"x": 1}, None, {"x": 3}]


def test_copied_events_are_checked(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    with EventWriter(path, AB) as writer:
        writer.write_inserts(ROWS, 3, P0)
    events = read_events(path).to_batches()[0]
    bad_operation = events.set_column(0, "operation", pa.array([0, 1], pa.int32()))
    no_row = events.set_column(5, "row", pa.nulls(2, events.schema.field("row").type))
    for bad in (bad_operation, no_row):
        with pytest.raises(ValueError, match="event"), EventWriter(str(tmp_path / "b"), AB) as copy:
            copy.write_events(bad)
    mixed = events.set_column(0, "operation", pa.array([0, 2], pa.int32()))
    with EventWriter(str(tmp_path / "c"), AB) as copy:
        copy.write_events(mixed)
    assert copy.close().deletes == 1
    assert read_events(str(tmp_path / "c"))["row"].to_pylist() == [{"a": 1, "b": 10}, None]


@pytest.mark.parametrize("named", ["Aa", "aA", "aa"])
def test_fields_have_the_names_by_which_hive_finds_them(tmp_path: Path, named: str) -> None:
    """Also if another table has the same columns, but for the letters."""
    text = f"array<struct<{named}:int,b:map<string,struct<{named}:timestamp>>>>"
    column = Column("s", parse_type(text, spelled=True))
    assert column == Column("s", parse_type(text))
    values = [[{"aa": 1, "b": [("k", {"aa": dt.datetime(1999, 1, 1)})]}, None], None, []]
    rows = pa.record_batch([pa.array(values, row_schema([column]).field("s").type)], ["s"])
    inserts, deletes, copy = (str(tmp_path / name) for name in ("inserts", "deletes", "copy"))
    with EventWriter(inserts, [column]) as writer:
        writer.write_inserts(rows, 1, P0)
    with EventWriter(deletes, [column]) as writer:
        writer.write_deletes(id_batch([(1, P0, 1)]), 2)
    with EventWriter(copy, [column]) as writer:
        (events,) = read_events(inserts).combine_chunks().to_batches()
        writer.write_events(events)
    tails = [read_tail(path) for path in (inserts, deletes, copy)]
    for tail in tails:
        (found,) = file_columns(tail)
        assert found.type == as_spelled(column.type)
    for path in (inserts, copy):
        first, *others = read_events(path)["row"].to_pylist()
        assert first == {"s": [{named: 1, "b": [("k", {named: dt.datetime(1999, 1, 1)})]}, None]}
        assert others == [{"s": None}, {"s": []}]
    assert can_set_columns(tails, [column], "snappy")
    other = Column("s", parse_type(text.replace(named, "AA"), spelled=True))
    assert not can_set_columns(tails, [other], "snappy")

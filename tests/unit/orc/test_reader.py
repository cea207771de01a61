import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import CorruptFileError, MissingFileError, StorageError
from acidsql.orc.calendar import proleptic
from acidsql.orc.footer import append_metadata, read_tail
from acidsql.orc.reader import (
    Beginning,
    iter_stripes,
    open_orc,
    read_events,
    read_row_ids,
)
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import AB, P0, columns, insert_file


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    insert_file(tmp_path / "f", 1, [(1, 10)])
    path = str(tmp_path / "f")
    assert read_events(path, columns=["b", "missing"])["row"].to_pylist() == [{"b": 10}]
    assert "row" not in read_events(path, columns=[]).schema.names
    assert [batch.num_rows for batch in iter_stripes(path)] == [1]
    stream = io.BytesIO((tmp_path / "f").read_bytes())
    assert read_events(stream, "s").equals(read_events(path))


def test_part_of_a_file(tmp_path: Path) -> None:
    insert_file(tmp_path / "f", 1, [(1, 10)])
    content = (tmp_path / "f").read_bytes()
    (tmp_path / "f").write_bytes(content + b"half a strip")
    path = str(tmp_path / "f")
    assert read_events(path, length=len(content)).num_rows == 1
    with pytest.raises(CorruptFileError):
        read_events(path)


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="gone"):
        read_events(str(tmp_path / "gone"))
    insert_file(tmp_path / "f", 1, [(1, 10)])
    content = (tmp_path / "f").read_bytes()
    for end in range(0, len(content), 7):
        with pytest.raises(CorruptFileError, match='"cut"'):
            read_events(io.BytesIO(content[:end]), "cut")
    pa_orc.write_table(pa.table({"a": [1]}), str(tmp_path / "plain"))
    with pytest.raises(CorruptFileError, match="not an ACID file"):
        read_row_ids(str(tmp_path / "plain"))


def test_a_file_that_the_caller_misses_is_not_the_opened_one(tmp_path: Path) -> None:
    insert_file(tmp_path / "f", 1, [(1, 10)])
    with pytest.raises(FileNotFoundError, match="gone"), open_orc(str(tmp_path / "f")):
        (tmp_path / "gone").read_bytes()


def test_years_pyarrow_cannot_read(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    with EventWriter(path, columns(t="timestamp")) as writer:
        far = pa.array([np.datetime64("9999-12-31", "us")])
        writer.write_inserts(pa.record_batch({"t": far}), 1, P0)
    with pytest.raises(StorageError, match="1677"):
        read_events(path)
    assert read_row_ids(path).num_rows == 1


def test_dates_of_the_julian_calendar(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    dates = pa.array([-719164, -141428, -141427, None, 0], pa.int32()).cast(pa.date32())
    with EventWriter(path, columns(d="date")) as writer:
        writer.write_inserts(pa.record_batch({"d": dates}), 1, P0)
    as_written = read_events(path)["row"].combine_chunks().field("d")
    assert as_written.equals(dates)
    append_metadata(path, read_tail(path), {}, calendar=1)
    shown = read_events(path)["row"].combine_chunks().field("d").cast(pa.string()).to_pylist()
    assert shown == ["0001-01-01", "1582-10-04", "1582-10-15", None, "1970-01-01"]


def test_nested_dates() -> None:
    old = pa.array([-141428, 5, None], pa.int32()).cast(pa.date32())
    new = pa.array([-141438, 5, None], pa.int32()).cast(pa.date32())
    for wrap in (
        lambda a: pa.StructArray.from_arrays([a], ["d"]),
        lambda a: pa.ListArray.from_arrays(pa.array([0, None, 3], pa.int32()), a),
        lambda a: pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3]), a),
    ):
        assert proleptic(wrap(old)).to_pylist() == wrap(new).to_pylist()


def test_leap_days_only_one_calendar_has(tmp_path: Path) -> None:
    # 1500-02-29 of the Julian calendar, as Spark's rebasing has it too.
    day = pa.array([-171596], pa.int32()).cast(pa.date32())
    assert proleptic(day).cast(pa.string()).to_pylist() == ["1500-03-01"]


def test_empty_file(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    with EventWriter(path, AB):
        pass
    assert read_events(path, columns=["a"]).num_rows == 0
    assert list(iter_stripes(path)) == []


def test_batches_have_the_columns_of_the_file_whatever_their_names(tmp_path: Path) -> None:
    """An original file has the names that its writer chose."""
    rows = pa.table(
        {"a.b": [1, 2, 3], "a": [{"b": 4}, None, {"b": 6}], "__filename": ["x", "y", None]}
    )
    path = str(tmp_path / "f")
    pa_orc.write_table(rows, path)
    for exact in (False, True):
        with open_orc(path, path, exact=exact) as opened:
            batches = list(opened.batches(0, 2))
        assert [batch.num_rows for batch in batches] == [2, 1]
        assert pa.Table.from_batches(batches).to_pylist() == rows.to_pylist()


@given(st.binary(max_size=20), st.integers(0, 20), st.data())
def test_the_beginning_of_a_stream_is_a_stream(
    content: bytes, length: int, data: st.DataObject
) -> None:
    cut = content[:length]
    stream, model = Beginning(io.BytesIO(content), len(cut)), io.BytesIO(cut)
    for _ in range(data.draw(st.integers(1, 6))):
        offset, whence = data.draw(
            st.tuples(st.integers(0, 25), st.just(0)) | st.tuples(st.integers(-5, 5), st.just(2))
        )
        assert stream.seek(offset, whence) == model.seek(max(offset, -len(cut)), whence)
        count = data.draw(st.integers(-1, 25))
        assert (stream.read(count), stream.tell()) == (model.read(count), model.tell())

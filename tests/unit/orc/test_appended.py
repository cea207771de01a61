"""acidsql/orc/appended.py, against pyarrow's own reader and the statistics of the rows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.errors import CorruptFileError
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Column
from acidsql.orc.appended import AppendedFile
from acidsql.orc.reader import open_orc, read_events
from acidsql.orc.schema import row_schema
from acidsql.orc.writer import CODECS, EventWriter
from tests.unit.engines.tables import columns

BUCKET = encode_bucket(BucketId(0), StatementId(0))


def part(
    path: Path,
    rows: Sequence[dict],
    of: Sequence[Column],
    write_id: int = 1,
    after: RowId | None = None,
    codec: str = "snappy",
    stripe_bytes: int | None = None,
) -> RowId | None:
    """A finished file of rows. Its last row id."""
    with EventWriter(str(path), of, codec, after=after, stripe_bytes=stripe_bytes) as writer:
        batch = pa.RecordBatch.from_pylist(list(rows), schema=row_schema(of))
        writer.write_inserts(batch, WriteId(write_id), BUCKET)
    return writer.last


class Growing:
    """A file in memory that grows part by part."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "part"
        self.data = bytearray()
        self.file: AppendedFile | None = None

    def add(self) -> None:
        with self.path.open("rb") as source:
            if self.file is None:
                self.file = AppendedFile.begin(source, "part")
                self.data += self.path.read_bytes()
            else:
                self.data += self.file.append(source, "part")
        assert self.file.length == len(self.data)

    def rows(self, length: int | None = None) -> list[dict]:
        return pa_orc.ORCFile(io.BytesIO(self.data[:length])).read().column("row").to_pylist()


@pytest.mark.parametrize("codec", CODECS)
def test_every_length_of_the_file_is_a_whole_file(tmp_path: Path, codec: str) -> None:
    of, growing, last = columns("id int, v string"), Growing(tmp_path), None
    lengths: list[tuple[int, int]] = []
    for write_id in range(1, 6):
        rows = [{"id": n, "v": "x" * n} for n in range(write_id)]
        last = part(growing.path, rows, of, write_id, last, codec)
        growing.add()
        lengths.append((len(growing.data), write_id * (write_id + 1) // 2))
    for length, count in lengths:
        assert len(growing.rows(length)) == count
        events = read_events(io.BytesIO(growing.data), "f", length=length)
        assert events.num_rows == count
    with open_orc(io.BytesIO(growing.data), "f") as opened:
        assert opened.tail.metadata == {
            "hive.acid.key.index": "".join(f"{w},{BUCKET},{w - 1};" for w in range(1, 6)),
            "hive.acid.stats": "15,0,0",
            "hive.acid.version": "2",
        }


def test_row_numbers_go_on_from_part_to_part(tmp_path: Path) -> None:
    of, growing = columns("id int"), Growing(tmp_path)
    last = part(growing.path, [{"id": 1}, {"id": 2}], of)
    growing.add()
    assert part(growing.path, [{"id": 3}], of, after=last) == RowId(WriteId(1), BUCKET, 2)
    growing.add()
    assert read_events(io.BytesIO(growing.data)).column("rowId").to_pylist() == [0, 1, 2]


def test_parts_of_several_stripes_and_of_none(tmp_path: Path) -> None:
    of, growing, last = columns("id bigint, v string"), Growing(tmp_path), None
    expected: list[dict] = []
    for write_id, count in ((1, 0), (2, 30_000), (3, 0), (4, 5), (5, 30_000)):
        rows = [{"id": n * 7919 % 104729, "v": f"{n * 31 % 9973}"} for n in range(count)]
        last = part(growing.path, rows, of, write_id, last, stripe_bytes=1 << 16) or last
        growing.add()
        expected += rows
    assert growing.rows() == expected
    with open_orc(io.BytesIO(growing.data), "f") as opened:
        assert len(opened.tail.stripes) > 4
        assert opened.tail.metadata["hive.acid.key.index"].count(";") == len(opened.tail.stripes)
        assert opened.read().num_rows == len(expected)


def test_what_does_not_belong_is_refused(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    part(growing.path, [{"id": 1}], columns("id int"))
    growing.add()
    part(growing.path, [{"id": 1}], columns("id bigint"), 2)
    with pytest.raises(CorruptFileError, match="cannot be appended"):
        growing.add()
    part(growing.path, [{"id": 1}], columns("id int"), 2, codec="zlib")
    with pytest.raises(CorruptFileError, match="cannot be appended"):
        growing.add()
    pa_orc.write_table(pa.table({"id": [1]}), str(growing.path))
    with pytest.raises(CorruptFileError, match="not an ACID file"):
        growing.add()

import io
import struct
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acidsql.errors import CorruptFileError, MissingFileError
from acidsql.orc.footer import PROLEPTIC, append_metadata, read_tail
from acidsql.orc.reader import is_acid_file

CODECS = ["uncompressed", "zlib", "snappy", "lz4", "zstd"]
# Enough columns that the footer is worth compressing.
TABLE = pa.table({f"column_{n}": pa.array(range(5000), pa.int32()) for n in range(40)})


def orc_bytes(compression: str, table: pa.Table = TABLE) -> bytes:
    stream = io.BytesIO()
    pa_orc.write_table(table, stream, compression=compression)
    return stream.getvalue()


@cache
def example(compression: str) -> bytes:
    """A file of `TABLE`."""
    return orc_bytes(compression)


@pytest.mark.parametrize("compression", CODECS)
def test_tail(compression: str) -> None:
    tail = read_tail(io.BytesIO(example(compression)), "f")
    assert (tail.rows, len(tail.stripes), tail.stripes[0].rows) == (5000, 1, 5000)
    assert tail.compression == compression.replace("uncompressed", "none")
    assert tail.column_names == tuple(TABLE.schema.names)
    assert (tail.metadata, tail.calendar, tail.row_index_stride) == ({}, None, 10000)
    assert not tail.is_acid


@pytest.mark.parametrize("compression", CODECS)
def test_appended_metadata(tmp_path: Path, compression: str) -> None:
    path = str(tmp_path / "f")
    Path(path).write_bytes(example(compression))
    # Longer than a block of this file, so it takes several chunks.
    metadata = {"hive.acid.key.index": "1,536870912,9999;" * 6000, "empty": "", "é": "ü"}
    append_metadata(path, read_tail(path), metadata)
    tail = read_tail(path)
    assert (tail.metadata, tail.calendar, tail.rows) == (metadata, PROLEPTIC, 5000)
    theirs = pa_orc.ORCFile(path)
    assert theirs.metadata[b"\xc3\xa9"] == "ü".encode()
    assert theirs.read().equals(TABLE)
    append_metadata(path, tail, {"more": "1"}, calendar=None)
    assert read_tail(path).metadata == {**metadata, "more": "1"}


def test_part_of_a_file() -> None:
    data = example("zlib")
    tail = read_tail(io.BytesIO(data + b"more to come"), "f", length=len(data))
    assert tail.rows == 5000


def test_files_that_are_not_orc(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere"):
        read_tail(str(tmp_path / "nowhere"))
    contents = [b"", b"O", b"ORC", b"PAR1" * 10, bytes(100), struct.pack(">q", -1) * 9]
    for content in [*contents, zlib.compress(b"x"), example("zlib")[:-1], example("zlib")[900:]]:
        with pytest.raises(CorruptFileError, match='"some file"'):
            read_tail(io.BytesIO(content), "some file")


def test_is_acid_file() -> None:
    names = ["operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"]
    acid = pa.table({name: [1] for name in names})
    assert is_acid_file(io.BytesIO(orc_bytes("zlib", acid)))
    assert not is_acid_file(io.BytesIO(orc_bytes("zlib", acid.select(names[:5]))))


@settings(suppress_health_check=list(HealthCheck))
@given(st.sampled_from(CODECS), st.data())
def test_broken_files_are_reported_as_such(compression: str, data: st.DataObject) -> None:
    content = bytearray(example(compression))
    end = data.draw(st.integers(0, len(content)))
    if data.draw(st.booleans()):
        content = content[:end]
    else:
        # The tail is what is read, so most damage goes there.
        for _ in range(data.draw(st.integers(1, 4))):
            at = len(content) - 1 - data.draw(st.integers(0, 1500))
            content[at] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(CorruptFileError):
        tail = read_tail(io.BytesIO(bytes(content)), "f")
        assert tail.rows == sum(stripe.rows for stripe in tail.stripes)

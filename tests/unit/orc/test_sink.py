import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.orc.sink import OrcSink


def test_a_file_is_whole_when_it_is_closed(tmp_path) -> None:
    rows = pa.table({"a": [1, 2]})
    file = OrcSink(str(tmp_path / "f"), compression="zlib")
    file.write(rows)
    file.close()
    file.close()
    assert pa_orc.read_table(str(tmp_path / "f")).equals(rows)


def test_a_file_that_cannot_be_made(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        OrcSink(str(tmp_path / "nowhere" / "f"), compression="zlib")

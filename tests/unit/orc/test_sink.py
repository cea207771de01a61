import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.orc.sink import OrcSink


def test_a_file_is_whole_when_it_is_closed(tmp_path) -> None:
    rows = pa.table({"a": [1, 2]})
    with open(tmp_path / "f", "wb") as file:
        sink = OrcSink(file, compression="zlib")
        sink.write(rows)
        sink.close()
        sink.close()
    assert pa_orc.read_table(str(tmp_path / "f")).equals(rows)


@pytest.mark.parametrize("error", [OSError("the disk is full"), MemoryError("no memory")])
def test_what_the_file_does_not_take_is_an_error(error: Exception) -> None:
    class Full:
        def write(self, data: bytes) -> int:
            raise error

    sink = OrcSink(Full(), compression="zlib")
    with pytest.raises(type(error), match=str(error)):
        sink.write(pa.table({"a": [1]}))
    with pytest.raises(type(error), match=str(error)):
        sink.close()

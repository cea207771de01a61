"""Parquet files that Hive 3's vectorised reader can read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acidsql.engines.parquet_sink import ParquetSink

SCHEMA = pa.schema(
    {"k": pa.int32(), "s": pa.string(), "t": pa.timestamp("us"), "a": pa.list_(pa.string())}
)
GROUPS = [
    {"k": [1, 2], "s": ["a", "b"], "t": [-1, None], "a": [["x"], []]},
    {"k": [3, 4], "s": [None, None], "t": [253_402_300_799_999_999, 1], "a": [None, None]},
    {"k": [5, 6], "s": ["c", None], "t": [None, None], "a": [["y", None], None]},
]


@pytest.mark.parametrize("groups", [GROUPS, GROUPS[::-1], GROUPS[:1], []])
def test_a_column_of_nulls_has_no_dictionary(tmp_path: Path, groups: list[dict]) -> None:
    """It would be an empty one, in which Hive 3 looks the nulls up."""
    path = tmp_path / "000000_0"
    tables = [pa.table(group, schema=SCHEMA) for group in groups]
    sink = ParquetSink(str(path), SCHEMA, "snappy")
    for table in tables:
        sink.write(table)
    sink.close()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as found:
        expected = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
        assert found.read().cast(SCHEMA).equals(expected)
        for number, table in enumerate(tables):
            group = found.metadata.row_group(number)
            for index, name in enumerate(SCHEMA.names[:3]):
                is_empty = table.column(name).null_count == table.num_rows
                assert not (is_empty and group.column(index).has_dictionary_page), (number, name)
            assert group.column(0).has_dictionary_page

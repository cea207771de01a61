"""Files of plain rows that others wrote."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest

from acidsql.engines.row_files import RowFormat, RowWriter, read_rows
from acidsql.errors import ConfigError, InvalidValueError, StorageError
from acidsql.model.table import FileFormat
from acidsql.orc.adopted import model_file
from acidsql.orc.schema import row_schema
from tests.unit.engines.tables import columns


@pytest.mark.parametrize("kind", [FileFormat.ORC, FileFormat.PARQUET])
def test_text_is_no_longer_than_its_column(tmp_path: Path, kind: FileFormat) -> None:
    """A compaction of loaded files would otherwise refuse them, or bring more than a query saw."""
    path = str(tmp_path / "000000_0")
    write = pa_orc.write_table if kind is FileFormat.ORC else pq.write_table
    nested = [[{"w": "äöüß"}, None], None, []]
    write(pa.table({"v": ["äöüß", None, "x"], "s": ["long text", "", None], "n": nested}), path)
    of = columns("v varchar(3), s string, n array<struct<w:varchar(2)>>")
    rows = read_rows(path, path, RowFormat(of, kind, "none"))
    assert [row for batch in rows for row in batch.to_pylist()] == [
        {"v": "äöü", "s": "long text", "n": [{"w": "äö"}, None]},
        {"v": None, "s": "", "n": None},
        {"v": "x", "s": None, "n": []},
    ]


def test_columns_without_names_are_found_by_position(tmp_path: Path) -> None:
    """Hive 1 wrote no other names, and readers find them so: a compaction must keep the values."""
    path = str(tmp_path / "000000_0")
    pa_orc.write_table(pa.table({"_col0": pa.array([7], pa.int32()), "_col1": ["seven"]}), path)
    rows = read_rows(
        path, path, RowFormat(columns("k bigint, v string, later int"), FileFormat.ORC, "none")
    )
    assert [row for batch in rows for row in batch.to_pylist()] == [
        {"k": 7, "v": "seven", "later": None}
    ]


def test_fields_of_parquet_are_found_in_upper_and_lower_case(tmp_path: Path) -> None:
    """As readers find them; a field that the file lacks is null, and another one is left out."""
    path = str(tmp_path / "000000_0")
    inner = pa.struct([("B", pa.int32()), ("x", pa.int32()), ("a", pa.string())])
    values = [[("k", [{"B": 1, "x": 7, "a": "one"}, None])], None, []]
    kind = pa.map_(pa.string(), pa.list_(inner))
    more = [{"C": 2}, None, {"C": None}]
    pq.write_table(pa.table({"V": pa.array(values, kind), "W": more}), path)
    of = columns("v map<string,array<struct<a:string,b:int,late:date>>>, w struct<c:bigint>")
    rows = read_rows(path, path, RowFormat(of, FileFormat.PARQUET, "none"))
    assert [row for batch in rows for row in batch.to_pylist()] == [
        {"v": [("k", [{"a": "one", "b": 1, "late": None}, None])], "w": {"c": 2}},
        {"v": None, "w": None},
        {"v": [], "w": {"c": None}},
    ]


@pytest.mark.parametrize(
    "form",
    [
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
        pa.large_string(),
        pa.string_view(),
    ],
)
def test_forms_of_arrow_do_not_matter_in_parquet(tmp_path: Path, form: Any) -> None:
    """pandas writes categories, and polars has long lists and views of texts."""
    path = str(tmp_path / "000000_0")
    texts = pa.array(["abcdef", None, "x"]).cast(form)
    lists = pa.array([["abcdef", None], None, []]).cast(pa.large_list(form))
    pairs = pa.StructArray.from_arrays([texts], ["a"])
    pq.write_table(pa.table({"v": texts, "w": lists, "x": pairs}), path)
    of = columns("v varchar(2), w array<varchar(3)>, x struct<a:char(1)>")
    rows = read_rows(path, path, RowFormat(of, FileFormat.PARQUET, "none"))
    assert [row for batch in rows for row in batch.to_pylist()] == [
        {"v": "ab", "w": ["abc", None], "x": {"a": "a"}},
        {"v": None, "w": None, "x": {"a": None}},
        {"v": "x", "w": [], "x": {"a": "x"}},
    ]


@pytest.mark.parametrize("kind", ["date", "timestamp", "array<date>"])
@pytest.mark.parametrize(
    ("metadata", "is_hybrid"),
    [
        ({"org.apache.spark.version": "4.0.0", "org.apache.spark.legacyDateTime": ""}, True),
        ({"org.apache.spark.version": "3.5.1", "org.apache.spark.legacyINT96": ""}, True),
        ({"org.apache.spark.version": "2.4.8"}, True),
        ({"org.apache.spark.version": "3.5.1"}, False),
        ({}, False),
    ],
)
def test_old_days_of_the_hybrid_calendar_are_not_copied_from_parquet(
    tmp_path: Path, kind: str, metadata: dict[str, str], is_hybrid: bool
) -> None:
    """Spark reads them by what the old file says, and the new one does not say it."""
    path = str(tmp_path / "000000_0")
    of = columns(f"v {kind}")
    [arrow] = row_schema(of).types
    for day, is_old in ((dt.datetime(1500, 1, 1), True), (dt.datetime(1950, 1, 1), False)):
        value = day if kind == "timestamp" else day.date()
        stored = pa.timestamp("ms") if kind == "timestamp" else arrow
        rows = pa.table({"v": pa.array([[value] if "<" in kind else value, None], stored)})
        pq.write_table(rows.replace_schema_metadata(metadata), path)
        read = read_rows(path, path, RowFormat(of, FileFormat.PARQUET, "none"))
        if is_hybrid and is_old:
            with pytest.raises(StorageError, match="in the hybrid calendar"):
                list(read)
        else:
            assert [batch.num_rows for batch in read] == [2]


def test_a_line_does_not_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """Spark and Hive take it for that of the file, if the line is the first one."""
    writer = RowWriter(
        str(tmp_path / "f"), RowFormat(columns("v string, w string"), FileFormat.TEXT, "none")
    )
    writer.write_rows(pa.record_batch({"v": ["a\ufeff", None], "w": ["\ufeffb", "c"]}))
    with pytest.raises(InvalidValueError, match='"v" has a value that a line of text cannot hold'):
        writer.write_rows(pa.record_batch({"v": [None, "\ufeffa"], "w": ["b", "c"]}))


@pytest.mark.parametrize("count", [0, 2])
def test_parquet_has_no_row_group_without_rows(tmp_path: Path, count: int) -> None:
    """Hive 3: "Illegal row group of 0 rows"."""
    path = str(tmp_path / "000000_0")
    of = columns("k int")
    writer = RowWriter(path, RowFormat(of, FileFormat.PARQUET, "snappy"))
    if count:
        writer.write_rows(pa.record_batch({"k": pa.array(range(count), pa.int32())}))
    writer.close()
    found = pq.ParquetFile(path).metadata
    assert (found.num_rows, found.num_row_groups) == (count, min(count, 1))


def test_a_codec_that_pyarrow_lacks_is_an_error_of_the_table(tmp_path: Path) -> None:
    """Another program may have made the table."""
    of_table = RowFormat(columns("a int"), FileFormat.ORC, "lzo")
    with pytest.raises(ConfigError, match='"lzo" is not supported'):
        RowWriter(str(tmp_path / "f"), of_table)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match='"lzo" is not supported'):
        model_file(columns("a int"), "lzo")

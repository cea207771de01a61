"""acidsql/engines/spark/event_files.py: event columns that a scan does not need are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyarrow import orc
from pyspark.errors import PySparkException

from acidsql.engines.spark.event_files import (
    EVERY_COLUMN,
    event_columns,
    event_schema,
    operation_is,
)
from acidsql.model.ids import WriteId
from acidsql.orc.footer import read_tail
from acidsql.orc.schema import (
    CURRENT_TRANSACTION,
    DELETE,
    INSERT,
    KEY_COLUMNS,
    OPERATION,
    ROW_ID_COLUMNS,
)
from acidsql.orc.schema import event_schema as schema_of_events
from acidsql.orc.stripe import read_stripe_footer
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns

ROWS = 12_345
NOTHING = event_columns(operations=False, row_ids=False, write_ids=False)
OPERATIONS = event_columns(operations=True, row_ids=False, write_ids=False)
IDS = event_columns(operations=False, row_ids=True, write_ids=False)
WRITE_IDS = event_columns(operations=False, row_ids=False, write_ids=True)


def write_events(path: Path) -> None:
    with EventWriter(str(path), columns(k="int"), "zlib") as writer:
        k = np.arange(ROWS, dtype=np.int32)
        writer.write_inserts(pa.record_batch({"k": k}), WriteId(7), P0)


def damage(path: Path, *names: str) -> None:
    """Make the data of these columns undecodable."""
    tail = read_tail(str(path))
    content = bytearray(path.read_bytes())
    with path.open("rb") as source:
        for stripe in tail.stripes:
            for stream in read_stripe_footer(source, tail, stripe).streams:
                if stream.column in {1 + KEY_COLUMNS.index(name) for name in names}:
                    end = stream.offset + stream.length
                    content[stream.offset : end] = b"\xff" * stream.length
    path.write_bytes(content)


def read(spark: Any, path: Path, names: dict[str, str], *shown: str) -> list[tuple[int, ...]]:
    frame = spark.read.schema(event_schema("k: int", names)).orc(str(path))
    found = frame.where(operation_is(INSERT, "row.k", names)).select(*shown, "row.k")
    return sorted(tuple(row) for row in found.collect())


@pytest.fixture(params=["true", "false"], ids=["batches", "rows"])
def reader(spark: Any, request: pytest.FixtureRequest) -> Any:
    """Spark's reader of batches of rows, and the one of single rows."""
    setting = "spark.sql.orc.enableVectorizedReader"
    before = spark.conf.get(setting)
    spark.conf.set(setting, request.param)
    yield spark
    spark.conf.set(setting, before)


@pytest.mark.parametrize(
    ("names", "shown", "unread"),
    [
        (NOTHING, (), (OPERATION, *ROW_ID_COLUMNS[::2], CURRENT_TRANSACTION)),
        (OPERATIONS, (OPERATION,), (*ROW_ID_COLUMNS[::2], CURRENT_TRANSACTION)),
        (IDS, ROW_ID_COLUMNS, (OPERATION, CURRENT_TRANSACTION)),
        (WRITE_IDS, (CURRENT_TRANSACTION,), (OPERATION, *ROW_ID_COLUMNS[::2])),
    ],
    ids=["nothing", "operations", "row ids", "write ids"],
)
def test_the_data_of_other_columns_is_never_touched(
    reader: Any, tmp_path: Path, names: dict[str, str], shown: tuple[str, ...], unread: Any
) -> None:
    path = tmp_path / "bucket_00000"
    write_events(path)
    ids = {"operation": INSERT, "originalTransaction": 7, "bucket": P0, "currentTransaction": 7}
    expected = [(*(ids.get(name, k) for name in shown), k) for k in range(ROWS)]
    assert read(reader, path, names, *shown) == expected
    damage(path, *unread)
    assert read(reader, path, names, *shown) == expected
    with pytest.raises((PySparkException, Py4JError), match=r"(?i)orc"):
        read(reader, path, EVERY_COLUMN)


@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_whatever_the_session_says_of_letters(spark: Any, tmp_path: Path, sensitive: str) -> None:
    path = tmp_path / "bucket_00000"
    write_events(path)
    damage(path, "rowId")
    setting = "spark.sql.caseSensitive"
    before = spark.conf.get(setting)
    spark.conf.set(setting, sensitive)
    try:
        assert read(spark, path, NOTHING) == [(k,) for k in range(ROWS)]
    finally:
        spark.conf.set(setting, before)


@pytest.mark.parametrize("name", ["operation", "bucket"])
def test_a_column_that_is_needed_is_read(spark: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / "bucket_00000"
    write_events(path)
    damage(path, name)
    with pytest.raises((PySparkException, Py4JError), match=r"(?i)orc"):
        read(spark, path, OPERATIONS)


def test_other_events_are_left_out_where_there_may_be_some(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "bucket_00000"
    ids = {"originalTransaction": 7, "bucket": P0, "rowId": 0, "currentTransaction": 8}
    events = [{"operation": n, **ids, "row": {"k": n}} for n in (INSERT, 1, DELETE)]
    schema = schema_of_events(columns(k="int"))
    orc.write_table(pa.Table.from_pylist(events, schema=schema), str(path))
    assert read(spark, path, OPERATIONS) == [(INSERT,)]

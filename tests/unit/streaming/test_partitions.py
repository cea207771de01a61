"""acidsql/streaming/partitions.py"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from acidsql.orc.schema import row_schema
from acidsql.streaming.partitions import partition_codes, static_partition
from acidsql.streaming.writers import ArrowRecordWriter
from tests.unit.engines.tables import table


def test_each_row_finds_its_partition() -> None:
    of = table(Path("/t"), "id int", "k decimal(5,2), d char(4)")
    records = [
        (1, "1.50", "a"),
        (2, "1.5", None),
        (3, "-0.00", "a"),
        (4, "1.50", "a"),
        (5, None, ""),
    ]

    found = ArrowRecordWriter().encode(
        [{"id": i, "k": None if k is None else Decimal(k), "d": d} for i, k, d in records],
        of.all_columns,
    )
    assert not found.rejected
    codes, names = partition_codes(found.rows, of, None)
    assert [names[code] for code in codes] == [
        "k=1.5/d=a",
        "k=1.5/d=__HIVE_DEFAULT_PARTITION__",
        "k=0/d=a",
        "k=1.5/d=a",
        "k=__HIVE_DEFAULT_PARTITION__/d=__HIVE_DEFAULT_PARTITION__",
    ]
    assert len(names) == 4


def test_no_rows() -> None:
    of = table(Path("/t"), "id int", "k int")
    codes, names = partition_codes(row_schema(of.all_columns).empty_table(), of, None)
    assert (codes.tolist(), names) == ([], [])


def test_one_partition_for_all() -> None:
    of = table(Path("/t"), "id int", "k int")
    name = static_partition(of, ["007"])
    codes, names = partition_codes(pa.table({"id": [1, 2]}), of, name)
    assert (codes.tolist(), names) == ([0, 0], ["k=7"])
    assert static_partition(of, None) is None

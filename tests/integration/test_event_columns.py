"""Spark's ORC reader, which is Java's, skips groups of rows by the event columns that we encode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from acidsql.model.ids import WriteId
from acidsql.orc.footer import (
    FOOTER_TYPE,
    encode,
    footer_and_postscript,
    read_tail,
)
from acidsql.orc.protobuf import as_bytes, bytes_field, fields
from acidsql.orc.writer import EventWriter
from tests.property.test_search_argument import scanned_rows
from tests.unit.orc.events import P0, P1, columns

GROUP = 10_000
WRITES = ((1, P0, 25_123), (1, P1, 9_999), (2, P0, 1), (2, P1, 30_000), (2**40, P0, 14_001))
"""Write id, bucket property and number of rows."""


def write_plain(path: Path, codec: str) -> list[tuple[int, ...]]:
    """A file whose root has other names, which is no ACID file for Java's reader. Its rows.

    Java's reader looks up the columns of a search argument inside of ``row`` if it reads an ACID
    file, and so never skips rows by an event column. `tests/property/test_search_argument.py` has
    it skip by columns of ``row``.
    """
    expected: list[tuple[int, ...]] = []
    with EventWriter(str(path), columns(k="int", t="timestamp"), codec) as writer:
        for write_id, bucket, count in WRITES:
            k = np.arange(len(expected), len(expected) + count, dtype=np.int32)
            moments = pa.array(k.astype(np.int64) * -1_000_001).cast(pa.timestamp("us"))
            rows = pa.record_batch({"k": k, "t": moments})
            writer.write_inserts(rows, WriteId(write_id), bucket)
            expected += [(0, write_id, bucket, n, write_id, int(at)) for n, at in enumerate(k)]
    tail = read_tail(str(path))
    footer = bytearray()
    root = True
    for number, value in fields(tail.footer):
        if number == FOOTER_TYPE and root:
            names = (
                encode(n, as_bytes(v).lower() + b"_" if n == 3 else v)
                for n, v in fields(as_bytes(value))
            )
            footer += bytes_field(number, b"".join(names))
            root = False
        else:
            footer += encode(number, value)
    content = path.read_bytes()[: tail.footer_start]
    path.write_bytes(content + footer_and_postscript(tail, bytes(footer)))
    return expected


@pytest.mark.parametrize(
    "codec", ["zlib", *(pytest.param(c, marks=pytest.mark.thorough) for c in ("none", "snappy"))]
)
def test_groups_are_skipped_and_the_rest_is_right(spark: Any, tmp_path: Path, codec: str) -> None:
    path = tmp_path / "f.orc"
    expected = write_plain(path, codec)
    found = spark.read.orc(str(path))
    every = found.select("*", "row_.k").drop("row_").orderBy("k").collect()
    assert [tuple(row) for row in every] == expected
    conditions = {
        "rowid_ BETWEEN 24000 AND 24010": lambda e: 24_000 <= e[3] <= 24_010,
        "originaltransaction_ = 1099511627776": lambda e: e[1] == 2**40,
        "currenttransaction_ = 2 AND rowid_ > 29990": lambda e: e[4] == 2 and e[3] > 29_990,
        f"bucket_ = {P1} AND originaltransaction_ = 1": lambda e: e[1:3] == (1, P1),
        "operation_ <> 0": lambda e: False,
    }
    for condition, holds in conditions.items():
        frame = found.where(condition).select("*", "row_.k", "row_.t").drop("row_")
        rows = frame.collect()
        assert sorted(tuple(row)[:-1] for row in rows) == [e for e in expected if holds(e)]
        for row in rows:
            micros = row.k * -1_000_001
            assert row.t == np.datetime64(micros, "us").astype(object), condition
        assert scanned_rows(frame) <= 3 * GROUP, condition

"""acidsql/engines/placed_rows.py"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from acidsql.engines.output import Output
from acidsql.engines.partition_codes import partition_column
from acidsql.engines.placed_rows import write_placed_rows
from acidsql.engines.publish import publish
from acidsql.errors import StorageError
from acidsql.layout.bucketing import bucket_numbers
from acidsql.model.ids import StatementId
from acidsql.model.types import PrimitiveType
from tests.unit.engines.tables import contents, table, target

PLACES = ["p=x", "p=y", "p=__HIVE_DEFAULT_PARTITION__"]
TEXT_OF = {"p=x": "x", "p=y": "y", PLACES[2]: None}


def batch(rows: list[tuple[int, str]]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "k": pa.array([k for k, _ in rows], pa.int32()),
            partition_column(0): pa.array([TEXT_OF[p] for _, p in rows], pa.string()),
        }
    )


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(PLACES)), min_size=1)),
    st.sampled_from([1, 200, 1 << 20]),
)
def test_rows_keep_their_order_in_each_place(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[tuple[int, str]]],
    run_bytes: int,
) -> None:
    path = Path(tmp_path_factory.mktemp("placed"))
    of = table(path, "k int", "p string", ("k", 3))
    to = target(of, 1)
    with Output(to) as output:
        write_placed_rows(output, map(batch, batches), of, StatementId(0), run_bytes)
    publish(output.files, to)
    expected: dict[Any, list[int]] = defaultdict(list)
    for k, place in (row for rows in batches for row in rows):
        [bucket] = bucket_numbers([pa.array([k], pa.int32())], [PrimitiveType("int")], 3, 2)
        expected[place, int(bucket)].append(k)
    there = [place for place in PLACES if (path / place).exists()]
    found: dict[Any, list[int]] = defaultdict(list)
    for held in contents(of, 1, partitions=there):
        for (_, bucket_property, _), row in sorted(held.rows.items()):
            found[str(held.partition), bucket_property >> 16 & 0xFFF].append(row["k"])
    assert found == expected


def test_a_full_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    of = table(tmp_path, "k int", "p string")
    to = target(of, 1)
    with pytest.raises(StorageError, match="temporary directory"), Output(to) as output:
        write_placed_rows(output, [batch([(1, "p=x")])] * 2, of, StatementId(0), 1)
    assert not list(tmp_path.rglob("*bucket*"))

"""New rows that a task gets sorted, batch by batch: one file per partition and bucket."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from acidsql.engines.output import Output
from acidsql.engines.partition_codes import partition_codes, partition_column
from acidsql.engines.publish import publish
from acidsql.engines.rows import Placement
from acidsql.engines.spark.insert import write_batch
from acidsql.engines.target import OutputFile
from acidsql.model.ids import StatementId
from acidsql.model.names import PartitionName
from acidsql.model.table import Table
from tests.unit.engines.tables import contents, table, target

texts = st.one_of(
    st.none(), st.sampled_from(["", "a", "b/c", "100%", "__HIVE_DEFAULT_PARTITION__"])
)


def batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    k, p, q = zip(*rows, strict=True)
    return pa.record_batch(
        {
            "k": pa.array(k, pa.int32()),
            partition_column(0): pa.array(p, pa.string()),
            partition_column(1): pa.array(q, pa.string()),
        }
    )


def write(of: Table, batches: list[pa.RecordBatch]) -> list[OutputFile]:
    with Output(target(of, 1)) as output:
        for each in batches:
            write_batch(output, pa.Table.from_batches([each]), of, StatementId(0), 0)
    publish(output.files, output.target)
    return output.files


@given(st.lists(st.tuples(texts, texts), min_size=1))
def test_partition_codes_say_the_partition_of_each_row(pairs: list[tuple[Any, Any]]) -> None:
    rows = pa.Table.from_batches([batch([(1, *pair) for pair in pairs])])
    codes, found = partition_codes(rows, ["p", "q"])
    expected = [str(PartitionName.of([("p", p), ("q", q)])) for p, q in pairs]
    assert [found[code] for code in codes] == expected
    assert len(found) == len(set(found))


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), texts, texts), min_size=1, max_size=30),
    cuts=st.sets(st.integers(1, 29)),
)
def test_sorted_batches_go_on_in_the_same_file(
    rows: list[tuple[Any, ...]], cuts: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    of = table(tmp_path_factory.mktemp("t"), "k int", "p string, q string", ("k", 2))
    buckets = Placement.of(of).buckets(batch(rows)).tolist()
    # As Spark sorts: nulls first.
    places = [
        (PartitionName.of([("p", p), ("q", q)]).values, b)
        for (_, p, q), b in zip(rows, buckets, strict=True)
    ]
    order = sorted(
        range(len(rows)), key=lambda at: ([v or "" for v in places[at][0]], places[at][1])
    )
    ordered = [rows[at] for at in order]
    bounds = [0, *sorted(c for c in cuts if c < len(rows)), len(rows)]
    files = write(of, [batch(ordered[start:end]) for start, end in pairwise(bounds)])
    partitions = sorted({f.partition for f in files})
    seen = contents(of, 1, partitions=partitions)
    found = [
        (row["k"], *c.partition.values) for c in seen if c.partition for row in c.rows.values()
    ]
    assert sorted(found, key=repr) == sorted(
        ((k, *place) for (k, _, _), (place, _) in zip(rows, places, strict=True)), key=repr
    )


def test_nothing_is_left_of_a_failed_attempt(tmp_path: Path) -> None:
    of = table(tmp_path, "k int", "p string, q string", ("k", 2))
    rows = pa.Table.from_batches([batch([(1, "a", "b"), (2, "b", "c"), (3, "c", "d")])])

    def fail() -> None:
        with Output(target(of, 1)) as output:
            write_batch(output, rows, of, StatementId(0), 0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]

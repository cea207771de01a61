"""Changed rows end up in one file per bucket, whatever order they come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from acidsql.engines.changes import ChangeLeg, ChangeWriter, writing_order
from acidsql.engines.output import Output
from acidsql.engines.publish import publish
from acidsql.engines.target import TABLE_ITSELF
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import decode_bucket, encode_bucket
from acidsql.orc.keys import UnsortedEventsError, bucket_ids
from tests.checks import read_events
from tests.unit.engines.tables import changes, table, target

UPDATE = ChangeLeg(StatementId(0), is_update=True)
DELETE = ChangeLeg(StatementId(1), is_update=False)

row_ids = st.tuples(
    st.integers(0, 1),
    st.integers(1, 3),
    st.builds(
        lambda b, s: encode_bucket(BucketId(b), StatementId(s)),
        st.integers(0, 2),
        st.integers(0, 1),
    ),
    st.integers(0, 3),
)


@given(
    rows=st.dictionaries(row_ids, st.integers(0, 1), min_size=1),
    random=st.randoms(use_true_random=False),
    in_threads=st.booleans(),
)
def test_every_change_is_written_once(
    rows: dict[tuple[int, ...], int],
    random: object,
    in_threads: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("t")
    of = table(path, "a int", "p string")
    items = list(rows.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    given_rows = changes(
        [(*row_id, leg) for row_id, leg in items],
        {"a": pa.array(range(len(items)), pa.int32())},
    )
    with Output(target(of, 9)) as output:
        writer = ChangeWriter(output, ["p=x", "p=y"], [UPDATE, DELETE])
        write = writer.write_all if in_threads else writer.write
        write(writing_order(given_rows))
    publish(output.files, output.target)
    names = [(f.directory, f.name) for f in output.files]
    assert len(set(names)) == len(names)
    deleted, inserted = [], []
    for file in output.files:
        place = 0 if file.partition == "p=x" else 1
        for event in read_events(Path(file.directory) / file.name):
            if event.row is None:
                leg = file.statement_id
                deleted.append(((place, *event.row_id), leg))
                assert f"bucket_{decode_bucket(event.row_id[1]):05d}" == file.name
            else:
                inserted.append(event.row["a"])
    assert sorted(deleted) == sorted(rows.items())
    assert sorted(inserted) == [at for at, (_, leg) in enumerate(items) if leg == 0]


def test_each_leg_writes_under_its_statement_id(tmp_path: Path) -> None:
    """Of a MERGE: an UPDATE deletes and inserts under one id, into the bucket of the old row."""
    legs = [ChangeLeg(StatementId(0), is_update=False), ChangeLeg(StatementId(2), is_update=True)]
    bucket = [encode_bucket(BucketId(b), StatementId(0)) for b in (0, 1)]
    given_rows = changes(
        [(0, 1, bucket[0], 0, 0), (0, 1, bucket[0], 1, 1), (0, 1, bucket[1], 0, 1)],
        {"a": pa.array([10, 11, 12], pa.int32())},
    )
    with Output(target(table(tmp_path, "a int"), 9)) as output:
        ChangeWriter(output, [TABLE_ITSELF], legs).write(writing_order(given_rows))
    publish(output.files, output.target)
    found = {
        str(p.relative_to(tmp_path)): [(e.row_id, e.row and e.row["a"]) for e in read_events(p)]
        for p in tmp_path.rglob("bucket_*")
    }
    new = [encode_bucket(BucketId(b), StatementId(2)) for b in (0, 1)]
    assert found == {
        "delete_delta_0000009_0000009_0000/bucket_00000": [((1, bucket[0], 0), None)],
        "delete_delta_0000009_0000009_0002/bucket_00000": [((1, bucket[0], 1), None)],
        "delete_delta_0000009_0000009_0002/bucket_00001": [((1, bucket[1], 0), None)],
        "delta_0000009_0000009_0002/bucket_00000": [((9, new[0], 0), 11)],
        "delta_0000009_0000009_0002/bucket_00001": [((9, new[1], 0), 12)],
    }


MANY = 12_000
"""More rows than are written without threads."""


def many_changes() -> list[tuple[int, ...]]:
    """Rows of five buckets, each other one to be updated."""
    numbers = range(MANY)
    return [(0, 1, encode_bucket(BucketId(n % 5), StatementId(0)), n, n // 5 % 2) for n in numbers]


def written(path: Path, rows: list[tuple[int, ...]], *, side_by_side: bool) -> dict[str, list[Any]]:
    path.mkdir(exist_ok=True)
    new = {"a": pa.array([row[3] for row in rows], pa.int32())}
    with Output(target(table(path, "a int"), 9)) as output:
        writer = ChangeWriter(output, [TABLE_ITSELF], [UPDATE, DELETE])
        write = writer.write_all if side_by_side else writer.write
        write(writing_order(changes(rows, new)))
    publish(output.files, output.target)
    assert len(output.files) == len({(f.directory, f.name) for f in output.files})
    return {
        str(p.relative_to(path)): [(e.row_id, e.row) for e in read_events(p)]
        for p in path.rglob("bucket_*")
    }


def test_buckets_side_by_side_are_those_in_turn(tmp_path: Path) -> None:
    rows = many_changes()
    found = written(tmp_path / "a", rows, side_by_side=True)
    assert found == written(tmp_path / "b", rows[::-1], side_by_side=False)
    assert len(found) == 15
    assert sum(map(len, found.values())) == MANY * 3 // 2


def test_after_a_failure_no_file_is_left_of_any_bucket(tmp_path: Path) -> None:
    rows = many_changes()
    with pytest.raises(UnsortedEventsError):
        written(tmp_path, [*rows, rows[3]], side_by_side=True)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@given(st.lists(st.one_of(st.integers(0, 4095), row_ids.map(lambda r: r[2])), max_size=9))
def test_bucket_ids_are_those_of_the_codec(properties: list[int]) -> None:
    """Codec V0, before Hive 3, is the bare number."""
    found = bucket_ids(np.array(properties, np.int32))
    assert found.tolist() == [decode_bucket(p) for p in properties]

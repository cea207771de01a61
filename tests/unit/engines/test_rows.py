"""Rows find their bucket, and a bucket its one file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from hypothesis import given

from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.engines.output import Output
from acidsql.engines.publish import discard, discard_moved, publish
from acidsql.engines.rows import Placement, stretches, write_rows
from acidsql.engines.target import OutputFile, Target
from acidsql.errors import InvalidValueError, StorageError
from acidsql.model.ids import StatementId
from acidsql.model.own_path import OwnPath
from tests.checks import read_events
from tests.unit.engines.tables import STORAGE, contents, table, target
from tests.unit.odd_texts import odd_texts


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2))))
def test_stretches_cover_all_rows_and_no_key_changes_inside(pairs: list[tuple[int, int]]) -> None:
    keys = [np.array([p[at] for p in pairs], np.int64) for at in (0, 1)]
    found = list(stretches(keys))
    assert [at for start, end in found for at in range(start, end)] == list(range(len(pairs)))
    inside = [set(pairs[start:end]) for start, end in found]
    assert all(len(keys_inside) == 1 for keys_inside in inside)
    assert all(one != other for one, other in pairwise(inside))


def k(values: list[int | None]) -> pa.Table:
    return pa.table({"k": pa.array(values, pa.int32())})


@given(
    batches=st.lists(
        st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=8), min_size=1
    ),
    count=st.integers(0, 4),
)
def test_one_batch_is_written_whole_and_in_order(
    batches: list[list[int | None]], count: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    values = batches[0]
    of = table(tmp_path_factory.mktemp("t"), "k int", "", ("k", count))
    placement = Placement.of(of)
    codes = np.zeros(len(values), np.int64)
    with Output(target(of, 3)) as output:
        write_rows(output, k(values), codes, [""], placement, StatementId(2), 7)
    publish(output.files, output.target)
    (seen,) = contents(of, 3)
    numbers = placement.buckets(k(values), 7).tolist()
    expected: dict[int, list[int | None]] = {}
    for number, value in zip(numbers, values, strict=True):
        expected.setdefault(number, []).append(value)
    assert {f.name: f.rows for f in output.files} == {
        f"bucket_{n:05d}": len(v) for n, v in expected.items()
    }
    for file in output.files:
        found = [e.row["k"] for e in read_events(Path(file.directory) / file.name) if e.row]
        assert found == expected[int(file.name[7:])]
    assert len(seen.rows) == len(values)


def written(of_target: Target) -> list[OutputFile]:
    with Output(of_target) as output:
        codes = np.array([0, 1])
        write_rows(output, k([1, 2]), codes, ["p=x", "p=y"], Placement(), StatementId(0))
    return output.files


def test_files_are_hidden_until_they_are_published(tmp_path: Path) -> None:
    of = table(tmp_path, "k int", "p string")
    files = written(target(of, 1))
    assert all(p.name.startswith("_attempt_") for p in tmp_path.rglob("*") if p.is_file())
    publish(files, target(of, 1))
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == [
        "p=x/delta_0000001_0000001_0000/_orc_acid_version",
        "p=x/delta_0000001_0000001_0000/bucket_00000",
        "p=y/delta_0000001_0000001_0000/_orc_acid_version",
        "p=y/delta_0000001_0000001_0000/bucket_00000",
    ]
    assert len(contents(of, 1, partitions=["p=x", "p=y"])) == 2


def test_a_second_attempt_cannot_take_the_first_one_s_name(tmp_path: Path) -> None:
    of = table(tmp_path, "k int", "p string")
    first, second = written(target(of, 1)), written(target(of, 1))
    publish(first, target(of, 1))
    with pytest.raises(StorageError):
        publish(second, target(of, 1))


def test_what_was_moved_is_gone_wherever_it_was(tmp_path: Path) -> None:
    """Directly below the root, too; what is not there any more is passed over."""
    (tmp_path / "f").touch()
    storage = ArrowStorage(pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem()))
    discard_moved(["/f", "/f", "/.."], storage)
    assert list(tmp_path.iterdir()) == []


def test_what_is_discarded_is_gone_and_what_cannot_be_is_passed_over(tmp_path: Path) -> None:
    of = table(tmp_path, "k int", "p string")
    files = written(target(of, 1))
    discard([OwnPath.of(of.location, f.directory) for f in files] * 2, STORAGE)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_value_too_long_leaves_no_file(tmp_path: Path) -> None:
    of = table(tmp_path, "c varchar(3)")
    rows = pa.table({"c": ["abc", "abcd"]})

    def write() -> None:
        with Output(target(of, 1)) as output:
            write_rows(output, rows, np.zeros(2, np.int64), [""], Placement(), StatementId(0))

    with pytest.raises(InvalidValueError):
        write()
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@given(st.builds(OutputFile, *[odd_texts(4)] * 4, st.integers(0, 3), st.booleans(), st.integers(0)))
def test_a_file_comes_back_from_a_task(file: OutputFile) -> None:
    assert OutputFile.from_json(file.to_json()) == file

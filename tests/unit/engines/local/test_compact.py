"""Compaction against a model of events: what is read, and under which row ids, stays the same."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.engines.cleanup import discard_write
from acidsql.engines.local.compact import compact
from acidsql.errors import CorruptFileError, UnsupportedStatementError
from acidsql.layout.dir_names import METADATA_FILE
from acidsql.model.ids import WriteId
from acidsql.model.table import FileFormat, Table
from acidsql.plans.compact import CompactPlan
from tests.unit.engines.compaction_model import Model
from tests.unit.engines.tables import (
    EVERYTHING,
    NAME,
    STORAGE,
    snapshot,
    table,
    with_hive4_names,
)  # fmt: skip
from tests.unit.engines.tables import target as target_of


def names(of: Table) -> list[str]:
    return sorted(p.name for p in Path(of.location).iterdir())


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Three write ids over two buckets: rows, one deleted, one moved to a new version."""
    model = Model(table(tmp_path, "k int", "", ("k", 2)))
    model.insert([1, 2, 3, 4])
    model.change(sorted(model.rows)[:1], update=False)
    model.change(sorted(model.rows)[:1], update=True)
    return model


def test_hive_4_names(tmp_path: Path) -> None:
    model = Model(with_hive4_names(table(tmp_path, "k int")))
    model.insert([1, 2])
    model.change(sorted(model.rows)[:1], update=True)
    assert {p.name for p in tmp_path.rglob("bucket*")} == {"bucket_00001_0"}
    model.compact("minor")
    assert set(names(model.of)) > {
        "delta_0000001_0000002_v0000001", "delete_delta_0000001_0000002_v0000001",
    }  # fmt: skip
    model.compact("major")
    model.clean()
    assert names(model.of) == ["base_0000002_v0000002"]
    model.check()


@pytest.mark.parametrize("gone", ["delta_0000001_0000003", "delete_delta_0000002_0000003"])
def test_a_crash_between_the_renames_of_a_minor_compaction(model: Model, gone: str) -> None:
    assert model.compact("minor")
    low = "delete_delta_0000001_0000003" if gone.startswith("delete") else gone
    shutil.rmtree(Path(model.of.location) / low)
    model.check()
    model.compact("minor")
    model.check()
    assert low in names(model.of)


def test_both_compactions_of_the_example(model: Model) -> None:
    assert model.compact("minor")
    assert [n for n in names(model.of) if n.count("_") < 4 - n.startswith("delta")] == [
        "delete_delta_0000001_0000003",
        "delta_0000001_0000003",
    ]
    model.clean()
    assert names(model.of) == ["delete_delta_0000001_0000003", "delta_0000001_0000003"]
    model.check()
    assert not model.compact("minor")
    assert model.compact("major")
    model.clean()
    assert names(model.of) == ["base_0000003"]
    model.check()
    assert not model.compact("major")


def test_a_compaction_that_fails_leaves_nothing(model: Model) -> None:
    before = names(model.of)
    victim = next(Path(model.of.location).glob("delta_*/bucket_*"))
    content = victim.read_bytes()
    victim.write_bytes(b"no ORC at all")
    for kind in ("minor", "major"):
        with pytest.raises(CorruptFileError):
            model.compact(kind)  # type: ignore[arg-type]
    victim.write_bytes(content)
    assert [n for n in names(model.of) if n.startswith(("_", "base"))] == []
    model.check()
    assert set(before) <= set(names(model.of))


def test_what_a_failed_write_left_is_found_by_its_write_id(model: Model) -> None:
    before = names(model.of)
    model.insert([7, 8, 9], commit=False)
    assert names(model.of) != before
    discard_write(model.write_target, range(1), STORAGE)
    assert names(model.of) == before
    discard_write(model.write_target, range(1), STORAGE)
    model.check()


def test_a_failed_statement_leaves_the_earlier_ones_of_its_transaction(model: Model) -> None:
    model.insert([7, 8, 9], commit=False)
    before = names(model.of)
    discard_write(model.write_target, range(1, 3), STORAGE)
    assert names(model.of) == before


def test_discarding_keeps_what_others_compacted(model: Model) -> None:
    model.compact("minor")
    model.compact("major")
    kept = names(model.of)
    discard_write(target_of(model.of, 1), range(1), STORAGE)
    assert names(model.of) == [n for n in kept if n != "delta_0000001_0000001_0000"]


def test_nothing_is_there_to_compact(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    assert not model.compact("minor")
    assert not model.compact("major")
    model.insert([1])
    assert not model.compact("minor")
    assert not model.compact("major")
    model.insert([2], commit=False)
    # What was aborted is work for the cleaner alone.
    assert model.compact("minor")
    assert names(model.of) == ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000"]


def test_all_rows_deleted_leaves_an_empty_base(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, None])
    model.change(sorted(model.rows), update=False)
    assert model.compact("major")
    model.clean()
    base = tmp_path / "base_0000002"
    assert sorted(p.name for p in base.iterdir()) == [
        METADATA_FILE, "_orc_acid_version", "bucket_00001",
    ]  # fmt: skip
    model.check()


def test_the_highest_write_id_of_an_unsettled_table_is_not_passed(tmp_path: Path) -> None:
    """A compactor's list ends below the lowest open write id."""
    model = Model(table(tmp_path, "k int"))
    for value in (1, 2, 3):
        model.insert([value])
    whole = snapshot(model.of, 3)
    open_two = type(whole.write_ids)(str(NAME), WriteId(3), open=frozenset({WriteId(2)}))
    of_two = type(whole)(model.of, whole.partitions, open_two.for_compactor())
    plan = CompactPlan(table=NAME, partition=None, type="major")
    assert not compact(plan, of_two, EVERYTHING, STORAGE)
    model.check()


def test_compressed_text_is_not_compacted(tmp_path: Path) -> None:
    parameters = {"transactional": "true", "transactional_properties": "insert_only"}
    of = replace(table(tmp_path, "k int"), parameters=parameters, format=FileFormat.TEXT)
    for write_id, name, content in [(1, "000000_0", b"1\n"), (2, "000000_0.gz", b"2\n")]:
        directory = tmp_path / f"delta_{write_id:07}_{write_id:07}_0000"
        directory.mkdir()
        is_compressed = name.endswith(".gz")
        (directory / name).write_bytes(gzip.compress(content) if is_compressed else content)
    before = names(of)
    plan = CompactPlan(table=NAME, partition=None, type="minor")
    with pytest.raises(UnsupportedStatementError, match=r"/000000_0\.gz\" cannot be compacted"):
        compact(plan, snapshot(of, 2), EVERYTHING, STORAGE)
    assert names(of) == before

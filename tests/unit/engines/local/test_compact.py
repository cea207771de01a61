"""Compaction against a model of events: what is read, and under which row ids, stays the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from acidsql.engines.changes import ChangeLeg, write_changes, writing_order
from acidsql.engines.cleanup import discard_write
from acidsql.engines.local.compact import compact
from acidsql.engines.output import TABLE_ITSELF, Output, Target, publish
from acidsql.engines.rows import Placement, write_rows
from acidsql.errors import CorruptFileError
from acidsql.layout.dir_names import METADATA_FILE
from acidsql.layout.obsolete import obsolete
from acidsql.model.ids import StatementId, TxnId, WriteId
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Table
from acidsql.plans.compact import CompactPlan
from tests.unit.engines.tables import (
    EVERYTHING,
    NAME,
    STORAGE,
    changes,
    contents,
    snapshot,
    table,
    with_hive4_names,
)  # fmt: skip
from tests.unit.engines.tables import target as target_of

RowKey = tuple[int, int, int]
Kind = Literal["minor", "major"]

values = st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=5)


@dataclass
class Model:
    """A table on disk and what must be read of it."""

    of: Table
    rows: dict[RowKey, int | None] = field(default_factory=dict)
    write_id: int = 0
    txn_id: int = 0
    aborted: list[int] = field(default_factory=list)

    @property
    def write_target(self) -> Target:
        return target_of(self.of, self.write_id)

    def insert(self, given_values: list[int | None], *, commit: bool = True) -> None:
        self.write_id += 1
        rows = pa.table({"k": pa.array(given_values, pa.int32())})
        buckets = Placement.of(self.of).buckets(rows, self.write_id % 2).tolist()
        with Output(self.write_target) as output:
            codes = pa.array([0] * rows.num_rows).to_numpy()
            write_rows(
                output, rows, codes, [TABLE_ITSELF], Placement.of(self.of), StatementId(0),
                self.write_id % 2,
            )  # fmt: skip
        publish(output.files, output.target)
        if not commit:
            self.aborted.append(self.write_id)
            return
        numbers: dict[int, int] = {}
        for value, bucket in zip(given_values, buckets, strict=True):
            number = numbers[bucket] = numbers.get(bucket, -1) + 1
            self.rows[self.write_id, 1 << 29 | bucket << 16, number] = value

    def change(self, chosen: list[RowKey], *, update: bool, commit: bool = True) -> None:
        self.write_id += 1
        statement = StatementId(self.write_id % 3)
        table_of_changes = changes(
            [(0, *row_id, 0) for row_id in chosen],
            {"k": pa.array([self._changed(self.rows[r]) for r in chosen], pa.int32())},
        )
        with Output(self.write_target) as output:
            leg = ChangeLeg(statement, is_update=update)
            write_changes(output, writing_order(table_of_changes), [TABLE_ITSELF], [leg])
        publish(output.files, output.target)
        if not commit:
            self.aborted.append(self.write_id)
            return
        numbers: dict[int, int] = {}
        for row_id in sorted(chosen, key=lambda r: (r[1] >> 16 & 4095, r)):
            old = self.rows.pop(row_id)
            if update:
                bucket = row_id[1] >> 16 & 4095
                number = numbers[bucket] = numbers.get(bucket, -1) + 1
                new = (self.write_id, 1 << 29 | bucket << 16 | statement, number)
                self.rows[new] = self._changed(old)

    @staticmethod
    def _changed(value: int | None) -> int | None:
        return value

    def compact(self, kind: Kind) -> bool:
        write_ids = snapshot(self.of, self.write_id, self.aborted)
        compactor = type(write_ids)(
            self.of, write_ids.partitions, write_ids.write_ids.for_compactor()
        )
        plan = CompactPlan(table=NAME, partition=None, type=kind)
        self.txn_id += 1
        return compact(plan, compactor, EVERYTHING, STORAGE, TxnId(self.txn_id))

    def clean(self) -> None:
        files = STORAGE.list_files(self.of.location)
        markers = {
            f.path.rpartition("/")[0]: "compacted" for f in files if f.path.endswith(METADATA_FILE)
        }
        write_ids = snapshot(self.of, self.write_id, self.aborted).write_ids
        for path in obsolete(files, write_ids, ValidTxnList(TxnId(10**9)), markers):
            STORAGE.remove(f"{self.of.location}/{path}")

    def check(self) -> None:
        (seen,) = contents(self.of, self.write_id, aborted=self.aborted)
        assert {row_id: row["k"] for row_id, row in seen.rows.items()} == self.rows
        assert not [p for p in Path(self.of.location).iterdir() if p.name.startswith("_")]


class CompactionMachine(RuleBasedStateMachine):
    """Random writes, aborted ones among them, and both kinds of compaction."""

    make: Callable[[], Table]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(self.make())

    def teardown(self) -> None:
        shutil.rmtree(self.model.of.location)

    @rule(given_values=values, commit=st.sampled_from([True, True, False]))
    def insert(self, given_values: list[int | None], commit: bool) -> None:
        self.model.insert(given_values, commit=commit)

    @precondition(lambda self: self.model.rows)
    @rule(data=st.data(), update=st.booleans(), commit=st.sampled_from([True, True, False]))
    def change(self, data: st.DataObject, update: bool, commit: bool) -> None:
        ids = sorted(self.model.rows)
        chosen = data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True))
        self.model.change(chosen, update=update, commit=commit)

    @rule(kind=st.sampled_from(["minor", "major"]))
    def compact(self, kind: Kind) -> None:
        self.model.compact(kind)

    @rule()
    def clean(self) -> None:
        self.model.clean()

    @rule(kind=st.sampled_from(["minor", "major"]), keep=st.booleans())
    def crash(self, kind: Kind, keep: bool) -> None:
        """Of a compaction's directories only one got its name."""
        location = Path(self.model.of.location)
        before = {p.name for p in location.iterdir()}
        self.model.compact(kind)
        new = sorted({p.name for p in location.iterdir()} - before)
        if len(new) == 2:
            shutil.rmtree(location / new[keep])

    @invariant()
    def what_is_read_is_the_model(self) -> None:
        self.model.check()


@pytest.mark.parametrize("hive4_names", [False, True])
@pytest.mark.parametrize("buckets", [0, 3])
def test_compaction_changes_nothing_that_is_read(
    buckets: int, hive4_names: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    class Machine(CompactionMachine):
        def make(self) -> Table:  # type: ignore[override]
            made = table(tmp_path_factory.mktemp("t"), "k int", "", ("k", buckets))
            return with_hive4_names(made) if hive4_names else made

    Machine.TestCase.settings = settings(
        max_examples=10, stateful_step_count=14, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    Machine.TestCase().runTest()


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

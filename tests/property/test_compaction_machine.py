"""Compaction against a model of events: what is read, and under which row ids, stays the same.

A rebalance gives new row ids, which the model computes from the order of the old ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from acidsql.model.table import Table
from tests.unit.engines.compaction_model import Kind, Model
from tests.unit.engines.tables import table, with_hive4_names

values = st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=5)


class CompactionMachine(RuleBasedStateMachine):
    """Random writes, aborted ones among them, and every kind of compaction."""

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

    @precondition(lambda self: self.model.of.bucketing is None)
    @rule(buckets=st.one_of(st.none(), st.integers(1, 5)))
    def rebalance(self, buckets: int | None) -> None:
        self.model.rebalance(buckets)

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
        max_examples=settings().max_examples // 5, stateful_step_count=14, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    Machine.TestCase().runTest()

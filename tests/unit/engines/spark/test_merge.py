"""MERGE: which of the matches of a row acts on it."""

from __future__ import annotations

import pytest

from acidsql.engines.changes import ChangeLeg
from acidsql.engines.spark.merge import acting_once
from acidsql.errors import CardinalityError
from acidsql.model.ids import StatementId
from acidsql.plans.merge import MergePlan
from acidsql.plans.sql_text import SqlText
from tests.unit.engines.tables import NAME, changes

DELETE, UPDATE, NONE = 0, 1, -1
LEGS = [ChangeLeg(StatementId(0), is_update=False), ChangeLeg(StatementId(2), is_update=True)]
PLAN = MergePlan(
    table=NAME,
    alias="t",
    source=SqlText.of("s"),
    source_alias="s",
    on=SqlText.of("t.k = s.k"),
    matched=(),
    not_matched=None,
)


@pytest.mark.parametrize("legs", [(UPDATE, UPDATE), (UPDATE, DELETE), (DELETE, UPDATE, DELETE)])
def test_a_row_is_updated_by_one_source_row_at_most(legs: tuple[int, ...]) -> None:
    once = (0, 1, 536870912, 1, UPDATE)
    several = [(0, 1, 536870912, 0, leg) for leg in legs]
    with pytest.raises(CardinalityError, match=r"1 rows of default\.t are to be") as caught:
        acting_once(changes([once, *several]), LEGS, PLAN)
    assert f"rowid 0 ({len(legs)} source rows)" in str(caught.value.detail)


def test_a_row_that_all_its_matches_delete_is_deleted_once() -> None:
    row, other = (0, 1, 536870912, 0), (0, 1, 536870912, 1)
    given = [(*row, DELETE), (*other, NONE), (*row, DELETE), (*row, NONE), (*other, UPDATE)]
    expected = changes([(*row, DELETE), (*other, UPDATE)])
    assert acting_once(changes(given), LEGS, PLAN).to_pylist() == expected.to_pylist()

"""MERGE: which of the matches of a row acts on it, in whatever batches they come."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.engines.changes import ChangeLeg, writing_order
from acidsql.engines.matches import SAMPLES, SOURCE_ROW, Ambiguous, Matches
from acidsql.model.ids import StatementId
from tests.unit.engines.tables import changes

DELETE, UPDATE, NONE = 0, 1, -1
LEGS = [ChangeLeg(StatementId(0), is_update=False), ChangeLeg(StatementId(2), is_update=True)]
ROW, OTHER = (0, 1, 536870912, 0), (0, 1, 536870912, 1)


@pytest.mark.parametrize("legs", [(UPDATE, UPDATE), (UPDATE, DELETE), (DELETE, UPDATE, DELETE)])
def test_a_row_is_updated_by_one_source_row_at_most(legs: tuple[int, ...]) -> None:
    matches = Matches(LEGS)
    matches.acting(writing_order(changes([(*OTHER, UPDATE), *((*ROW, leg) for leg in legs)])))
    text = f"writeid 1, bucketid 536870912, rowid 0 ({len(legs)} source rows)"
    assert matches.ambiguous() == Ambiguous(1, (text,))


def test_a_row_that_all_its_matches_delete_is_deleted_once() -> None:
    given = [(*ROW, DELETE), (*OTHER, NONE), (*ROW, DELETE), (*ROW, NONE), (*OTHER, UPDATE)]
    expected = changes([(*ROW, DELETE), (*OTHER, UPDATE)])
    matches = Matches(LEGS)
    assert matches.acting(writing_order(changes(given))).to_pylist() == expected.to_pylist()
    assert matches.ambiguous() == Ambiguous()


def test_an_error_names_the_keys() -> None:
    rows = changes([(*ROW, UPDATE)] * 3)
    rows = rows.append_column("__acidsql_key0", pa.array(["a", "a", "a"]))
    matches = Matches(LEGS, ["name"])
    matches.acting(rows)
    assert matches.ambiguous().samples == ("name = a (3 source rows)",)


partitions, row_numbers = st.integers(0, 1), st.integers(0, 3)
match = st.tuples(partitions, row_numbers, st.sampled_from([NONE, DELETE, UPDATE]))


@given(st.lists(match, max_size=25), st.lists(st.integers(0, 25), max_size=4))
def test_batches_do_not_matter(found: list[tuple[int, int, int]], cuts: list[int]) -> None:
    rows = changes([(p, 1, 536870912, row, leg) for p, row, leg in found])
    rows = writing_order(rows.append_column(SOURCE_ROW, pa.array(range(len(found)), pa.int64())))
    matches = Matches(LEGS)
    bounds = sorted({0, len(found), *(cut for cut in cuts if cut < len(found))})
    parts = [rows.slice(a, b - a) for a, b in itertools.pairwise(bounds)]
    acting = [row for part in parts for row in matches.acting(part).to_pylist()]

    legs = defaultdict(list)
    for partition, row, leg in found:
        if leg != NONE:
            legs[partition, row].append(leg)
    passed = Counter((r["__acidsql_partition"], r["__acidsql_row"]) for r in acting)
    assert passed == dict.fromkeys(legs, 1)
    ambiguous = [row for row, acts in legs.items() if len(acts) > 1 and UPDATE in acts]
    assert matches.ambiguous().count == len(ambiguous)
    assert len(matches.ambiguous().samples) == min(SAMPLES, len(ambiguous))
    assert matches.hits().tolist() == list(range(len(found)))

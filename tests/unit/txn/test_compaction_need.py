"""Which compaction is needed: each threshold must be exceeded, not reached."""

from __future__ import annotations

import pytest

from acidsql.errors import ConfigError
from acidsql.txn.compaction_need import Sizes, Thresholds, need_by_aborted, need_by_sizes
from acidsql.txn.entities import CompactionType

MAJOR, MINOR = CompactionType.MAJOR, CompactionType.MINOR
DAY_S = 24 * 3600.0


@pytest.mark.parametrize(
    ("count", "oldest_s", "thresholds", "expected"),
    [
        (0, DAY_S, Thresholds(), None),
        (1000, 0, Thresholds(), None),
        (1001, 0, Thresholds(), MAJOR),
        (1, 12 * 3600, Thresholds(), None),
        (1, 12 * 3600 + 0.001, Thresholds(), MINOR),
        (1001, DAY_S, Thresholds(), MAJOR),
        (1, DAY_S, Thresholds(aborted_s=0), None),
        (1, DAY_S, Thresholds(aborted_s=-1), None),
        (1, 0, Thresholds(aborted=0), MAJOR),
    ],
)
def test_aborted(
    count: int, oldest_s: float, thresholds: Thresholds, expected: CompactionType | None
) -> None:
    need = need_by_aborted(count, oldest_s, thresholds)
    assert (need and need.type) == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (Sizes(), None),
        (Sizes(has_obsolete_base=True), MAJOR),
        (Sizes(1000, 0, 0), None),
        (Sizes(1000, 0, 0, has_obsolete_base=True), MAJOR),
        (Sizes(1000, 50, 1, has_obsolete_base=True), None),
        (Sizes(1000, 100, 1), None),
        (Sizes(1000, 101, 1), MAJOR),
        (Sizes(1000, 101, 11), MAJOR),
        (Sizes(1000, 100, 10), None),
        (Sizes(1000, 100, 11), MINOR),
        (Sizes(1000, 100, 11, has_raw=True), MAJOR),
        # Without a base, only the number of deltas counts, and one is made.
        (Sizes(0, 1000, 10), None),
        (Sizes(0, 1000, 11), MAJOR),
        # What overwrites have replaced is to be removed, however few deltas there are.
        (Sizes(1000, 50, 1, obsolete=10), None),
        (Sizes(1000, 50, 1, obsolete=11), MINOR),
        (Sizes(1000, 50, 1, obsolete=11, has_raw=True), MAJOR),
        (Sizes(0, 1000, 1, obsolete=11), MAJOR),
        # Deltas without a byte are deltas.
        (Sizes(0, 0, 11), MINOR),
    ],
)
def test_sizes(sizes: Sizes, expected: CompactionType | None) -> None:
    need = need_by_sizes(sizes, Thresholds())
    assert (need and need.type) == expected


def test_a_table_has_thresholds_of_its_own() -> None:
    parameters = {
        "compactorthreshold.hive.compactor.delta.num.threshold": "2",
        "compactorthreshold.hive.compactor.delta.pct.threshold": "0.5",
        "compactorthreshold.hive.compactor.abortedtxn.threshold": "7",
    }
    thresholds = Thresholds().of_table(parameters)
    assert thresholds == Thresholds(delta_count=2, delta_share=0.5)
    assert need_by_sizes(Sizes(100, 50, 2), thresholds) is None
    assert need_by_sizes(Sizes(100, 50, 3), thresholds) is not None
    assert need_by_sizes(Sizes(100, 51, 1), thresholds) is not None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("num", text) for text in ("many", "", "1_000", "2.5", "-1", "nan", "1e3")),
        *(("pct", text) for text in ("much", "", "1_0", "-0.1", "nan", "inf", "0x1")),
    ],
)
def test_a_threshold_that_is_no_number(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match="is not a number for it"):
        Thresholds().of_table({f"compactorthreshold.hive.compactor.delta.{name}.threshold": text})


@pytest.mark.parametrize(("text", "share"), [("1", 1.0), (".5", 0.5), ("2.", 2.0), (" 1E-1 ", 0.1)])
def test_a_share_may_be_written_in_many_ways(text: str, share: float) -> None:
    name = "compactorthreshold.hive.compactor.delta.pct.threshold"
    assert Thresholds().of_table({name: text}).delta_share == share

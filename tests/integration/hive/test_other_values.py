"""Hive gives the values of which docs/statements.md says that acidsql gives others."""

from __future__ import annotations

import pytest

from tests.integration.hive.process import Hive, HiveError
from tests.integration.test_other_values import NUMBERS, documented, shown

pytestmark = pytest.mark.hive

HIVE_4 = "ltrim('xxa', 'x')"
"""Hive 3 knows no second argument."""


def test_what_hive_gives(hive: Hive) -> None:
    for other in documented():
        query = f"SELECT {other.expression} AS v FROM {NUMBERS}"
        if hive.version == 3 and other.expression == HIVE_4:
            with pytest.raises(HiveError, match="one value argument"):
                hive.run(query)
            continue
        assert shown(hive.run(query)[0]["v"]) == other.hive, other.expression


def test_what_is_null_belongs_to(hive: Hive) -> None:
    assert hive.run("SELECT 1 <> NULL IS NULL AS v") == [{"v": hive.version == 4}]
    assert hive.run("SELECT (1 <> NULL) IS NULL AS v") == [{"v": True}]

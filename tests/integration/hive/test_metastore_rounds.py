"""Writers in turn on one metastore, against a plain model."""

from __future__ import annotations

import random

import pytest

from tests.integration.hive.one_metastore import Turns
from tests.integration.hive.test_rounds import ROUNDS, TABLES, take_turns

pytestmark = pytest.mark.hive

UNBUCKETED = {"unbucketed": "CREATE TABLE t (id int, v int, p int)"}


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize(("kind", "create"), (UNBUCKETED | TABLES).items(), ids=UNBUCKETED | TABLES)
def test_turns(live: Turns, kind: str, create: str, rounds: int) -> None:
    take_turns(live, kind, create, random.Random(kind), rounds)

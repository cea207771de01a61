"""Writers in turn on one metastore, against a plain model."""

from __future__ import annotations

import random

import pytest

from tests.integration.hive.one_metastore import Turns
from tests.integration.hive.test_rounds import ROUNDS, Model, check, compact

pytestmark = pytest.mark.hive

TABLES = {
    "unbucketed": "CREATE TABLE t (id int, v int, p int)",
    "bucketed": "CREATE TABLE t (id int, v int, p int) CLUSTERED BY (id) INTO 2 BUCKETS",
    "partitioned": "CREATE TABLE t (id int, v int) PARTITIONED BY (p int)",
}


@pytest.mark.parametrize("kind", TABLES)
def test_turns(live: Turns, kind: str) -> None:
    live.both(f"{TABLES[kind]} STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    model = Model(random.Random(kind), kind == "partitioned")
    for turn in range(ROUNDS):
        who = live.acidsql if turn % 2 == 0 else live.theirs
        who(model.change())
        check(live, model)
        if model.chance.random() < 0.5:
            compact(live, kind, model.chance)
            check(live, model)

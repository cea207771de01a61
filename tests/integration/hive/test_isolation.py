"""The isolation specs over a real metastore: sessions behave as on stores of our own."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore.locks import waiting_for
from acidsql.session import Session
from acidsql.txn.deadlock import losers
from tests.integration.hive.process import Hive
from tests.isolation.spec import Permutation, Spec
from tests.isolation.test_isolation import IMPATIENT, SPECS, Stage

pytestmark = pytest.mark.hive

OTHERWISE = {
    # A metastore has every request wait behind those before it, also one of a transaction that
    # they wait for: here it is a circle, and the DROP gives way.
    ("autocommit", "b1 i1 drop2 i1 r1 u1 c1 r3"),
    # A second compaction is refused until the metastore's cleaner has come.
    ("compaction", "b1 u2 minor2 major2 r1 u1 c1 r2"),
}
"""What is known to be different."""
CASES = [
    pytest.param(spec, permutation, id=f"{spec.path.stem}:{permutation.line}")
    for spec in SPECS
    for permutation in spec.permutations
    if (spec.path.stem, " ".join(permutation.steps)) not in OTHERWISE
]
_numbers = itertools.count(1)


@pytest.mark.parametrize(("spec", "permutation"), CASES)
def test_permutation(spec: Spec, permutation: Permutation, hive: Hive, spark: Any) -> None:
    with LiveStage(spec, hive, spark) as stage:
        happened = tuple(stage.play(permutation))
    expected = tuple(
        re.sub(r"default([./])", rf"{stage.database}\1", line) for line in permutation.expected
    )
    assert happened == expected


class LiveStage(Stage):
    """The sessions of a spec over Hive's metastore, in a database of their own."""

    def __init__(self, spec: Spec, hive: Hive, spark: Any) -> None:
        url = f"thrift://127.0.0.1:{hive.metastore_port}"
        super().__init__(spec, hive.warehouse, spark, url, None)
        self.database = f"spec{next(_numbers)}"
        hive.run(f"CREATE DATABASE {self.database}")

    def _session(self, user: str) -> Session:
        session = acidsql.connect(
            str(self.warehouse), metastore=self.url, spark=self.spark, user=user,
            config={**IMPATIENT, **self.spec.config},
        )  # fmt: skip
        session.execute(f"USE {self.database}")
        return session

    def _is_blocked(self, session: str) -> bool:
        """Whether a lock that is there still was found to be in the way."""
        if self.waiting[session].done():
            return False
        locks = self.store.show_locks()
        ours = {lock.txn_id for lock in locks if lock.user == session}
        waits_for = waiting_for(locks)
        return not ours.isdisjoint(waits_for) and not losers(waits_for)
